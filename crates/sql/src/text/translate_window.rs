//! Window functions: one window node a partition and order.
//!
//! [`function`] is the one place that knows which functions and frames the operators offer; all others are refused there by name.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::expr::{NullTreatment, WindowFunction as CallExpr, WindowFunctionParams};
use datafusion_expr::logical_plan::Window;
use datafusion_expr::{Expr, WindowFunctionDefinition};
use tailrace_operators::{WindowCall, WindowFunction, WindowSpec};

use super::relation::Relation;
use super::translate::{Translator, evaluate_constant};
use crate::{Plan, PlanError, PlanKind};

impl Translator {
    pub(crate) fn window(&self, window: &Window) -> Result<Relation, PlanError> {
        let input = self.input(&window.input, &window.window_expr)?.compacted()?;
        let calls = window.window_expr.iter().map(call_of).collect::<Result<Vec<_>, _>>()?;
        let mut plan = input.plan().clone();
        let mut places = vec![0; calls.len()];
        let mut left: Vec<usize> = (0..calls.len()).collect();
        while let Some(first) = left.first().copied() {
            let (same, rest): (Vec<usize>, Vec<usize>) =
                left.into_iter().partition(|index| same_order(&calls[first].params, &calls[*index].params));
            same.iter()
                .enumerate()
                .for_each(|(place, index)| places[*index] = plan.schema().fields().len() + place);
            plan = windowed(&input, plan, &same.iter().map(|index| calls[*index]).collect::<Vec<_>>())?;
            left = rest;
        }
        let columns = input.columns().iter().copied().chain(places).collect();
        Ok(Relation::chosen(plan, columns, &window.schema)?.depending(input.outer().to_vec()))
    }
}

/// Adds the columns of calls that share partition and order. Positions of the input do not move: columns are added behind.
fn windowed(input: &Relation, plan: Plan, calls: &[&CallExpr]) -> Result<Plan, PlanError> {
    let params = &calls[0].params;
    let (mut partition, order) = (input.bind_all(&params.partition_by)?, input.order(&params.order_by)?);
    partition.extend(input.outer_scalars());
    let mut fields: Vec<FieldRef> = plan.schema().fields().iter().cloned().collect();
    let mut functions = Vec::with_capacity(calls.len());
    for call in calls {
        let (function, data_type, nullable) = function(input, call)?;
        fields.push(Arc::new(Field::new(format!("window_{}", fields.len()), data_type, nullable)));
        functions.push(function);
    }
    let schema = Arc::new(Schema::new(fields));
    let spec = WindowSpec { partition, order, functions, schema: Arc::clone(&schema) };
    Ok(Plan::new(PlanKind::Window { input: plan, spec }, schema))
}

/// The operator's function for a call, its type and whether it may be NULL.
fn function(input: &Relation, call: &CallExpr) -> Result<(WindowCall, DataType, bool), PlanError> {
    let name = call.fun.name().to_owned();
    let refuse = |reason: String| Err(PlanError::Refused { name: name.clone(), reason });
    let params = &call.params;
    if params.null_treatment == Some(NullTreatment::IgnoreNulls) || params.filter.is_some() || params.distinct
    {
        return refuse(format!(
            "window function {name} with IGNORE NULLS, FILTER or DISTINCT is not supported"
        ));
    }
    if let WindowFunctionDefinition::AggregateUDF(_) = call.fun {
        return refuse(format!(
            "aggregate {name} over a window is not supported yet: join the rows with a grouped aggregate instead"
        ));
    }
    let number = |function| Ok((WindowCall { function, args: Vec::new() }, DataType::Int64, false));
    match name.as_str() {
        "row_number" => number(WindowFunction::RowNumber),
        "rank" => number(WindowFunction::Rank),
        "dense_rank" => number(WindowFunction::DenseRank),
        "lag" | "lead" => shift(input, &name, params),
        _ => refuse(format!(
            "window function {name} is not supported yet. Choices: row_number, rank, dense_rank, lag, lead"
        )),
    }
}

fn shift(
    input: &Relation,
    name: &str,
    params: &WindowFunctionParams,
) -> Result<(WindowCall, DataType, bool), PlanError> {
    let [value, rest @ ..] = &params.args[..] else {
        return Err(PlanError::Invalid(format!("{name} needs a value")));
    };
    let value = input.bind(value)?;
    let offset =
        rest.first().map_or(Ok(ScalarValue::Int64(Some(1))), evaluate_constant)?.cast_to(&DataType::Int64)?;
    let ScalarValue::Int64(Some(offset)) = offset else {
        return Err(PlanError::Refused {
            name: name.to_owned(),
            reason: format!("the offset of {name} must be a whole number"),
        });
    };
    let default = rest.get(1).map_or(Ok(ScalarValue::Null), evaluate_constant)?.cast_to(value.data_type())?;
    // A negative offset looks the other way.
    let back = (name == "lag") == (offset >= 0);
    let offset = offset.unsigned_abs() as usize;
    let nullable = value.nullable() || default.is_null();
    let data_type = value.data_type().clone();
    let function =
        if back { WindowFunction::Lag { offset, default } } else { WindowFunction::Lead { offset, default } };
    Ok((WindowCall { function, args: vec![value] }, data_type, nullable))
}

fn call_of(expr: &Expr) -> Result<&CallExpr, PlanError> {
    match expr {
        Expr::Alias(alias) => call_of(&alias.expr),
        Expr::WindowFunction(call) => Ok(call),
        other => Err(PlanError::Invalid(format!("internal: {other} is no window function"))),
    }
}

fn same_order(a: &WindowFunctionParams, b: &WindowFunctionParams) -> bool {
    a.partition_by == b.partition_by && a.order_by == b.order_by
}
