//! Window functions: one window node a partition and order, for calls by place and for calls over frames each.
//!
//! [`function`] is the one place that knows which functions the operators offer; all others are refused there by name. Frames are told in
//! `translate_frame.rs`.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::expr::{
    AggregateFunction as AggregateExpr, NullTreatment, WindowFunction as CallExpr, WindowFunctionParams,
};
use datafusion_expr::logical_plan::Window;
use datafusion_expr::{AggregateUDF, Expr, WindowFunctionDefinition};
use tailrace_operators::{
    AggregateFunction, Frame, FramedCall, FramedFunction, FramedSpec, WindowCall, WindowFunction, WindowSpec,
};

use super::relation::Relation;
use super::translate::{Translator, evaluate_constant};
use super::translate_aggregate::{bind_call, counts};
use super::translate_frame::{frame, order_of};
use super::windows::NAMES;
use crate::{Plan, PlanError, PlanKind};

/// A call as an operator takes it.
enum Call {
    /// By the place of a row.
    Numbered(WindowCall),
    /// Over a frame.
    Framed(FramedCall),
}

/// A call with its type and whether it may be NULL.
type Bound = (Call, DataType, bool);

impl Translator {
    pub(crate) fn window(&self, window: &Window) -> Result<Relation, PlanError> {
        let input = self.input(&window.input, &window.window_expr)?.compacted()?;
        let calls = window.window_expr.iter().map(call_of).collect::<Result<Vec<_>, _>>()?;
        let bound = calls.iter().map(|call| function(&input, call)).collect::<Result<Vec<_>, _>>()?;
        let mut plan = input.plan().clone();
        let mut places = vec![0; calls.len()];
        let mut left: Vec<usize> = (0..calls.len()).collect();
        while let Some(first) = left.first().copied() {
            let alike = |index: &usize| {
                same_order(&calls[first].params, &calls[*index].params)
                    && is_framed(&bound[first]) == is_framed(&bound[*index])
            };
            let (same, rest): (Vec<usize>, Vec<usize>) = left.into_iter().partition(alike);
            same.iter()
                .enumerate()
                .for_each(|(place, index)| places[*index] = plan.schema().fields().len() + place);
            let together = same.iter().map(|index| &bound[*index]).collect::<Vec<_>>();
            plan = windowed(&input, plan, &calls[first].params, &together)?;
            left = rest;
        }
        let columns = input.columns().iter().copied().chain(places).collect();
        Ok(Relation::chosen(plan, columns, &window.schema)?.depending(input.outer().to_vec()))
    }
}

/// Adds the columns of calls that share partition, order and operator. Positions of the input do not move: columns are added behind.
fn windowed(
    input: &Relation,
    plan: Plan,
    params: &WindowFunctionParams,
    bound: &[&Bound],
) -> Result<Plan, PlanError> {
    let (mut partition, order) = (input.bind_all(&params.partition_by)?, input.order(order_of(params))?);
    partition.extend(input.outer_scalars());
    let mut fields: Vec<FieldRef> = plan.schema().fields().iter().cloned().collect();
    let (mut functions, mut calls) = (Vec::new(), Vec::new());
    for (call, data_type, nullable) in bound {
        fields.push(Arc::new(Field::new(format!("window_{}", fields.len()), data_type.clone(), *nullable)));
        match call {
            Call::Numbered(call) => functions.push(call.clone()),
            Call::Framed(call) => calls.push(call.clone()),
        }
    }
    let schema = Arc::new(Schema::new(fields));
    let kind = if calls.is_empty() {
        let spec = WindowSpec { partition, order, functions, schema: Arc::clone(&schema) };
        PlanKind::Window { input: plan, spec }
    } else {
        let spec = FramedSpec { partition, order, calls, schema: Arc::clone(&schema) };
        PlanKind::Framed { input: plan, spec }
    };
    Ok(Plan::new(kind, schema))
}

/// The operator's function for a call, its type and whether it may be NULL.
fn function(input: &Relation, call: &CallExpr) -> Result<Bound, PlanError> {
    let name = call.fun.name();
    let params = &call.params;
    if params.distinct {
        let reason = format!(
            "{name}(DISTINCT ...) over a window is not supported: a value that leaves a frame may still be in it"
        );
        return Err(refused(name, reason));
    }
    if let WindowFunctionDefinition::AggregateUDF(udaf) = &call.fun {
        return aggregate(input, udaf, params);
    }
    if params.filter.is_some() {
        return Err(refused(name, format!("FILTER is for aggregates, {name} is none")));
    }
    let ignore_nulls = params.null_treatment == Some(NullTreatment::IgnoreNulls);
    if ignore_nulls && params.args.is_empty() {
        return Err(refused(name, format!("{name} has no argument whose NULLs it could ignore")));
    }
    let number =
        |function| Ok((Call::Numbered(WindowCall { function, args: Vec::new() }), DataType::Int64, false));
    match name {
        "row_number" => number(WindowFunction::RowNumber),
        "rank" => number(WindowFunction::Rank),
        "dense_rank" => number(WindowFunction::DenseRank),
        "lag" | "lead" => shift(input, name, params, ignore_nulls),
        "ntile" => match whole_number(name, params.args.first())? {
            buckets @ 1.. => Ok(placed(FramedFunction::Ntile(buckets as u64), DataType::Int64)),
            other => {
                Err(refused(name, format!("ntile needs a number of buckets of at least 1, got {other}")))
            }
        },
        "percent_rank" => Ok(placed(FramedFunction::PercentRank, DataType::Float64)),
        "cume_dist" => Ok(placed(FramedFunction::CumeDist, DataType::Float64)),
        "first_value" => value(input, FramedFunction::First, params, ignore_nulls),
        "last_value" => value(input, FramedFunction::Last, params, ignore_nulls),
        "nth_value" => match whole_number(name, params.args.get(1))? {
            0 => Err(refused(name, "nth_value counts from 1, or from -1 backward".to_owned())),
            place => value(input, FramedFunction::Nth(place), params, ignore_nulls),
        },
        _ => Err(refused(
            name,
            format!("window function {name} is not supported. Choices: {}", NAMES.join(", ")),
        )),
    }
}

/// An aggregate over a frame.
fn aggregate(
    input: &Relation,
    udaf: &Arc<AggregateUDF>,
    params: &WindowFunctionParams,
) -> Result<Bound, PlanError> {
    let ends = matches!(
        AggregateFunction::from_name(udaf.name()),
        Some(AggregateFunction::First | AggregateFunction::Last)
    );
    let ignore_nulls = ends && params.null_treatment == Some(NullTreatment::IgnoreNulls);
    let nulls = if ignore_nulls { None } else { params.null_treatment };
    let (args, filter) = (params.args.clone(), params.filter.clone());
    let call = AggregateExpr::new_udf(Arc::clone(udaf), args, false, filter, Vec::new(), nulls);
    let (call, data_type) = bind_call(input, &call)?;
    let nullable = !counts(&call.function);
    let function = FramedFunction::Aggregate(call.function);
    let frame = frame(input, udaf.name(), params)?;
    let call = FramedCall { function, args: call.args, filter: call.filter, ignore_nulls, frame };
    Ok((Call::Framed(call), data_type, nullable))
}

/// The argument in one row of the frame.
fn value(
    input: &Relation,
    function: FramedFunction,
    params: &WindowFunctionParams,
    ignore_nulls: bool,
) -> Result<Bound, PlanError> {
    let name = function.name();
    let [value, ..] = &params.args[..] else {
        return Err(PlanError::Invalid(format!("{name} needs a value")));
    };
    let value = input.bind(value)?;
    let data_type = value.data_type().clone();
    let frame = frame(input, name, params)?;
    let call = FramedCall { function, args: vec![value], filter: None, ignore_nulls, frame };
    Ok((Call::Framed(call), data_type, true))
}

/// A function of the place in the partition, whatever the frame.
fn placed(function: FramedFunction, data_type: DataType) -> Bound {
    let frame = Frame::partition();
    let call = FramedCall { function, args: Vec::new(), filter: None, ignore_nulls: false, frame };
    (Call::Framed(call), data_type, false)
}

fn shift(
    input: &Relation,
    name: &str,
    params: &WindowFunctionParams,
    ignore_nulls: bool,
) -> Result<Bound, PlanError> {
    let [value, rest @ ..] = &params.args[..] else {
        return Err(PlanError::Invalid(format!("{name} needs a value")));
    };
    let value = input.bind(value)?;
    let offset = if rest.is_empty() { 1 } else { whole_number(name, rest.first())? };
    let default = rest.get(1).map_or(Ok(ScalarValue::Null), evaluate_constant)?.cast_to(value.data_type())?;
    let nullable = value.nullable() || default.is_null();
    let data_type = value.data_type().clone();
    if ignore_nulls {
        let offset = if name == "lag" { offset } else { offset.saturating_neg() };
        let (function, frame) = (FramedFunction::Shift { offset, default }, Frame::partition());
        let call = FramedCall { function, args: vec![value], filter: None, ignore_nulls, frame };
        return Ok((Call::Framed(call), data_type, nullable));
    }
    // A negative offset looks the other way.
    let back = (name == "lag") == (offset >= 0);
    let offset = offset.unsigned_abs() as usize;
    let function =
        if back { WindowFunction::Lag { offset, default } } else { WindowFunction::Lead { offset, default } };
    Ok((Call::Numbered(WindowCall { function, args: vec![value] }), data_type, nullable))
}

/// A constant argument that is a whole number.
fn whole_number(name: &str, expr: Option<&Expr>) -> Result<i64, PlanError> {
    if expr.is_some_and(|expr| expr.any_column_refs() || expr.contains_outer()) {
        return Err(refused(name, format!("{name} needs a whole number that is a constant")));
    }
    let value = expr.map_or(Ok(ScalarValue::Null), evaluate_constant)?.cast_to(&DataType::Int64)?;
    match value {
        ScalarValue::Int64(Some(number)) => Ok(number),
        _ => Err(refused(name, format!("{name} needs a whole number that is a constant"))),
    }
}

fn refused(name: &str, reason: String) -> PlanError {
    PlanError::Refused { name: name.to_owned(), reason }
}

fn is_framed(bound: &Bound) -> bool {
    matches!(bound.0, Call::Framed(_))
}

fn call_of(expr: &Expr) -> Result<&CallExpr, PlanError> {
    match expr {
        Expr::Alias(alias) => call_of(&alias.expr),
        Expr::WindowFunction(call) => Ok(call),
        other => Err(PlanError::Invalid(format!("internal: {other} is no window function"))),
    }
}

fn same_order(a: &WindowFunctionParams, b: &WindowFunctionParams) -> bool {
    a.partition_by == b.partition_by && order_of(a) == order_of(b)
}
