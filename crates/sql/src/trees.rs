//! Trees: which fields tell the elements of a nested list apart, so that a change of one of them can be told alone.
//!
//! A list of structs comes from `array_agg`. Its elements are the rows of one group, so fields that decide the row, together with what is grouped by,
//! are a key of the list (see `dependencies.rs`). The list is then followed through the operators above up to the output.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_physical_expr::expressions::{CaseExpr, CastExpr, Column, Literal};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use tailrace_operators::{AggregateCall, AggregateFunction, AggregateSpec, Scalar};

use crate::dependencies::Columns;
use crate::keys::{Keys, TableKeys};
use crate::or_empty::OR_EMPTY;
use crate::{Plan, PlanKind};

/// The key of a list inside of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListKey {
    /// The column, and the fields inside of it, that lead to the list.
    pub path: Vec<String>,
    /// The fields that tell its elements apart.
    pub key: Vec<String>,
}

/// The keys of all lists in the rows of a plan, as far as they follow from the keys of the tables.
pub fn list_keys(plan: &Plan, tables: TableKeys<'_>) -> Vec<ListKey> {
    let mut trees = Trees { keys: Keys::new(tables) };
    let fields = plan.schema().fields().iter().enumerate();
    fields.flat_map(|(place, field)| under(field.name(), trees.column(plan, place))).collect()
}

struct Trees<'a> {
    keys: Keys<'a>,
}

/// The relations that the columns of an expression belong to, and the number of columns of the first.
struct Inputs<'a> {
    left: &'a Plan,
    right: Option<&'a Plan>,
}

impl<'a> Inputs<'a> {
    fn one(plan: &'a Plan) -> Self {
        Self { left: plan, right: None }
    }

    fn place(&self, column: usize) -> Option<(&'a Plan, usize)> {
        let width = self.left.schema().fields().len();
        if column < width { Some((self.left, column)) } else { Some((self.right?, column - width)) }
    }
}

impl Trees<'_> {
    /// The lists inside a column; their paths begin behind it.
    fn column(&mut self, plan: &Plan, place: usize) -> Vec<ListKey> {
        match plan.kind() {
            PlanKind::Project { input, columns } => self.value(columns[place].expr(), &Inputs::one(input)),
            PlanKind::Filter { input, .. }
            | PlanKind::TopK { input, .. }
            | PlanKind::Inspect { input, .. }
            | PlanKind::Distinct(input)
            | PlanKind::Positive(input)
            | PlanKind::Minus(input, _) => self.column(input, place),
            PlanKind::Window { input, .. } | PlanKind::Framed { input, .. } => {
                if place < input.schema().fields().len() { self.column(input, place) } else { Vec::new() }
            }
            PlanKind::Join { left, right, output, .. } => {
                self.value(output[place].expr(), &Inputs { left, right: Some(right) })
            }
            PlanKind::Aggregate { input, spec } => self.aggregated(input, spec, place),
            _ => Vec::new(),
        }
    }

    fn value(&mut self, expr: &Arc<dyn PhysicalExpr>, inputs: &Inputs<'_>) -> Vec<ListKey> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return inputs
                .place(column.index())
                .map_or_else(Vec::new, |(plan, place)| self.column(plan, place));
        }
        if let Some(fields) = struct_fields(expr) {
            return fields.iter().flat_map(|(name, value)| under(name, self.value(value, inputs))).collect();
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return self.value(cast.expr(), inputs);
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            let passes = [OR_EMPTY, "at_most_one", "coalesce"].contains(&call.fun().name());
            let [first, rest @ ..] = call.args() else { return Vec::new() };
            let constant = call.fun().name() != "coalesce" || rest.iter().all(is_constant);
            return if passes && constant { self.value(first, inputs) } else { Vec::new() };
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            let branches = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
            let varying: Vec<_> = branches.filter(|branch| !is_constant(branch)).collect();
            return if let [only] = varying[..] { self.value(only, inputs) } else { Vec::new() };
        }
        Vec::new()
    }

    fn aggregated(&mut self, input: &Plan, spec: &AggregateSpec, place: usize) -> Vec<ListKey> {
        if let Some(key) = spec.keys.get(place) {
            return self.value(key.expr(), &Inputs::one(input));
        }
        let Some(call) = spec.calls.get(place - spec.keys.len()) else { return Vec::new() };
        let Some(arg) = call.args.first() else { return Vec::new() };
        let mut lists = match call.function {
            AggregateFunction::ArrayAgg | AggregateFunction::First | AggregateFunction::Last => {
                self.value(arg.expr(), &Inputs::one(input))
            }
            _ => Vec::new(),
        };
        if call.function == AggregateFunction::ArrayAgg
            && let Some(key) = self.element_key(input, spec, call, arg)
        {
            lists.insert(0, ListKey { path: Vec::new(), key });
        }
        lists
    }

    /// Fields that decide the row of a group, the first ones first.
    fn element_key(
        &mut self,
        input: &Plan,
        spec: &AggregateSpec,
        call: &AggregateCall,
        arg: &Scalar,
    ) -> Option<Vec<String>> {
        let mut expr = Arc::clone(arg.expr());
        let mut groups: Vec<usize> = spec.keys.iter().filter_map(Scalar::as_column).collect();
        let mut rows = input;
        // A struct that is made below has its rows there.
        while let (Some(column), PlanKind::Project { input: below, columns }) =
            (expr.downcast_ref::<Column>().map(Column::index), rows.kind())
        {
            groups = groups.iter().filter_map(|group| columns[*group].as_column()).collect();
            expr = Arc::clone(columns[column].expr());
            rows = below;
        }
        let fields = struct_fields(&expr)?;
        let known = self.keys.of(rows);
        let columns: Vec<(&String, usize)> = fields
            .iter()
            .filter_map(|(name, value)| Some((name, value.downcast_ref::<Column>()?.index())))
            .collect();
        let decides = |chosen: &[(&String, usize)]| {
            let places: Columns = chosen.iter().map(|(_, column)| *column).chain(groups.clone()).collect();
            known.decided(&places).row
        };
        if !decides(&columns) {
            return call.distinct.then(|| fields.into_iter().map(|(name, _)| name).collect());
        }
        let mut key = columns;
        for place in (0..key.len()).rev() {
            let mut fewer = key.clone();
            fewer.remove(place);
            if decides(&fewer) {
                key = fewer;
            }
        }
        Some(key.into_iter().map(|(name, _)| name.clone()).collect())
    }
}

/// Lists below a field.
fn under(field: &str, lists: Vec<ListKey>) -> Vec<ListKey> {
    let below = |list: ListKey| ListKey {
        path: std::iter::once(field.to_owned()).chain(list.path).collect(),
        key: list.key,
    };
    lists.into_iter().map(below).collect()
}

fn is_constant(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Literal>().is_some()
}

/// The names and values of a struct that is made here.
fn struct_fields(expr: &Arc<dyn PhysicalExpr>) -> Option<Vec<(String, Arc<dyn PhysicalExpr>)>> {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        return struct_fields(cast.expr());
    }
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    match call.fun().name() {
        "struct" => {
            let field =
                |(place, value): (usize, &Arc<dyn PhysicalExpr>)| (format!("c{place}"), Arc::clone(value));
            Some(call.args().iter().enumerate().map(field).collect())
        }
        "named_struct" => {
            call.args().chunks(2).map(|pair| Some((name(&pair[0])?, Arc::clone(pair.get(1)?)))).collect()
        }
        _ => None,
    }
}

fn name(expr: &Arc<dyn PhysicalExpr>) -> Option<String> {
    match expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Utf8(Some(name))
        | ScalarValue::Utf8View(Some(name))
        | ScalarValue::LargeUtf8(Some(name)) => Some(name.clone()),
        _ => None,
    }
}
