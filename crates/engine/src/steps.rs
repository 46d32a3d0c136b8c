//! Steps: operations become one change per table, the circuit runs once, and the views that changed hand out their changes.
//!
//! A step costs what it changes: views that it does not concern are not looked at.

use std::sync::Arc;

use tailrace_circuit::{StepOutput, Value};
use tailrace_trace::IndexedBatch;

use crate::fold::Fold;
use crate::table::Table;
use crate::{Database, EngineError, Operation, StepChanges};

/// The change of one table, in its layout.
pub(crate) struct TableChange {
    pub(crate) table: String,
    pub(crate) change: Arc<IndexedBatch>,
}

impl Database {
    /// Applies all operations as one atomic step.
    pub fn apply(&mut self, operations: &[Operation]) -> Result<StepChanges, EngineError> {
        let changes = self.fold(operations)?;
        self.step(&changes)
    }

    /// Runs one step with changes that obey the rules of their tables.
    pub(crate) fn step(&mut self, changes: &[TableChange]) -> Result<StepChanges, EngineError> {
        let mut inputs = Vec::with_capacity(changes.len());
        for TableChange { table, change } in changes {
            let table = self.known_table(table)?;
            inputs.push((table.stream, table.changes_of(change)));
        }
        self.stage_in_origin(changes)?;
        match self.circuit.step(inputs) {
            Ok(output) => {
                self.version += 1;
                self.settle_origin(true);
                self.handed_out(output)
            }
            Err(error) => {
                self.settle_origin(false);
                Err(self.on_the_way(error))
            }
        }
    }

    /// The changes of the views that a step changed.
    fn handed_out(&mut self, output: StepOutput) -> Result<StepChanges, EngineError> {
        let mut changes = Vec::with_capacity(output.changes.len());
        for (stream, value) in output.changes {
            let (Some(names), Value::Changes(batch)) = (self.shown.get(&stream), value) else { continue };
            for name in names {
                let Some(view) = self.views.get_mut(name) else { continue };
                view.add_to_hash(&batch);
                let schema = Arc::clone(view.plan.schema());
                changes.push((name.clone(), batch.clone().with_schema(schema)?));
            }
        }
        Ok(StepChanges::new(self.version, Arc::clone(&self.shapes), changes))
    }

    /// The change of every touched table.
    fn fold(&self, operations: &[Operation]) -> Result<Vec<TableChange>, EngineError> {
        let mut folds: Vec<(&Table, Fold<'_>)> = Vec::new();
        for operation in operations {
            let table = self.known_table(&operation.table)?;
            let place = match folds.iter().position(|(known, _)| std::ptr::eq(*known, table)) {
                Some(place) => place,
                None => {
                    folds.push((table, Fold::new(table, self.trace_of(table.stream)?)));
                    folds.len() - 1
                }
            };
            folds[place].1.apply(operation)?;
        }
        let mut changes = Vec::with_capacity(folds.len());
        for (table, fold) in folds {
            if let Some(change) = fold.finish()? {
                changes.push(TableChange { table: table.name.clone(), change });
            }
        }
        Ok(changes)
    }
}
