//! The key of a plan: columns that no two of its rows agree in, so that a change can be told as *created*, *updated* or *deleted*.
//!
//! It follows from the keys of the tables and from what every operator does to dependencies: a filter keeps them and adds the equalities that it tests; a projection
//! keeps those that it shows; groups, distinct rows and the first row of a partition are decided by what they go by; a join decides by both sides,
//! or by one of them if the other is looked up by its key; a union of bags decides nothing.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, Column, IsNullExpr, Literal};
use datafusion_physical_expr::utils::collect_columns;
use tailrace_operators::{Scalar, TopKSpec, WindowFunction, WindowSpec};
use tailrace_trace::ChangeBatch;

use crate::dependencies::{Columns, Dependencies, read_by};
use crate::{JoinKind, Plan, PlanKind};

/// The positions of a table's key columns; none for a bag.
pub type TableKeys<'a> = &'a dyn Fn(&str) -> Vec<usize>;

/// The positions of the columns that tell the rows of a plan apart, where those of `fixed` have one value. None if no such columns are found; empty if there is at
/// most one row.
pub fn key_of(plan: &Plan, tables: TableKeys<'_>, fixed: &[usize]) -> Option<Vec<usize>> {
    let fixed: Columns = fixed.iter().copied().collect();
    let key = Keys::new(tables).of(plan).key(&fixed)?;
    Some(key.into_iter().collect())
}

/// The dependencies of plans; those of a plan that is read twice are found once.
pub(crate) struct Keys<'a> {
    tables: TableKeys<'a>,
    known: HashMap<String, Rc<Dependencies>>,
}

impl<'a> Keys<'a> {
    pub(crate) fn new(tables: TableKeys<'a>) -> Self {
        Self { tables, known: HashMap::new() }
    }

    /// What is known of a plan's columns.
    pub(crate) fn of(&mut self, plan: &Plan) -> Rc<Dependencies> {
        if let Some(known) = self.known.get(plan.fingerprint()) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.find(plan));
        self.known.insert(plan.fingerprint().to_owned(), Rc::clone(&found));
        found
    }

    fn find(&mut self, plan: &Plan) -> Dependencies {
        let width = plan.schema().fields().len();
        match plan.kind() {
            PlanKind::Table(name) => keyed(width, (self.tables)(name)),
            PlanKind::Filter { input, predicates } => filtered(&self.of(input), predicates),
            PlanKind::Project { input, columns } => self.of(input).projected(columns),
            PlanKind::Unnest { input, column } => self.of(input).multiplied(*column),
            PlanKind::Aggregate { input, spec } => {
                let mut groups = self.of(input).projected(&spec.keys).widened(width);
                groups.decide_row((0..spec.keys.len()).collect());
                groups
            }
            PlanKind::Join { .. } => self.joined(plan),
            PlanKind::Constant(rows) => constant(rows, width),
            PlanKind::Union(inputs) => match &inputs[..] {
                [input] => self.of(input).as_ref().clone(),
                _ => Dependencies::none(width),
            },
            PlanKind::Minus(left, right) => match right.kind() {
                // What is left of the left after what is left of it without the right: rows of the left.
                PlanKind::Positive(rest) if is_minus_from(rest, left) => self.of(left).as_ref().clone(),
                _ => Dependencies::none(width),
            },
            PlanKind::Positive(input) => match input.kind() {
                PlanKind::Minus(left, right) if is_never_negative(right) => self.of(left).as_ref().clone(),
                PlanKind::Minus(..) => Dependencies::none(width),
                _ => self.of(input).as_ref().clone(),
            },
            PlanKind::Distinct(input) => {
                let mut rows = self.of(input).as_ref().clone();
                rows.decide_row((0..width).collect());
                rows
            }
            PlanKind::TopK { input, spec } => first_rows(&self.of(input), spec),
            PlanKind::Window { input, spec } => numbered(&self.of(input), spec, width),
            PlanKind::Framed { input, .. } => self.of(input).as_ref().clone().widened(width),
            PlanKind::Inspect { input, .. } => self.of(input).as_ref().clone(),
            PlanKind::Fixpoint { recursion, .. } if recursion.distinct => Dependencies::distinct(width),
            PlanKind::Fixpoint { .. }
            | PlanKind::Relation(_)
            | PlanKind::Negate(_)
            | PlanKind::Integrate(_)
            | PlanKind::Differentiate(_)
            | PlanKind::Delay(_)
            | PlanKind::MapRows { .. } => Dependencies::none(width),
        }
    }

    fn joined(&mut self, plan: &Plan) -> Dependencies {
        let PlanKind::Join { left, right, kind, left_keys, right_keys, residual, output, .. } = plan.kind()
        else {
            return Dependencies::none(plan.schema().fields().len());
        };
        if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
            return self.of(left).projected(output);
        }
        let (of_left, of_right) = (self.of(left), self.of(right));
        let pads_left = matches!(kind, JoinKind::Right | JoinKind::Full);
        let pads_right = matches!(kind, JoinKind::Left | JoinKind::Full);
        let padded = |side: &Dependencies, plan: &Plan, pads: bool| {
            if pads { side.padded(plan.schema()) } else { side.clone() }
        };
        let mut both = padded(&of_left, left, pads_left).paired(&padded(&of_right, right, pads_right));
        let shift = left.schema().fields().len();
        let (left_row, right_row) = (both_rows(left, right), both_rows(left, right) + 1);
        let is_looked_up = |side: &Dependencies, keys: &[Scalar]| {
            side.decided(&keys.iter().filter_map(Scalar::as_column).collect()).row
        };
        match kind {
            JoinKind::Inner => {
                for (l, r) in left_keys.iter().zip(right_keys) {
                    equal(
                        &mut both,
                        (read_by(l), l.as_column()),
                        (shifted(read_by(r), shift), r.as_column().map(|column| column + shift)),
                    );
                }
                for predicate in residual {
                    stated(&mut both, predicate.expr());
                }
            }
            JoinKind::Left if is_looked_up(&of_right, right_keys) => {
                both.decide([left_row].into(), (shift..left_row).chain([right_row]).collect());
                if residual.is_empty() {
                    let from = left_keys.iter().flat_map(read_by).collect();
                    both.decide(from, (shift..left_row).collect());
                }
            }
            JoinKind::Right if is_looked_up(&of_left, left_keys) => {
                both.decide([right_row].into(), (0..shift).chain([left_row]).collect());
                if residual.is_empty() {
                    let from = right_keys.iter().flat_map(|key| shifted(read_by(key), shift)).collect();
                    both.decide(from, (0..shift).collect());
                }
            }
            _ => {}
        }
        both.projected(output)
    }
}

/// The position behind the columns of both sides of a join.
fn both_rows(left: &Plan, right: &Plan) -> usize {
    left.schema().fields().len() + right.schema().fields().len()
}

fn shifted(columns: Columns, by: usize) -> Columns {
    columns.into_iter().map(|column| column + by).collect()
}

fn keyed(width: usize, key: Vec<usize>) -> Dependencies {
    let mut rows = Dependencies::none(width);
    if !key.is_empty() {
        rows.decide_row(key.into_iter().collect());
    }
    rows
}

fn constant(rows: &ChangeBatch, width: usize) -> Dependencies {
    match rows.consolidate() {
        Ok(rows) if rows.weights().iter().all(|weight| *weight == 1) => {
            let mut known = Dependencies::distinct(width);
            if rows.len() <= 1 {
                known.decide_row(Columns::new());
            }
            known
        }
        _ => Dependencies::none(width),
    }
}

fn is_minus_from(plan: &Plan, left: &Plan) -> bool {
    matches!(plan.kind(), PlanKind::Minus(from, _) if from.fingerprint() == left.fingerprint())
}

/// Whether no row can have a negative weight, so that taking the plan away from another adds nothing.
fn is_never_negative(plan: &Plan) -> bool {
    match plan.kind() {
        PlanKind::Positive(_) | PlanKind::Distinct(_) | PlanKind::Aggregate { .. } => true,
        PlanKind::Negate(_) | PlanKind::Differentiate(_) | PlanKind::Delay(_) | PlanKind::Relation(_) => {
            false
        }
        PlanKind::Minus(left, right) => {
            matches!(right.kind(), PlanKind::Positive(rest) if is_minus_from(rest, left))
                && is_never_negative(left)
        }
        _ => plan.inputs().into_iter().all(is_never_negative),
    }
}

/// The first row of a partition is decided by the partition.
fn first_rows(input: &Dependencies, spec: &TopKSpec) -> Dependencies {
    let mut rows = input.clone();
    if spec.k.is_some_and(|k| k <= 1) {
        rows.tell_apart(spec.partition.iter().flat_map(read_by).collect());
    }
    rows
}

/// The number of a row in its partition and the partition decide the row.
fn numbered(input: &Dependencies, spec: &WindowSpec, width: usize) -> Dependencies {
    let mut rows = input.clone().widened(width);
    let first = width - spec.functions.len();
    let partition: Columns = spec.partition.iter().flat_map(read_by).collect();
    for (place, call) in spec.functions.iter().enumerate() {
        if matches!(call.function, WindowFunction::RowNumber) {
            rows.tell_apart(partition.iter().copied().chain([first + place]).collect());
            rows.count(first + place);
        }
    }
    rows
}

fn filtered(input: &Dependencies, predicates: &[Scalar]) -> Dependencies {
    let mut rows = input.clone();
    predicates.iter().for_each(|predicate| stated(&mut rows, predicate.expr()));
    rows
}

/// What a predicate that holds for all rows says of their columns.
fn stated(rows: &mut Dependencies, predicate: &Arc<dyn PhysicalExpr>) {
    if let Some(column) = predicate.downcast_ref::<Column>() {
        rows.decide(Columns::new(), [column.index()].into());
    } else if let Some(test) = predicate.downcast_ref::<IsNullExpr>() {
        let column = test.arg().downcast_ref::<Column>();
        column.into_iter().for_each(|column| rows.decide(Columns::new(), [column.index()].into()));
    } else if let Some(binary) = predicate.downcast_ref::<BinaryExpr>() {
        match binary.op() {
            Operator::And => {
                stated(rows, binary.left());
                stated(rows, binary.right());
            }
            Operator::Eq | Operator::IsNotDistinctFrom => {
                equal(rows, side(binary.left()), side(binary.right()))
            }
            Operator::LtEq | Operator::Lt => at_most(rows, binary),
            _ => {}
        }
    }
}

/// `number <= 1`, where numbers count from one on.
fn at_most(rows: &mut Dependencies, binary: &BinaryExpr) {
    let most = if *binary.op() == Operator::LtEq { 1 } else { 2 };
    let least = ScalarValue::Int64(Some(most));
    let is_least = binary.right().downcast_ref::<Literal>().is_some_and(|literal| *literal.value() == least);
    if let Some(column) = binary.left().downcast_ref::<Column>()
        && is_least
        && rows.counts(column.index())
    {
        rows.decide(Columns::new(), [column.index()].into());
    }
}

/// The columns that an expression reads, and the column that it is.
fn side(expr: &Arc<dyn PhysicalExpr>) -> (Columns, Option<usize>) {
    let reads = collect_columns(expr).iter().map(Column::index).collect();
    (reads, expr.downcast_ref::<Column>().map(Column::index))
}

/// Two expressions are equal: what the one reads decides the other, if that is a column.
fn equal(rows: &mut Dependencies, left: (Columns, Option<usize>), right: (Columns, Option<usize>)) {
    if let Some(column) = right.1 {
        rows.decide(left.0.clone(), [column].into());
    }
    if let Some(column) = left.1 {
        rows.decide(right.0, [column].into());
    }
}
