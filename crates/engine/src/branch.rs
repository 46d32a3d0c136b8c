//! Branches: a database that goes on from here by itself, and whose changes of tables may be merged back as one step.
//!
//! # Promises
//! * Making one copies no rows: it shares all batches with its parent and costs what the operators cost. After that neither notices the other.
//! * A merge is one atomic step of the parent. A key that both have changed since the fork, not to the same row, is a conflict: the merge is refused with its
//!   table and key and nothing is applied, or the side that was asked for wins.
//! * Rows of a table without a key are added up; it is a conflict if more of a row would be taken than there are.
//!
//! # Why
//! Let `f` be the rows of a keyed table at the fork, `p` those of the parent now and `b` those of the branch now. The branch has kept `b - f` as it went. For
//! the keys of that change alone, `p - f` is looked up: where it is zero the parent has not touched the key. What takes the parent to the branch's
//! rows is `(b - f) - (p - f) = b - p`, for conflicts too; where that is zero both sides did the same and nothing is left to do. So a merge costs what the branch
//! changed, whatever the size of the tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use tailrace_trace::{DiffColumn, IndexedBatch, Layout, Snapshot, Spine, TraceError, gather, locate};

use crate::steps::TableChange;
use crate::table::Table;
use crate::{Database, EngineError, StepChanges};

/// What to do with a key that both sides have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Refuse the merge.
    #[default]
    Refuse,
    /// The parent takes the branch's row.
    Branch,
    /// The parent keeps its row.
    Parent,
}

/// Where a branch began, and what it changed since.
pub(crate) struct Origin {
    tables: BTreeMap<String, Fork>,
}

/// A table at the fork.
struct Fork {
    id: u64,
    rows: Snapshot,
    /// The sum of the branch's changes.
    changes: Spine,
}

/// The changes of a branch's tables since its fork.
pub struct BranchChanges {
    tables: Vec<ForkedTable>,
    /// Tables with rows that did not exist at the fork, or were made anew.
    new_tables: Vec<String>,
}

struct ForkedTable {
    name: String,
    id: u64,
    at_fork: Snapshot,
    change: Arc<IndexedBatch>,
}

impl OnConflict {
    /// The policy of that name: error, branch, parent.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "error" => Some(Self::Refuse),
            "branch" => Some(Self::Branch),
            "parent" => Some(Self::Parent),
            _ => None,
        }
    }
}

impl Database {
    /// A database with the same tables, views and state that goes on by itself. What looks on (`inspect`) stays with the original.
    pub fn branch(&self) -> Result<Database, EngineError> {
        let mut tables = BTreeMap::new();
        // What is asked of views belongs to those who ask, here or there.
        for name in self.tables() {
            let table = self.known_table(&name)?;
            let (rows, changes) = (self.trace_of(table.stream)?, Spine::new(Arc::clone(&table.layout)));
            tables.insert(name, Fork { id: table.id, rows, changes });
        }
        Ok(Database {
            circuit: self.circuit.fork()?,
            lowering: self.lowering.clone(),
            tables: self.tables.clone(),
            views: self.views.clone(),
            functions: self.functions.clone(),
            shown: self.shown.clone(),
            shapes: Arc::clone(&self.shapes),
            version: self.version,
            definitions: self.definitions,
            origin: Some(Origin { tables }),
        })
    }

    /// What a branch has changed since its fork, added up.
    pub fn branch_changes(&self) -> Result<BranchChanges, EngineError> {
        let origin = self
            .origin
            .as_ref()
            .ok_or_else(|| EngineError::Unsupported("this database is no branch of another one".into()))?;
        let mut found = BranchChanges { tables: Vec::new(), new_tables: Vec::new() };
        for name in self.tables() {
            let table = self.known_table(&name)?;
            match origin.tables.get(&name).filter(|fork| fork.id == table.id) {
                Some(Fork { id, rows, changes }) => {
                    let at_fork = rows.clone();
                    let change = changes.snapshot().consolidate()?;
                    found.tables.push(ForkedTable { name, id: *id, at_fork, change });
                }
                None if self.trace_of(table.stream)?.is_empty() => {}
                None => found.new_tables.push(name),
            }
        }
        found.tables.retain(|table| !table.change.is_empty());
        Ok(found)
    }

    /// Applies the changes of a branch as one step.
    pub fn merge(
        &mut self,
        branch: &BranchChanges,
        on_conflict: OnConflict,
    ) -> Result<StepChanges, EngineError> {
        if let Some(name) = branch.new_tables.first() {
            let reason = format!(
                "table '{name}' was made in the branch and has rows: make it in the parent too, and insert its rows there"
            );
            return Err(EngineError::Unsupported(reason));
        }
        let mut changes = Vec::with_capacity(branch.tables.len());
        for forked in &branch.tables {
            let table = self.tables.get(&forked.name).filter(|table| table.id == forked.id);
            let Some(table) = table else {
                let reason = format!(
                    "table '{}' of the parent was dropped since the fork, so that the branch's changes of it have no place",
                    forked.name
                );
                return Err(EngineError::Unsupported(reason));
            };
            let now = self.trace_of(table.stream)?;
            let change = if table.has_key() {
                merged_keys(table, forked, &now, on_conflict)?
            } else {
                merged_rows(table, forked, &now)?
            };
            if !change.is_empty() {
                changes.push(TableChange { table: forked.name.clone(), change: Arc::new(change) });
            }
        }
        self.step(&changes)
    }

    /// Notes changes in a branch; they count when the step succeeds.
    pub(crate) fn stage_in_origin(&mut self, changes: &[TableChange]) -> Result<(), EngineError> {
        let Some(origin) = &mut self.origin else { return Ok(()) };
        for TableChange { table, change } in changes {
            let id = self.tables.get(table).map(|table| table.id);
            if let Some(fork) = origin.tables.get_mut(table).filter(|fork| Some(fork.id) == id)
                && let Err(error) = fork.changes.stage(Arc::clone(change))
            {
                self.settle_origin(false);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Ends a step for the changes that were noted.
    pub(crate) fn settle_origin(&mut self, committed: bool) {
        for fork in self.origin.iter_mut().flat_map(|origin| origin.tables.values_mut()) {
            if committed { fork.changes.commit() } else { fork.changes.rollback() }
        }
    }
}

/// What a table with a key takes of a branch.
fn merged_keys(
    table: &Table,
    forked: &ForkedTable,
    now: &Snapshot,
    on_conflict: OnConflict,
) -> Result<IndexedBatch, EngineError> {
    let own = own_change(table, forked, now)?;
    if own.is_empty() {
        return Ok(IndexedBatch::clone(&forked.change));
    }
    let rest = sum(&table.layout, &forked.change, &own, -1)?;
    // Keys of the rest that the parent has changed too: both sides have, and not to the same row.
    let starts = rest.runs()?;
    let touched = locate(rest.key(), &starts, &own)?;
    let conflicts: Vec<usize> = (0..touched.len()).filter(|run| !touched[*run].is_empty()).collect();
    match on_conflict {
        _ if conflicts.is_empty() => Ok(rest),
        OnConflict::Branch => Ok(rest),
        OnConflict::Parent => {
            let free = (0..touched.len()).filter(|run| touched[*run].is_empty());
            let rows: Vec<u32> = free.flat_map(|run| starts[run]..starts[run + 1]).collect();
            Ok(chosen(&table.layout, &rest, rows)?)
        }
        OnConflict::Refuse => Err(EngineError::MergeConflict {
            table: forked.name.clone(),
            key: table.show_key(rest.key(), starts[conflicts[0]] as usize)?,
            keys: conflicts.len(),
        }),
    }
}

/// What the parent has changed since the fork, of the keys that the branch has changed.
fn own_change(table: &Table, forked: &ForkedTable, now: &Snapshot) -> Result<IndexedBatch, EngineError> {
    let starts = forked.change.runs()?;
    let keys = forked.change.key();
    let shared = |batch: &Arc<IndexedBatch>, other: &Snapshot| {
        other.batches().iter().any(|known| Arc::ptr_eq(known, batch))
    };
    let mut columns: Vec<Vec<ArrayRef>> = Vec::new();
    let mut weights: Vec<i64> = Vec::new();
    for (rows, other, sign) in [(now, &forked.at_fork, 1), (&forked.at_fork, now, -1)] {
        for batch in rows.batches().iter().filter(|batch| !shared(batch, other)) {
            let found: Vec<u32> = locate(keys, &starts, batch)?.into_iter().flatten().collect();
            weights.extend(found.iter().map(|row| sign * batch.weights()[*row as usize]));
            columns.push(gather(batch.columns(), &UInt32Array::from(found))?);
        }
    }
    Ok(IndexedBatch::build(&table.layout, &stacked(&columns)?, &[DiffColumn::Weight(weights.into())])?)
}

/// What a table without a key takes of a branch: all of it, if there are enough of the rows that go.
fn merged_rows(table: &Table, forked: &ForkedTable, now: &Snapshot) -> Result<IndexedBatch, EngineError> {
    let change = &forked.change;
    let starts: Vec<u32> = (0..=change.len() as u32).collect();
    let mut totals: Vec<i64> = change.weights().to_vec();
    for batch in now.batches() {
        for (total, found) in totals.iter_mut().zip(locate(change.columns(), &starts, batch)?) {
            *total += found.map(|row| batch.weights()[row as usize]).sum::<i64>();
        }
    }
    let lacking: Vec<usize> =
        (0..totals.len()).filter(|row| totals[*row] < 0 && change.weights()[*row] < 0).collect();
    match lacking.first() {
        None => Ok(IndexedBatch::clone(change)),
        Some(row) => Err(EngineError::MergeLack {
            table: forked.name.clone(),
            row: table.show_key(change.columns(), *row)?,
            rows: lacking.len(),
        }),
    }
}

/// `a + sign * b`.
fn sum(
    layout: &Arc<Layout>,
    a: &IndexedBatch,
    b: &IndexedBatch,
    sign: i64,
) -> Result<IndexedBatch, TraceError> {
    let columns = stacked(&[a.columns().to_vec(), b.columns().to_vec()])?;
    let weights = a.weights().iter().copied().chain(b.weights().iter().map(|weight| sign * weight));
    IndexedBatch::build(layout, &columns, &[DiffColumn::Weight(weights.collect())])
}

/// Some rows of a batch, ascending.
fn chosen(layout: &Arc<Layout>, batch: &IndexedBatch, rows: Vec<u32>) -> Result<IndexedBatch, TraceError> {
    let weights = rows.iter().map(|row| batch.weights()[*row as usize]).collect();
    let columns = gather(batch.columns(), &UInt32Array::from(rows))?;
    IndexedBatch::from_sorted(layout, columns, vec![DiffColumn::Weight(weights)])
}

/// The rows of several sets of columns below one another.
fn stacked(parts: &[Vec<ArrayRef>]) -> Result<Vec<ArrayRef>, TraceError> {
    let width = parts.first().map_or(0, Vec::len);
    let column = |index: usize| {
        let chunks: Vec<&dyn arrow_array::Array> = parts.iter().map(|part| part[index].as_ref()).collect();
        Ok(arrow_select::concat::concat(&chunks)?)
    };
    (0..width).map(column).collect()
}
