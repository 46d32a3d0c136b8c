//! Describing plans: the tree of operators with what each keeps and what a change costs.

use std::fmt::Write as _;

use tailrace_operators::{AggregateFunction, FramedFunction};

use crate::{Plan, PlanKind};

impl Plan {
    /// The tree, one operator a line: what it does, the state it keeps, the cost of a change.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        self.describe(0, &mut text);
        text
    }

    fn describe(&self, depth: usize, text: &mut String) {
        let (name, cost) = self.line();
        let _ = writeln!(text, "{:indent$}{name}  -- {cost}", "", indent = depth * 2);
        self.inputs().iter().for_each(|input| input.describe(depth + 1, text));
    }

    fn line(&self) -> (String, &'static str) {
        let list = |scalars: &[tailrace_operators::Scalar]| {
            scalars.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        match self.kind() {
            PlanKind::Table(name) => (format!("table {name}"), "keeps its rows; O(log n) per changed row"),
            PlanKind::Relation(_) => ("recursive relation".into(), "no state"),
            PlanKind::Filter { predicates, .. } => {
                (format!("filter {}", list(predicates)), "no state; O(change)")
            }
            PlanKind::Project { columns, .. } => (format!("map {}", list(columns)), "no state; O(change)"),
            PlanKind::Unnest { column, .. } => (
                format!("unnest {}", self.schema().field(*column).name()),
                "no state; O(elements of changed rows)",
            ),
            PlanKind::Aggregate { spec, .. } => {
                let whole = spec.calls.iter().any(|call| walks_group(&call.function));
                let cost = if whole {
                    "keeps the rows of groups; O(rows of touched groups)"
                } else {
                    "keeps accumulators and ordered values; O(log n) per changed row"
                };
                (format!("aggregate by {}", list(&spec.keys)), cost)
            }
            PlanKind::Join { kind, left_keys, right_keys, .. } => {
                let name =
                    format!("{kind:?} join on {} = {}", list(left_keys), list(right_keys)).to_lowercase();
                (name, "keeps an index of both sides; O(log n + matches) per changed row")
            }
            PlanKind::Constant(rows) => (format!("{} constant row(s)", rows.len()), "no state; sent once"),
            PlanKind::Union(_) => ("union".into(), "no state; O(change)"),
            PlanKind::Minus(..) => ("minus".into(), "no state; O(change)"),
            PlanKind::Negate(_) => ("negate".into(), "no state; O(change)"),
            PlanKind::Positive(_) => ("positive".into(), "keeps its rows; O(log n) per changed row"),
            PlanKind::Distinct(_) => ("distinct".into(), "keeps its rows; O(log n) per changed row"),
            PlanKind::TopK { spec, .. } => (
                format!("top_k of each {}", list(&spec.partition)),
                "keeps its rows; O(k log n) per touched partition",
            ),
            PlanKind::Window { spec, .. } => (
                format!("window over {}", list(&spec.partition)),
                "keeps its rows; O(rows from the first changed place on) per touched partition",
            ),
            PlanKind::Framed { spec, .. } => {
                let calls: Vec<String> = spec.calls.iter().map(ToString::to_string).collect();
                let whole = spec.calls.iter().any(|call| holds_frame(&call.function));
                let cost = if whole {
                    "keeps its rows; a change costs the frames of all rows of its partition: O(rows x rows of a frame)"
                } else {
                    "keeps its rows; a change costs its whole partition: O(rows of touched partitions)"
                };
                (format!("window of {} over {}", calls.join(", "), list(&spec.partition)), cost)
            }
            PlanKind::Integrate(_) => ("integrate".into(), "keeps its rows; O(all rows) per step"),
            PlanKind::Differentiate(_) => {
                ("differentiate".into(), "keeps what came last; O(what came now and last) per step")
            }
            PlanKind::Delay(_) => ("delay".into(), "keeps the last change; O(change)"),
            PlanKind::MapRows { .. } => ("map_rows".into(), "no state; the function runs on changed rows"),
            PlanKind::Inspect { .. } => ("inspect".into(), "no state"),
            PlanKind::Fixpoint { recursion, .. } => (
                format!(
                    "recursion of {} relation(s), at most {} iterations",
                    recursion.relations.len(),
                    recursion.limit
                ),
                "keeps the history of iterations; O(changed facts)",
            ),
        }
    }
}

/// Whether the aggregate looks at all rows of a touched group: its result is as large as the group, or has no inverse.
fn walks_group(function: &AggregateFunction) -> bool {
    use AggregateFunction::{ArrayAgg, BitAnd, BitOr, BitXor, StringAgg};
    matches!(function, ArrayAgg | StringAgg(_) | BitAnd | BitOr | BitXor)
}

/// Whether the result is as large as the frame.
fn holds_frame(function: &FramedFunction) -> bool {
    use AggregateFunction::{ArrayAgg, StringAgg};
    matches!(function, FramedFunction::Aggregate(ArrayAgg | StringAgg(_)))
}
