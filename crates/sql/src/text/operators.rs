//! Binary operators whose meaning hangs on the types of their sides, where DataFusion's is another one.
//!
//! * Decimals divide to a float, as in DuckDB: a quotient has no natural number of digits. Integers divide to an integer.
//! * A date plus an interval is a timestamp; two dates differ by a number of days.
//! * An interval times a number is an interval.
//! * A text constant beside a number, a UUID or bytes is read as one.
//! * `->` and `->>` look into JSON, `^@` asks for a beginning, `s[2]` is a letter.

use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::{DFSchema, Result};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr};
use datafusion_expr::{Cast, Expr, ExprSchemable, GetFieldAccess, Operator, lit};
use datafusion_sql::sqlparser::ast::BinaryOperator as Op;

use super::types::UUID;
use crate::functions::known_scalar;

/// Plans such operators.
#[derive(Debug)]
pub(crate) struct OperatorPlanner;

impl ExprPlanner for OperatorPlanner {
    fn plan_binary_op(&self, raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let (Ok(left), Ok(right)) = (raw.left.get_type(schema), raw.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(raw));
        };
        let planned = by_name(&raw)
            .or_else(|| arithmetic(&raw, &left, &right))
            .or_else(|| comparison(&raw, &left, &right));
        Ok(planned.map_or(PlannerResult::Original(raw), PlannerResult::Planned))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(match known_scalar("substr") {
            Some(function) => PlannerResult::Planned(function.call(args)),
            None => PlannerResult::Original(args),
        })
    }

    /// A place in a text is a letter, a range a part of it; a place in a map is a value.
    fn plan_field_access(
        &self,
        raw: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        if let Ok(DataType::Map(entries, _)) = raw.expr.get_type(schema) {
            let planned = map_value(&raw, entries.data_type());
            return Ok(planned.map_or(PlannerResult::Original(raw), PlannerResult::Planned));
        }
        if !raw.expr.get_type(schema).is_ok_and(|found| found.is_string()) {
            return Ok(PlannerResult::Original(raw));
        }
        let planned = match &raw.field_access {
            GetFieldAccess::ListIndex { key } => {
                call("substr", [raw.expr.clone(), key.as_ref().clone(), lit(1_i64)])
            }
            GetFieldAccess::ListRange { start, stop, .. } => {
                let (start, stop) = (start.as_ref().clone(), stop.as_ref().clone());
                call("text_range", [raw.expr.clone(), start, stop])
            }
            GetFieldAccess::NamedStructField { .. } => None,
        };
        Ok(planned.map_or(PlannerResult::Original(raw), PlannerResult::Planned))
    }
}

/// The value of a key; NULL if the map does not have it.
fn map_value(raw: &RawFieldAccessExpr, entries: &DataType) -> Option<Expr> {
    let DataType::Struct(fields) = entries else { return None };
    let key = match &raw.field_access {
        GetFieldAccess::NamedStructField { name } => lit(name.clone()),
        GetFieldAccess::ListIndex { key } => key.as_ref().clone(),
        GetFieldAccess::ListRange { .. } => return None,
    };
    let key = cast(key, fields.first()?.data_type().clone());
    call("array_element", [call("map_extract", [raw.expr.clone(), key])?, lit(1_i64)])
}

fn by_name(raw: &RawBinaryExpr) -> Option<Expr> {
    let name = match raw.op {
        Op::Arrow => "json_extract",
        Op::LongArrow => "json_extract_string",
        Op::PGStartsWith => "starts_with",
        _ => return None,
    };
    call(name, [raw.left.clone(), raw.right.clone()])
}

fn arithmetic(raw: &RawBinaryExpr, left: &DataType, right: &DataType) -> Option<Expr> {
    let sides = || (raw.left.clone(), raw.right.clone());
    let (l, r) = sides();
    match (&raw.op, left, right) {
        (Op::Divide, a, b) if (is_decimal(a) || is_decimal(b)) && is_exact(a) && is_exact(b) => {
            call("quotient", [l, r])
        }
        (Op::DuckIntegerDivide | Op::MyIntegerDivide, a, b) if a.is_integer() && b.is_integer() => {
            Some(binary(Operator::Divide, l, r))
        }
        (Op::DuckIntegerDivide | Op::MyIntegerDivide, a, b) if a.is_numeric() && b.is_numeric() => {
            call("quotient", [l, r])
        }
        (Op::Plus | Op::Minus, DataType::Date32, DataType::Interval(_) | DataType::Duration(_)) => {
            Some(binary(plus_or_minus(&raw.op), cast(l, TIMESTAMP), r))
        }
        (Op::Plus, DataType::Interval(_) | DataType::Duration(_), DataType::Date32) => {
            Some(binary(Operator::Plus, cast(r, TIMESTAMP), l))
        }
        (Op::Plus | Op::Minus, DataType::Date32, b) if b.is_integer() => {
            let moved = binary(plus_or_minus(&raw.op), days(l), cast(r, DataType::Int32));
            Some(cast(moved, DataType::Date32))
        }
        (Op::Plus, a, DataType::Date32) if a.is_integer() => {
            let moved = binary(Operator::Plus, cast(l, DataType::Int32), days(r));
            Some(cast(moved, DataType::Date32))
        }
        (Op::Minus, DataType::Date32, DataType::Date32) => {
            Some(cast(binary(Operator::Minus, days(l), days(r)), DataType::Int64))
        }
        (Op::Plus, DataType::Date32, DataType::Time64(_)) => call("date_at_time", [l, r]),
        (Op::Plus, DataType::Time64(_), DataType::Date32) => call("date_at_time", [r, l]),
        (Op::Plus, DataType::Time64(_), DataType::Interval(_)) => call("time_later", [l, r]),
        (Op::Minus, DataType::Time64(_), DataType::Interval(_)) => {
            call("time_later", [l, call("interval_times", [r, float(-1.0)])?])
        }
        (Op::Multiply, DataType::Interval(_), b) if b.is_numeric() => call("interval_times", [l, r]),
        (Op::Multiply, a, DataType::Interval(_)) if a.is_numeric() => call("interval_times", [r, l]),
        (Op::Divide, DataType::Interval(_), b) if b.is_numeric() => {
            let share = binary(Operator::Divide, float(1.0), cast(r, DataType::Float64));
            call("interval_times", [l, share])
        }
        (Op::BitwiseXor | Op::PGBitwiseXor, a, b) if a.is_integer() && b.is_integer() => {
            Some(binary(Operator::BitwiseXor, l, r))
        }
        _ => None,
    }
}

/// A text constant is read in the type of the other side.
fn comparison(raw: &RawBinaryExpr, left: &DataType, right: &DataType) -> Option<Expr> {
    let op = match raw.op {
        Op::Eq => Operator::Eq,
        Op::NotEq => Operator::NotEq,
        Op::Lt => Operator::Lt,
        Op::LtEq => Operator::LtEq,
        Op::Gt => Operator::Gt,
        Op::GtEq => Operator::GtEq,
        _ => return None,
    };
    let (l, r) = (raw.left.clone(), raw.right.clone());
    let constant = |expr: &Expr| matches!(expr, Expr::Literal(..));
    if left.is_string() && reads_text(right) && (constant(&l) || !right.is_numeric()) {
        return Some(binary(op, cast(l, number_like(right)), r));
    }
    if right.is_string() && reads_text(left) && (constant(&r) || !left.is_numeric()) {
        return Some(binary(op, l, cast(r, number_like(left))));
    }
    None
}

fn reads_text(data_type: &DataType) -> bool {
    data_type.is_numeric()
        || *data_type == UUID
        || matches!(data_type, DataType::BinaryView | DataType::Binary | DataType::Interval(_))
}

/// A constant beside a number may have any digits behind its point.
fn number_like(data_type: &DataType) -> DataType {
    if data_type.is_numeric() && !data_type.is_integer() { DataType::Float64 } else { data_type.clone() }
}

const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
}

fn is_exact(data_type: &DataType) -> bool {
    is_decimal(data_type) || data_type.is_integer()
}

fn plus_or_minus(op: &Op) -> Operator {
    if *op == Op::Plus { Operator::Plus } else { Operator::Minus }
}

fn days(date: Expr) -> Expr {
    cast(date, DataType::Int32)
}

fn float(value: f64) -> Expr {
    lit(value)
}

pub(crate) fn cast(expr: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), to))
}

pub(crate) fn binary(op: Operator, left: Expr, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

pub(crate) fn call<const N: usize>(name: &str, args: [Expr; N]) -> Option<Expr> {
    known_scalar(name).map(|function| function.call(args.to_vec()))
}

/// The type of intervals.
pub(crate) const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
