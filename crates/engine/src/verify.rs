//! Verification: a view is computed anew from the tables and compared with what is kept.
//!
//! # Promise
//! Nothing of the running circuit takes part but the rows of the tables: the plan is lowered into a circuit of its own, whose operators start empty and see the
//! tables as one change. The result is compared row by row with the kept rows, the kept hash with the hash of the result, and the state of every operator
//! that both circuits know by name with its counterpart. So damage is found also where it has not reached the rows yet.
//!
//! # Why states can be compared
//! What an operator keeps is a function of the sum of its inputs' changes, not of when they came: one step with everything leaves the same rows and
//! accumulators as many small ones. (Operators that do depend on history are refused.) A mark without columns only says that something was sent, so it counts as
//! present or absent.

use std::collections::HashMap;
use std::sync::Arc;

use tailrace_circuit::{Circuit, StreamId};
use tailrace_operators::TableSource;
use tailrace_sql::{Lowered, Lowering, Plan};
use tailrace_trace::{ChangeBatch, Snapshot, TraceError, content_hash};

use crate::{Database, EngineError};

/// What comparing a view with its computation from scratch found.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The view.
    pub view: String,
    /// Rows of the computation, each as often as it is there.
    pub rows: u64,
    /// The hash of the computation.
    pub hash: u128,
    /// The kept hash, if one is kept.
    pub kept_hash: Option<u128>,
    /// Kept rows minus computed rows: too many are positive, missing ones negative.
    pub difference: ChangeBatch,
    /// Operators whose state is not what it should be.
    pub damaged: Vec<String>,
}

impl Verification {
    /// Whether the view is what it should be.
    pub fn is_ok(&self) -> bool {
        self.difference.is_empty()
            && self.damaged.is_empty()
            && self.kept_hash.is_none_or(|kept| kept == self.hash)
    }
}

/// A plan in a circuit of its own.
struct Scratch {
    circuit: Circuit,
    lowering: Lowering,
    rows: ChangeBatch,
}

impl Database {
    /// Computes a view anew from the tables and compares.
    pub fn verify(&self, name: &str) -> Result<Verification, EngineError> {
        let view = self.known_view(name)?;
        if view.plan.depends_on_history() {
            return Err(EngineError::NotVerifiable { view: name.to_owned() });
        }
        let scratch = self.from_scratch(&view.plan)?;
        let (kept, computed) = (self.current_rows(name)?, &scratch.rows);
        let both = [kept, computed.clone().negate()?];
        Ok(Verification {
            view: name.to_owned(),
            rows: computed.weights().iter().map(|weight| (*weight).max(0) as u64).sum(),
            hash: content_hash(computed)?,
            kept_hash: view.hash,
            difference: ChangeBatch::concat(Arc::clone(view.plan.schema()), &both)?.consolidate()?,
            damaged: self.damaged(&scratch)?,
        })
    }

    /// The plan over the rows of the tables. The circuit is filled as a fork, whose copies of operators that show changes to the user are silent.
    fn from_scratch(&self, plan: &Plan) -> Result<Scratch, EngineError> {
        let (mut circuit, mut lowering) = (Circuit::new(), Lowering::default());
        let mut tables = HashMap::new();
        for (name, table) in &self.tables {
            let mut source = TableSource::new(Arc::clone(&table.layout), table.order.clone());
            tailrace_circuit::Operator::restore(&mut source, vec![self.trace_of(table.stream)?])?;
            tables.insert(name.clone(), circuit.add_source(Box::new(source), Arc::clone(&table.schema))?);
        }
        let Lowered { stream, added } = lowering.lower(&mut circuit, &tables, plan)?;
        let mut circuit = circuit.fork()?;
        circuit.watch(stream)?;
        let rows = if added.contains(&stream.node()) {
            circuit.fill(&added)?.take(stream)
        } else {
            Some(circuit.evaluate_integral(stream)?)
        };
        let rows = match rows {
            Some(rows) => rows.into_changes()?.with_schema(Arc::clone(plan.schema()))?.consolidate()?,
            None => ChangeBatch::empty(Arc::clone(plan.schema())),
        };
        Ok(Scratch { circuit, lowering, rows })
    }

    /// The operators that keep something else than their counterparts.
    fn damaged(&self, scratch: &Scratch) -> Result<Vec<String>, EngineError> {
        let mut damaged = Vec::new();
        for (own, other) in self.lowering.twins(&scratch.lowering) {
            let (kept, computed) = (states(&self.circuit, own), states(&scratch.circuit, other));
            if !same_states(&kept, &computed)? {
                let node = self.circuit.view(own.node());
                damaged.extend(node.map(|node| format!("{} {}", node.name(), node.label())));
            }
        }
        Ok(damaged)
    }
}

fn states(circuit: &Circuit, stream: StreamId) -> Vec<Snapshot> {
    circuit.view(stream.node()).map(|node| node.snapshots()).unwrap_or_default()
}

fn same_states(kept: &[Snapshot], computed: &[Snapshot]) -> Result<bool, TraceError> {
    if kept.len() != computed.len() {
        return Ok(false);
    }
    for (kept, computed) in kept.iter().zip(computed) {
        let (a, b) = (kept.consolidate()?, computed.consolidate()?);
        let same = if a.columns().is_empty() { a.is_empty() == b.is_empty() } else { a.equals(&b)? };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use tailrace_circuit::NodeId;

    use super::*;

    /// A database whose view `v` and index of it hold three groups.
    fn database() -> Database {
        let mut db = Database::new();
        let script = "CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT);
            CREATE VIEW v AS SELECT x, count(*) AS n FROM t GROUP BY x;
            INSERT INTO t VALUES (1, 5), (2, 5), (3, 6), (4, 7)";
        db.execute(script, &[]).unwrap();
        db.snapshot("v").unwrap();
        db.view_hash("v").unwrap();
        assert!(db.verify("v").unwrap().is_ok());
        db
    }

    /// Cuts the last row off the state of an operator, below everything that could refuse it.
    fn damage(db: &mut Database, node: NodeId) {
        let mut checkpoint = db.circuit.checkpoint();
        let (_, snapshots) = checkpoint.nodes.iter_mut().find(|(id, _)| *id == node).unwrap();
        let whole = snapshots[0].consolidate().unwrap();
        let kept = whole.len() - 1;
        let columns = whole.columns().iter().map(|column| column.slice(0, kept)).collect();
        let diffs = whole.diffs().iter().map(|diff| match diff {
            tailrace_trace::DiffColumn::Weight(weights) => {
                tailrace_trace::DiffColumn::Weight(weights.slice(0, kept))
            }
            other => other.clone(),
        });
        let cut =
            tailrace_trace::IndexedBatch::from_sorted(whole.layout(), columns, diffs.collect()).unwrap();
        snapshots[0] = Snapshot::new(Arc::clone(whole.layout()), vec![Arc::new(cut)]);
        db.circuit.restore(checkpoint).unwrap();
    }

    #[test]
    fn a_row_that_the_index_of_a_view_has_lost_is_found() {
        let mut db = database();
        let content = db.views["v"].content.unwrap();
        damage(&mut db, content.node());
        let found = db.verify("v").unwrap();
        assert!(!found.is_ok());
        assert_eq!((found.rows, found.difference.len(), found.difference.weights()[0]), (3, 1, -1));
        assert_eq!(found.kept_hash, Some(found.hash), "the hash was kept apart from the rows");
        assert!(found.damaged.is_empty(), "the operators below it are whole: {:?}", found.damaged);
    }

    #[test]
    fn state_that_has_not_reached_the_rows_yet_is_found() {
        let mut db = database();
        let aggregate = db.views["v"].stream;
        damage(&mut db, aggregate.node());
        let found = db.verify("v").unwrap();
        assert!(!found.is_ok() && found.difference.is_empty(), "{found:?}");
        assert!(found.damaged[0].starts_with("aggregate"), "{:?}", found.damaged);
    }

    #[test]
    fn a_wrong_hash_is_found() {
        let mut db = database();
        let view = db.views.get_mut("v").unwrap();
        view.hash = view.hash.map(|hash| hash.wrapping_add(1));
        let found = db.verify("v").unwrap();
        assert!(!found.is_ok() && found.difference.is_empty() && found.damaged.is_empty());
    }
}
