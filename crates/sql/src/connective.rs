//! AND and OR that look at their right side only for the rows that the left side leaves open.
//!
//! A row for which `k = 1` holds must not fail in `k = 1 OR 10 / (k - 1) > 2`, however many other rows of the batch need the division. So where one side may
//! fail it comes second, and is computed for the other rows alone: those for which the first side is not true (OR) or not false (AND).

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use datafusion_common::arrow::compute::{and_kleene, not, or_kleene, prep_null_mask_filter};
use datafusion_common::{Result, internal_err};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal,
    NotExpr, TryCastExpr,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// The connective with its sides in the order in which they must be computed; None if none of them may fail.
pub(crate) fn lazy(
    op: Operator,
    sides: [&Arc<dyn PhysicalExpr>; 2],
    schema: &Schema,
) -> Option<Arc<dyn PhysicalExpr>> {
    let [left, right] = sides;
    if !matches!(op, Operator::And | Operator::Or) {
        return None;
    }
    let (first, second) = match (may_fail(left, schema), may_fail(right, schema)) {
        (false, false) => return None,
        (true, false) => (right, left),
        _ => (left, right),
    };
    Some(Arc::new(Lazy { is_or: op == Operator::Or, first: Arc::clone(first), second: Arc::clone(second) }))
}

/// Functions that have a value for all arguments.
const TOTAL: [&str; 22] = [
    "abs",
    "array_has",
    "array_length",
    "btrim",
    "character_length",
    "coalesce",
    "concat",
    "contains",
    "date_part",
    "ends_with",
    "get_field",
    "greatest",
    "least",
    "lower",
    "ltrim",
    "nullif",
    "octet_length",
    "replace",
    "rtrim",
    "starts_with",
    "strpos",
    "upper",
];

/// Whether a value may not exist for some row: a division, a cast that loses something, arithmetic that overflows, a function that is not known to be total.
pub(crate) fn may_fail(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let here = if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        match binary.op() {
            Operator::Divide | Operator::Modulo => !is_nonzero(binary.right()),
            Operator::Plus | Operator::Minus | Operator::Multiply => {
                expr.data_type(schema).map_or(true, |data_type| !data_type.is_floating())
            }
            _ => false,
        }
    } else if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        cast.expr().data_type(schema).map_or(true, |from| cast_may_fail(&from, cast.cast_type()))
    } else if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        !TOTAL.contains(&call.fun().name())
    } else {
        !is_total(expr)
    };
    here || expr.children().into_iter().any(|child| may_fail(child, schema))
}

/// Whether a value of one type may have no counterpart in another.
pub(crate) fn cast_may_fail(from: &DataType, to: &DataType) -> bool {
    let is_text =
        |data_type: &DataType| matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let bits = |data_type: &DataType| data_type.primitive_width().unwrap_or(0);
    if from == to || from.is_null() || is_text(to) {
        return false;
    }
    if to.is_floating() {
        return is_text(from);
    }
    if from.is_integer() && to.is_integer() {
        let widens = from.is_signed_integer() == to.is_signed_integer() && bits(to) >= bits(from);
        return !(widens || from.is_unsigned_integer() && bits(to) > bits(from));
    }
    match (from, to) {
        (_, DataType::Decimal128(precision, scale)) if from.is_integer() => {
            i16::from(*precision) - i16::from(*scale) < if bits(from) >= 8 { 20 } else { 10 }
        }
        (DataType::Decimal128(p, s), DataType::Decimal128(precision, scale)) => {
            scale < s || i16::from(*precision) - i16::from(*scale) < i16::from(*p) - i16::from(*s)
        }
        (DataType::Boolean, other) => !other.is_integer(),
        (DataType::Date32, DataType::Timestamp(..)) => false,
        _ => true,
    }
}

fn is_nonzero(expr: &Arc<dyn PhysicalExpr>) -> bool {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        return is_nonzero(cast.expr());
    }
    let Some(literal) = expr.downcast_ref::<Literal>() else { return false };
    let value = literal.value();
    let zero = datafusion_common::ScalarValue::new_zero(&value.data_type());
    value.is_null() || zero.is_ok_and(|zero| zero != *value)
}

fn is_total(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Column>().is_some()
        || expr.downcast_ref::<Literal>().is_some()
        || expr.downcast_ref::<CaseExpr>().is_some()
        || expr.downcast_ref::<InListExpr>().is_some()
        || expr.downcast_ref::<IsNullExpr>().is_some()
        || expr.downcast_ref::<IsNotNullExpr>().is_some()
        || expr.downcast_ref::<NotExpr>().is_some()
        || expr.downcast_ref::<LikeExpr>().is_some()
        || expr.downcast_ref::<TryCastExpr>().is_some()
        || expr.downcast_ref::<Lazy>().is_some()
}

#[derive(Debug, Eq)]
struct Lazy {
    is_or: bool,
    first: Arc<dyn PhysicalExpr>,
    second: Arc<dyn PhysicalExpr>,
}

impl PartialEq for Lazy {
    fn eq(&self, other: &Self) -> bool {
        self.is_or == other.is_or && self.first.eq(&other.first) && self.second.eq(&other.second)
    }
}

impl Hash for Lazy {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.is_or.hash(state);
        self.first.hash(state);
        self.second.hash(state);
    }
}

impl fmt::Display for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.first, if self.is_or { "OR" } else { "AND" }, self.second)
    }
}

impl PhysicalExpr for Lazy {
    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        let nullable = self.first.nullable(schema)? || self.second.nullable(schema)?;
        Ok(Arc::new(Field::new(self.to_string(), DataType::Boolean, nullable)))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let first = self.first.evaluate(batch)?.into_array(rows)?;
        let first = first.as_boolean();
        let decided = if self.is_or { first.clone() } else { not(first)? };
        let open = not(&without_nulls(decided))?;
        let second = self.second.evaluate_selection(batch, &open)?.into_array(rows)?;
        let both = if self.is_or {
            or_kleene(first, second.as_boolean())?
        } else {
            and_kleene(first, second.as_boolean())?
        };
        Ok(ColumnarValue::Array(Arc::new(both)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.first, &self.second]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let [first, second] = <[Arc<dyn PhysicalExpr>; 2]>::try_from(children)
            .or_else(|_| internal_err!("a connective has two sides"))?;
        Ok(Arc::new(Self { is_or: self.is_or, first, second }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// NULL as false.
fn without_nulls(values: BooleanArray) -> BooleanArray {
    if values.nulls().is_some() { prep_null_mask_filter(&values) } else { values }
}
