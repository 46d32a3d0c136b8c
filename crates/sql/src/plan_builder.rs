//! Building plans: one method a node, each of which checks names and types at once and says what the choices are.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::binary::comparison_coercion;
use datafusion_expr::{Expr, Operator, expr::BinaryExpr};
use tailrace_operators::{
    AggregateCall, AggregateFunction, AggregateSpec, OrderBy, Scalar, TopKSpec, WindowCall, WindowFunction,
    WindowSpec,
};
use tailrace_trace::{ChangeBatch, normal_schema};

use crate::plan::{Observer, Recursion, digest};
use crate::user_function::RowFunction;
use crate::{JoinKind, Plan, PlanError, PlanKind, RelationId, bind, bind_in_join};

/// An expression to order by.
#[derive(Clone, Debug)]
pub struct OrderExpr {
    /// The expression.
    pub expr: Expr,
    /// Greatest first.
    pub descending: bool,
    /// NULL before everything.
    pub nulls_first: bool,
}

/// A call of an aggregate.
#[derive(Clone, Debug)]
pub struct AggregateExpr {
    /// The name of the function.
    pub function: String,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// Whether equal arguments count once.
    pub distinct: bool,
    /// Only rows that satisfy this count.
    pub filter: Option<Expr>,
    /// For first, last, array_agg and string_agg.
    pub order: Vec<OrderExpr>,
}

/// A call of a window function: its output name, function and arguments.
#[derive(Clone, Debug)]
pub struct WindowExpr {
    /// The name of the new column.
    pub name: String,
    /// row_number, rank, dense_rank, lag or lead.
    pub function: String,
    /// The value, and for lag and lead the offset and the default, which are literals.
    pub args: Vec<Expr>,
}

impl Plan {
    /// Rows that satisfy the predicate.
    pub fn filter(&self, predicate: &Expr) -> Result<Plan, PlanError> {
        let predicates = self.predicates(predicate, |expr| bind(expr, self.schema()))?;
        Ok(Plan::new(PlanKind::Filter { input: self.clone(), predicates }, Arc::clone(self.schema())))
    }

    /// The named expressions.
    pub fn project(&self, columns: &[(String, Expr)]) -> Result<Plan, PlanError> {
        let scalars =
            columns.iter().map(|(_, expr)| bind(expr, self.schema())).collect::<Result<Vec<_>, _>>()?;
        let schema = schema_of(columns.iter().map(|(name, _)| name.as_str()), &scalars, false)?;
        Ok(Plan::new(PlanKind::Project { input: self.clone(), columns: scalars }, schema))
    }

    /// One row per element of the list column, which is replaced by its element.
    pub fn unnest(&self, column: &str, output: &str) -> Result<Plan, PlanError> {
        let index = self.position(column)?;
        let DataType::List(element) = self.schema().field(index).data_type() else {
            let found = self.schema().field(index).data_type().to_string();
            return Err(PlanError::TypeMismatch {
                context: format!("unnest of column '{column}'"),
                expected: "a list".into(),
                found,
            });
        };
        let mut fields: Vec<_> = self.schema().fields().iter().cloned().collect();
        fields[index] = Arc::new(Field::new(output, element.data_type().clone(), element.is_nullable()));
        let schema = unique(Schema::new(fields))?;
        Ok(Plan::new(PlanKind::Unnest { input: self.clone(), column: index }, schema))
    }

    /// One row per group, or one row in all if there are no keys.
    pub fn aggregate(
        &self,
        keys: &[(String, Expr)],
        calls: &[(String, AggregateExpr)],
    ) -> Result<Plan, PlanError> {
        let key_scalars =
            keys.iter().map(|(_, expr)| bind(expr, self.schema())).collect::<Result<Vec<_>, _>>()?;
        let bound = calls.iter().map(|(_, call)| self.aggregate_call(call)).collect::<Result<Vec<_>, _>>()?;
        let key_fields = keys
            .iter()
            .zip(&key_scalars)
            .map(|((name, _), scalar)| Field::new(name, scalar.data_type().clone(), scalar.nullable()));
        let call_fields = calls
            .iter()
            .zip(&bound)
            .map(|((name, _), (_, data_type, nullable))| Field::new(name, data_type.clone(), *nullable));
        let schema = unique(Schema::new(key_fields.chain(call_fields).collect::<Vec<_>>()))?;
        let calls = bound.into_iter().map(|(call, _, _)| call).collect();
        let spec = AggregateSpec { keys: key_scalars, calls, schema: Arc::clone(&schema) };
        Ok(Plan::new(PlanKind::Aggregate { input: self.clone(), spec }, schema))
    }

    /// A join on equal keys with an optional further condition.
    pub fn join(
        &self,
        right: &Plan,
        kind: JoinKind,
        keys: (&[Expr], &[Expr]),
        residual: Option<&Expr>,
        output: &[(String, Expr)],
    ) -> Result<Plan, PlanError> {
        let (left_keys, right_keys) = join_keys(keys, self.schema(), right.schema())?;
        let (left_side, right_side) = padded(self.schema(), right.schema(), kind);
        let both = |expr: &Expr| bind_in_join(expr, self.schema(), right.schema());
        let residual = residual.map_or(Ok(Vec::new()), |expr| self.predicates(expr, both))?;
        let one_sided = matches!(kind, JoinKind::Semi | JoinKind::Anti);
        let bind_output =
            |expr: &Expr| bind_in_join(expr, &left_side, if one_sided { empty() } else { &right_side });
        let scalars = output.iter().map(|(_, expr)| bind_output(expr)).collect::<Result<Vec<_>, _>>()?;
        let schema = schema_of(output.iter().map(|(name, _)| name.as_str()), &scalars, false)?;
        let (left, right) = (self.clone(), right.clone());
        let output = scalars;
        let kind = PlanKind::Join {
            left,
            right,
            kind,
            left_keys,
            right_keys,
            residual,
            output,
            null_matches: false,
        };
        Ok(Plan::new(kind, schema))
    }

    /// All rows of this plan and of the others.
    pub fn union_all(&self, others: &[Plan]) -> Result<Plan, PlanError> {
        others.iter().try_for_each(|other| self.check_same("union", other))?;
        let inputs: Vec<Plan> = std::iter::once(self).chain(others).cloned().collect();
        let schema = merged_nullability(&inputs);
        Ok(Plan::new(PlanKind::Union(inputs), schema))
    }

    /// The difference of Z-sets.
    pub fn minus(&self, other: &Plan) -> Result<Plan, PlanError> {
        self.check_same("minus", other)?;
        let schema = merged_nullability(&[self.clone(), other.clone()]);
        Ok(Plan::new(PlanKind::Minus(self.clone(), other.clone()), schema))
    }

    /// Opposite weights.
    pub fn negate(&self) -> Plan {
        Plan::new(PlanKind::Negate(self.clone()), Arc::clone(self.schema()))
    }

    /// Rows with positive weight.
    pub fn positive(&self) -> Plan {
        Plan::new(PlanKind::Positive(self.clone()), Arc::clone(self.schema()))
    }

    /// Each row once.
    pub fn distinct(&self) -> Plan {
        Plan::new(PlanKind::Distinct(self.clone()), Arc::clone(self.schema()))
    }

    /// The rows of rank `offset..offset + k` of each partition.
    pub fn top_k(
        &self,
        partition: &[Expr],
        order: &[OrderExpr],
        k: Option<usize>,
        offset: usize,
    ) -> Result<Plan, PlanError> {
        let schema = Arc::clone(self.schema());
        let spec = TopKSpec {
            partition: self.scalars(partition)?,
            order: self.order(order)?,
            k,
            offset,
            schema: Arc::clone(&schema),
        };
        Ok(Plan::new(PlanKind::TopK { input: self.clone(), spec }, schema))
    }

    /// The rows with one more column per window function.
    pub fn window(
        &self,
        partition: &[Expr],
        order: &[OrderExpr],
        functions: &[WindowExpr],
    ) -> Result<Plan, PlanError> {
        let bound = functions.iter().map(|call| self.window_call(call)).collect::<Result<Vec<_>, _>>()?;
        let mut fields: Vec<_> = self.schema().fields().iter().cloned().collect();
        fields.extend(bound.iter().map(|(_, field)| Arc::new(field.clone())));
        let schema = unique(Schema::new(fields))?;
        let functions = bound.into_iter().map(|(call, _)| call).collect();
        let spec = WindowSpec {
            partition: self.scalars(partition)?,
            order: self.order(order)?,
            functions,
            schema: Arc::clone(&schema),
        };
        Ok(Plan::new(PlanKind::Window { input: self.clone(), spec }, schema))
    }

    /// The integral, sent every step.
    pub fn integrate(&self) -> Plan {
        Plan::new(PlanKind::Integrate(self.clone()), Arc::clone(self.schema()))
    }

    /// The change of the change.
    pub fn differentiate(&self) -> Plan {
        Plan::new(PlanKind::Differentiate(self.clone()), Arc::clone(self.schema()))
    }

    /// The change of the step before.
    pub fn delay(&self) -> Plan {
        Plan::new(PlanKind::Delay(self.clone()), Arc::clone(self.schema()))
    }

    /// A function of the user over rows.
    pub fn map_rows(&self, function: RowFunction, schema: &Schema) -> Result<Plan, PlanError> {
        let schema = unique(normal_schema(schema).as_ref().clone())?;
        Ok(Plan::new(PlanKind::MapRows { input: self.clone(), function }, schema))
    }

    /// Shows the changes of every step to an observer.
    pub fn inspect(&self, observer: Observer) -> Plan {
        Plan::new(PlanKind::Inspect { input: self.clone(), observer }, Arc::clone(self.schema()))
    }

    /// A recursive relation, to be bound by [`Plan::fixpoint`].
    pub fn relation(schema: &Schema) -> Plan {
        Plan::new(PlanKind::Relation(RelationId::next()), normal_schema(schema))
    }

    /// Rows that never change.
    pub fn constant(rows: ChangeBatch) -> Plan {
        let schema = Arc::clone(rows.schema());
        Plan::new(PlanKind::Constant(Arc::new(rows)), schema)
    }

    /// Binds mutually recursive relations to the distinct rows of their bodies; gives one plan per relation. An error of the recursion calls it by `name`.
    pub fn fixpoint(name: &str, relations: &[(Plan, Plan)], limit: u32) -> Result<Vec<Plan>, PlanError> {
        Self::recursion(name, relations, limit, true)
    }

    /// The same; without `distinct` a row counts as often as it is derived, which must come to an end.
    pub fn recursion(
        name: &str,
        relations: &[(Plan, Plan)],
        limit: u32,
        distinct: bool,
    ) -> Result<Vec<Plan>, PlanError> {
        let mut bound = Vec::with_capacity(relations.len());
        for (relation, body) in relations {
            let PlanKind::Relation(id) = relation.kind() else {
                return Err(PlanError::Invalid("the first of each pair must be a recursive relation".into()));
            };
            relation.check_same("the body of a recursive relation", body)?;
            check_nulls(relation, body)?;
            bound.push((*id, body.clone()));
        }
        let bodies: Vec<String> =
            bound.iter().map(|(id, body)| format!("{id:?} {}", body.fingerprint())).collect();
        let fingerprint = digest(&format!("{limit} {distinct} {}", bodies.join(" ")));
        let name = name.to_owned();
        let recursion = Arc::new(Recursion { name, relations: bound, limit, distinct, fingerprint });
        let plan = |(index, (relation, _)): (usize, &(Plan, Plan))| {
            Plan::new(
                PlanKind::Fixpoint { recursion: Arc::clone(&recursion), index },
                Arc::clone(relation.schema()),
            )
        };
        Ok(relations.iter().enumerate().map(plan).collect())
    }

    /// The position of a column.
    pub fn position(&self, column: &str) -> Result<usize, PlanError> {
        self.schema()
            .index_of(column)
            .map_err(|_| PlanError::UnknownColumn { name: column.to_owned(), choices: names(self.schema()) })
    }

    fn predicates(
        &self,
        expr: &Expr,
        bind: impl Fn(&Expr) -> Result<Scalar, PlanError>,
    ) -> Result<Vec<Scalar>, PlanError> {
        let mut conjuncts = Vec::new();
        split(expr, &mut conjuncts);
        conjuncts.into_iter().map(|conjunct| boolean(bind(conjunct)?)).collect()
    }

    fn scalars(&self, exprs: &[Expr]) -> Result<Vec<Scalar>, PlanError> {
        exprs.iter().map(|expr| bind(expr, self.schema())).collect()
    }

    fn order(&self, order: &[OrderExpr]) -> Result<Vec<OrderBy>, PlanError> {
        let term = |by: &OrderExpr| {
            Ok(OrderBy {
                scalar: bind(&by.expr, self.schema())?,
                descending: by.descending,
                nulls_first: by.nulls_first,
            })
        };
        order.iter().map(term).collect()
    }

    fn aggregate_call(&self, call: &AggregateExpr) -> Result<(AggregateCall, DataType, bool), PlanError> {
        let function = AggregateFunction::from_name(&call.function).ok_or_else(|| {
            PlanError::UnknownFunction { name: call.function.clone(), hint: "It is not an aggregate.".into() }
        })?;
        let function = with_separator(function, call)?;
        let value_args = if matches!(function, AggregateFunction::StringAgg(_)) {
            &call.args[..1]
        } else {
            &call.args[..]
        };
        let args = self.scalars(value_args)?;
        let types: Vec<DataType> = args.iter().map(|arg| arg.data_type().clone()).collect();
        let data_type = function
            .return_type(&types)
            .map_err(|message| PlanError::Invalid(format!("{}: {message}", call.function)))?;
        let filter = call.filter.as_ref().map(|filter| boolean(bind(filter, self.schema())?)).transpose()?;
        let nullable = !matches!(function, AggregateFunction::Count);
        let bound = AggregateCall {
            function,
            args,
            filter,
            distinct: call.distinct,
            order: self.order(&call.order)?,
        };
        Ok((bound, data_type, nullable))
    }

    fn window_call(&self, call: &WindowExpr) -> Result<(WindowCall, Field), PlanError> {
        let counts = |function| {
            Ok((WindowCall { function, args: Vec::new() }, Field::new(&call.name, DataType::Int64, false)))
        };
        match call.function.as_str() {
            "row_number" => counts(WindowFunction::RowNumber),
            "rank" => counts(WindowFunction::Rank),
            "dense_rank" => counts(WindowFunction::DenseRank),
            "lag" | "lead" => self.shift_call(call),
            other => {
                let hint = "Choices: row_number, rank, dense_rank, lag, lead".to_owned();
                Err(PlanError::UnknownFunction { name: other.to_owned(), hint })
            }
        }
    }

    fn shift_call(&self, call: &WindowExpr) -> Result<(WindowCall, Field), PlanError> {
        let [value, rest @ ..] = &call.args[..] else {
            return Err(PlanError::Invalid(format!("{} needs a value", call.function)));
        };
        let value = bind(value, self.schema())?;
        let offset = rest.first().map_or(Ok(1), |expr| literal_offset(&call.function, expr))?;
        let default = rest.get(1).map_or(Ok(ScalarValue::Null), |expr| literal(&call.function, expr))?;
        let default = default.cast_to(value.data_type())?;
        let field = Field::new(&call.name, value.data_type().clone(), value.nullable() || default.is_null());
        let function = if call.function == "lag" {
            WindowFunction::Lag { offset, default }
        } else {
            WindowFunction::Lead { offset, default }
        };
        Ok((WindowCall { function, args: vec![value] }, field))
    }

    fn check_same(&self, context: &str, other: &Plan) -> Result<(), PlanError> {
        let (mine, theirs) = (self.schema().fields(), other.schema().fields());
        if mine.len() != theirs.len() {
            let (expected, found) =
                (format!("columns {}", names(self.schema()).join(", ")), names(other.schema()).join(", "));
            return Err(PlanError::TypeMismatch { context: context.to_owned(), expected, found });
        }
        for (left, right) in mine.iter().zip(theirs) {
            if left.data_type() != right.data_type() && !left.data_type().equals_datatype(right.data_type()) {
                let context = format!("{context}: column '{}'", left.name());
                return Err(PlanError::types(context, left.data_type(), right.data_type()));
            }
        }
        Ok(())
    }
}

/// The conjuncts of a predicate, in order.
fn split<'a>(expr: &'a Expr, out: &mut Vec<&'a Expr>) {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            split(left, out);
            split(right, out);
        }
        other => out.push(other),
    }
}

fn boolean(scalar: Scalar) -> Result<Scalar, PlanError> {
    match scalar.data_type() {
        DataType::Boolean => Ok(scalar),
        found => Err(PlanError::types(format!("predicate {scalar}"), &DataType::Boolean, found)),
    }
}

fn check_nulls(relation: &Plan, body: &Plan) -> Result<(), PlanError> {
    for (declared, given) in relation.schema().fields().iter().zip(body.schema().fields()) {
        if given.is_nullable() && !declared.is_nullable() {
            let context = format!("the body of a recursive relation: column '{}'", declared.name());
            return Err(PlanError::TypeMismatch {
                context,
                expected: "a value that is never NULL".into(),
                found: "a value that may be NULL".into(),
            });
        }
    }
    Ok(())
}

/// The keys of both sides, pair by pair in one type.
fn join_keys(
    (left, right): (&[Expr], &[Expr]),
    left_schema: &SchemaRef,
    right_schema: &SchemaRef,
) -> Result<(Vec<Scalar>, Vec<Scalar>), PlanError> {
    if left.len() != right.len() {
        return Err(PlanError::Invalid(format!(
            "a join needs as many keys on the left as on the right, got {} and {}",
            left.len(),
            right.len()
        )));
    }
    let pairs = left.iter().zip(right).map(|(l, r)| key_pair(l, left_schema, r, right_schema));
    Ok(pairs.collect::<Result<Vec<_>, _>>()?.into_iter().unzip())
}

/// A pair of keys. Numbers of different types meet in the type in which `=` would compare them.
fn key_pair(
    left: &Expr,
    left_schema: &SchemaRef,
    right: &Expr,
    right_schema: &SchemaRef,
) -> Result<(Scalar, Scalar), PlanError> {
    let (l, r) = (bind(left, left_schema)?, bind(right, right_schema)?);
    let (found, other) = (l.data_type(), r.data_type());
    if found == other {
        return Ok((l, r));
    }
    let common = comparison_coercion(found, other).filter(|_| found.is_numeric() && other.is_numeric());
    let common = common.ok_or_else(|| PlanError::types(format!("join key {l} = {r}"), found, other))?;
    let cast = |key: &Expr, schema| bind(&datafusion_expr::cast(key.clone(), common.clone()), schema);
    Ok((cast(left, left_schema)?, cast(right, right_schema)?))
}

/// The sides of a join as its output sees them: columns of a side that may be missing are nullable.
fn padded(left: &Schema, right: &Schema, kind: JoinKind) -> (Schema, Schema) {
    let left = if matches!(kind, JoinKind::Right | JoinKind::Full) { nullable(left) } else { left.clone() };
    let right = if matches!(kind, JoinKind::Left | JoinKind::Full) { nullable(right) } else { right.clone() };
    (left, right)
}

/// The columns of both sides of a join, one after the other, as its output sees them.
pub(crate) fn join_schema(left: &Plan, right: &Plan, kind: JoinKind) -> SchemaRef {
    let (left, right) = padded(left.schema(), right.schema(), kind);
    Arc::new(Schema::new(left.fields().iter().chain(right.fields()).cloned().collect::<Vec<_>>()))
}

/// The schema with every column nullable.
pub(crate) fn nullable(schema: &Schema) -> Schema {
    Schema::new(
        schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>(),
    )
}

fn empty() -> &'static Schema {
    static EMPTY: std::sync::LazyLock<Schema> = std::sync::LazyLock::new(Schema::empty);
    &EMPTY
}

fn merged_nullability(inputs: &[Plan]) -> SchemaRef {
    let first = inputs[0].schema();
    let field = |index: usize| {
        let any = inputs.iter().any(|input| input.schema().field(index).is_nullable());
        first.field(index).clone().with_nullable(any)
    };
    Arc::new(Schema::new((0..first.fields().len()).map(field).collect::<Vec<_>>()))
}

/// A schema of named expressions.
pub(crate) fn schema_of<'a>(
    names: impl Iterator<Item = &'a str>,
    scalars: &[Scalar],
    all_nullable: bool,
) -> Result<SchemaRef, PlanError> {
    let field = |(name, scalar): (&str, &Scalar)| {
        Field::new(name, scalar.data_type().clone(), all_nullable || scalar.nullable())
    };
    unique(Schema::new(names.zip(scalars).map(field).collect::<Vec<_>>()))
}

fn unique(schema: Schema) -> Result<SchemaRef, PlanError> {
    let mut seen = HashSet::new();
    for field in schema.fields() {
        if !seen.insert(field.name().as_str()) {
            return Err(PlanError::Invalid(format!(
                "column '{}' stands twice in the output: {}",
                field.name(),
                names(&schema).join(", ")
            )));
        }
    }
    Ok(Arc::new(schema))
}

fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

fn with_separator(function: AggregateFunction, call: &AggregateExpr) -> Result<AggregateFunction, PlanError> {
    if !matches!(function, AggregateFunction::StringAgg(_)) {
        return Ok(function);
    }
    match call.args.get(1).map(|expr| literal("string_agg", expr)).transpose()? {
        None => Ok(function),
        Some(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
        ) => Ok(AggregateFunction::StringAgg(text)),
        Some(other) => Err(PlanError::Invalid(format!(
            "the separator of string_agg must be a text literal, got {other}"
        ))),
    }
}

fn literal(function: &str, expr: &Expr) -> Result<ScalarValue, PlanError> {
    match expr {
        Expr::Literal(value, _) => Ok(value.clone()),
        other => Err(PlanError::Invalid(format!("{function} needs a literal here, got {other}"))),
    }
}

fn literal_offset(function: &str, expr: &Expr) -> Result<usize, PlanError> {
    match literal(function, expr)? {
        ScalarValue::Int64(Some(offset)) if offset >= 0 => Ok(offset as usize),
        other => Err(PlanError::Invalid(format!(
            "the offset of {function} must be a whole number of at least 0, got {other}"
        ))),
    }
}
