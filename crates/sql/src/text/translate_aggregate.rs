//! Aggregates: grouped and global, with grouping sets as a union of one aggregate a set.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{AggregateFunction as CallExpr, GroupingSet, NullTreatment};
use datafusion_expr::logical_plan::Aggregate;
use datafusion_expr::utils::grouping_set_to_exprlist;
use datafusion_expr::{Expr, lit, when};
use tailrace_operators::{AggregateCall, AggregateFunction, AggregateSpec, Regression, Scalar, Share};
use tailrace_trace::ChangeBatch;

use super::aggregates::{SINGLE_VALUE, has_constant};
use super::relation::{Relation, constant_row};
use super::translate::{Translator, evaluate_constant};
use crate::connective::may_fail;
use crate::single_value::at_most_one;
use crate::{Plan, PlanError, PlanKind};

/// One aggregate expression: the calls that compute it and where its value is read.
struct Column {
    calls: Vec<AggregateCall>,
    data_type: DataType,
    nullable: bool,
    /// Whether the value is that of the only row, and an error if there are more.
    single: bool,
}

impl Translator {
    pub(crate) fn aggregate(&self, aggregate: &Aggregate) -> Result<Relation, PlanError> {
        let input = self.input(&aggregate.input, aggregate.group_expr.iter().chain(&aggregate.aggr_expr))?;
        let columns =
            aggregate.aggr_expr.iter().map(|expr| column(&input, expr)).collect::<Result<Vec<_>, _>>()?;
        if let [Expr::GroupingSet(sets)] = &aggregate.group_expr[..] {
            return grouping_sets(&input, aggregate, sets, &columns);
        }
        let mut keys = input.bind_all(grouping_set_to_exprlist(&aggregate.group_expr)?)?;
        let own = keys.len();
        keys.extend(input.outer_scalars());
        let plan = grouped(&input, &keys, &columns)?;
        let places = (0..own).chain(keys.len()..keys.len() + columns.len()).collect();
        let outer = input
            .outer()
            .iter()
            .enumerate()
            .map(|(index, (column, _))| (column.clone(), own + index))
            .collect();
        // Grouped by outer values alone, a group that is empty still has a row.
        let missing = if own == 0 && !input.outer().is_empty() {
            Some(empty_group(&plan, keys.len(), &columns)?)
        } else {
            None
        };
        Ok(Relation::chosen(plan, places, &aggregate.schema)?.depending(outer).with_missing(missing))
    }
}

/// What an aggregate of no rows gives: zero for counts, NULL for the others.
fn empty_group(plan: &Plan, keys: usize, columns: &[Column]) -> Result<ChangeBatch, PlanError> {
    let counts = columns.iter().enumerate().filter(|(_, column)| counts(&column.calls[0].function));
    let zeros: Vec<(usize, ScalarValue)> =
        counts.map(|(index, _)| (keys + index, ScalarValue::Int64(Some(0)))).collect();
    constant_row(plan.schema(), &zeros)
}

/// Groups the input and reads every column.
fn grouped(input: &Relation, keys: &[Scalar], columns: &[Column]) -> Result<Plan, PlanError> {
    let mut fields: Vec<Field> = keys
        .iter()
        .enumerate()
        .map(|(place, key)| Field::new(format!("key_{place}"), key.data_type().clone(), key.nullable()))
        .collect();
    let mut calls = Vec::new();
    for column in columns {
        fields.push(Field::new(format!("value_{}", calls.len()), column.data_type.clone(), column.nullable));
        if column.single {
            fields.push(Field::new(format!("value_{}", calls.len() + 1), DataType::Int64, false));
        }
        calls.extend(column.calls.iter().cloned());
    }
    let schema = Arc::new(Schema::new(fields));
    let spec = AggregateSpec { keys: keys.to_vec(), calls, schema: Arc::clone(&schema) };
    let plan = Plan::new(PlanKind::Aggregate { input: input.plan().clone(), spec }, schema);
    if columns.iter().any(|column| column.single) { checked(&plan, keys.len(), columns) } else { Ok(plan) }
}

/// Takes the counts of single values away, failing where one is more than one.
fn checked(plan: &Plan, keys: usize, columns: &[Column]) -> Result<Plan, PlanError> {
    let schema = plan.schema();
    let mut scalars: Vec<Scalar> = (0..keys).map(|place| Scalar::column(place, schema)).collect();
    let mut place = keys;
    for column in columns {
        scalars.push(if column.single {
            at_most_one(place, place + 1, schema)?
        } else {
            Scalar::column(place, schema)
        });
        place += column.calls.len();
    }
    let field = |(index, scalar): (usize, &Scalar)| {
        Field::new(format!("column_{index}"), scalar.data_type().clone(), scalar.nullable())
    };
    let schema = Arc::new(Schema::new(scalars.iter().enumerate().map(field).collect::<Vec<_>>()));
    Ok(Plan::new(PlanKind::Project { input: plan.clone(), columns: scalars }, schema))
}

/// One aggregate a set; keys that a set leaves out are NULL, and the grouping id tells the sets apart.
fn grouping_sets(
    input: &Relation,
    aggregate: &Aggregate,
    sets: &GroupingSet,
    columns: &[Column],
) -> Result<Relation, PlanError> {
    if !input.outer().is_empty() {
        return Err(PlanError::Invalid(
            "GROUPING SETS inside a correlated subquery are not supported".into(),
        ));
    }
    let all: Vec<&Expr> = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let id_type = aggregate.schema.field(all.len()).data_type().clone();
    let mut parts: Vec<Plan> = Vec::new();
    let mut masks: Vec<usize> = Vec::new();
    for set in expand(sets) {
        let present: Vec<bool> = all.iter().map(|expr| set.contains(expr)).collect();
        let mask = present.iter().fold(0, |mask, present| mask << 1 | usize::from(!present));
        let ordinal = masks.iter().filter(|known| **known == mask).count();
        masks.push(mask);
        let id = ScalarValue::UInt64(Some((ordinal << all.len() | mask) as u64)).cast_to(&id_type)?;
        parts.push(one_set(input, aggregate, &all, &present, &id, columns)?);
    }
    let Some((first, others)) = parts.split_first() else {
        return Err(PlanError::Invalid("GROUPING SETS needs a set".into()));
    };
    Relation::new(first.union_all(others)?, &aggregate.schema)
}

fn one_set(
    input: &Relation,
    aggregate: &Aggregate,
    all: &[&Expr],
    present: &[bool],
    id: &ScalarValue,
    columns: &[Column],
) -> Result<Plan, PlanError> {
    let chosen = all.iter().zip(present).filter(|(_, present)| **present).map(|(expr, _)| *expr);
    let keys = input.bind_all(chosen)?;
    let plan = grouped(input, &keys, columns)?;
    let names = DFSchema::try_from(Arc::clone(plan.schema()))?;
    let rows = Relation::new(plan, &names)?;
    let mut scalars = Vec::new();
    let mut place = 0;
    for (expr, present) in all.iter().zip(present) {
        if *present {
            scalars.push(Scalar::column(place, rows.plan().schema()));
            place += 1;
        } else {
            let null = ScalarValue::try_from(input.bind(expr)?.data_type())?;
            scalars.push(rows.bind(&lit(null))?);
        }
    }
    scalars.push(rows.bind(&lit(id.clone()))?);
    scalars
        .extend((0..columns.len()).map(|column| Scalar::column(keys.len() + column, rows.plan().schema())));
    super::relation::computed(rows.plan(), scalars, &aggregate.schema)
}

/// The sets that ROLLUP, CUBE and GROUPING SETS stand for.
fn expand(sets: &GroupingSet) -> Vec<Vec<&Expr>> {
    match sets {
        GroupingSet::GroupingSets(sets) => sets.iter().map(|set| set.iter().collect()).collect(),
        GroupingSet::Rollup(exprs) => {
            (0..=exprs.len()).rev().map(|len| exprs[..len].iter().collect()).collect()
        }
        GroupingSet::Cube(exprs) => {
            let subset = |bits: usize| {
                exprs
                    .iter()
                    .enumerate()
                    .filter(|(place, _)| bits & (1 << place) == 0)
                    .map(|(_, expr)| expr)
                    .collect()
            };
            (0..1_usize << exprs.len()).map(subset).collect()
        }
    }
}

fn column(input: &Relation, expr: &Expr) -> Result<Column, PlanError> {
    match expr {
        Expr::Alias(alias) => column(input, &alias.expr),
        Expr::AggregateFunction(call) if call.func.name() == SINGLE_VALUE => single_value(input, call),
        Expr::AggregateFunction(call) => {
            let (call, data_type) = bind_call(input, call)?;
            let nullable = !counts(&call.function);
            Ok(Column { calls: vec![call], data_type, nullable, single: false })
        }
        other => Err(PlanError::Invalid(format!("internal: {other} is no aggregate"))),
    }
}

fn single_value(input: &Relation, call: &CallExpr) -> Result<Column, PlanError> {
    let args = input.bind_all(&call.params.args)?;
    let Some(value) = args.first() else {
        return Err(PlanError::Invalid("a scalar subquery needs a column".into()));
    };
    let data_type = value.data_type().clone();
    let first = AggregateCall {
        function: AggregateFunction::First,
        args,
        filter: None,
        distinct: false,
        order: Vec::new(),
    };
    let count = AggregateCall {
        function: AggregateFunction::Count,
        args: Vec::new(),
        filter: None,
        distinct: false,
        order: Vec::new(),
    };
    Ok(Column { calls: vec![first, count], data_type, nullable: true, single: true })
}

/// A call with its result type.
pub(crate) fn bind_call(input: &Relation, call: &CallExpr) -> Result<(AggregateCall, DataType), PlanError> {
    let name = call.func.name();
    let refuse = |reason: String| PlanError::Refused { name: name.to_owned(), reason };
    let Some(function) = AggregateFunction::from_name(name) else {
        return Err(refuse(format!("'{name}' is not an aggregate")));
    };
    let params = &call.params;
    if params.null_treatment == Some(NullTreatment::IgnoreNulls) {
        return Err(refuse(format!(
            "{name} with IGNORE NULLS is not supported: use FILTER (WHERE x IS NOT NULL)"
        )));
    }
    let function = separated(function, &params.args)?;
    let taken =
        if has_constant(&function) { &params.args[..params.args.len().min(1)] } else { &params.args[..] };
    let mut args = input.bind_all(taken)?;
    if let Some(filter) = &params.filter {
        for (arg, expr) in args.iter_mut().zip(taken) {
            if may_fail(arg.expr(), input.plan().schema()) {
                // The rows that the filter drops must not fail.
                *arg = input.bind(&when(filter.as_ref().clone(), expr.clone()).end()?)?;
            }
        }
    }
    let counts_rows =
        function == AggregateFunction::Count && !params.distinct && args.iter().all(|arg| !arg.nullable());
    let args = if counts_rows { Vec::new() } else { args };
    let types: Vec<DataType> = args.iter().map(|arg| arg.data_type().clone()).collect();
    let data_type = function.return_type(&types).map_err(refuse)?;
    let filter = params.filter.as_ref().map(|filter| input.bind(filter)).transpose()?;
    let order = input.order(&params.order_by)?;
    Ok((AggregateCall { function, args, filter, distinct: params.distinct, order }, data_type))
}

/// Whether a function of no rows is zero.
pub(crate) fn counts(function: &AggregateFunction) -> bool {
    matches!(function, AggregateFunction::Count | AggregateFunction::Regression(Regression::Count))
}

/// The separator of string_agg and the share of a quantile, which must be constants.
fn separated(function: AggregateFunction, args: &[Expr]) -> Result<AggregateFunction, PlanError> {
    match (&function, args.get(1)) {
        (AggregateFunction::StringAgg(_), Some(separator)) => {
            let value = evaluate_constant(separator)?.cast_to(&DataType::Utf8)?;
            match value {
                ScalarValue::Utf8(text) => Ok(AggregateFunction::StringAgg(text.unwrap_or_default())),
                other => Err(PlanError::Invalid(format!(
                    "the separator of string_agg must be a text, got {other}"
                ))),
            }
        }
        (AggregateFunction::QuantileCont(_), Some(share)) => {
            Ok(AggregateFunction::QuantileCont(share_of(share)?))
        }
        (AggregateFunction::QuantileDisc(_), Some(share)) => {
            Ok(AggregateFunction::QuantileDisc(share_of(share)?))
        }
        _ => Ok(function),
    }
}

fn share_of(expr: &Expr) -> Result<Share, PlanError> {
    match evaluate_constant(expr)?.cast_to(&DataType::Float64)? {
        ScalarValue::Float64(Some(share)) if (0.0..=1.0).contains(&share) => Ok(Share(share)),
        other => Err(PlanError::Invalid(format!("a quantile asks for a share between 0 and 1, got {other}"))),
    }
}
