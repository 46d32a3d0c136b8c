//! Folding: the operations of one batch on one table become one change of it.
//!
//! Operations are taken in order. Each sees the table as the earlier ones of its batch left it: the committed rows and the pending changes, which are
//! looked at together. An update is minus the old row, plus the new one; what cancels is gone when the pending changes are added up, so an
//! update that changes nothing changes nothing. Nothing here touches the database: a batch that is refused has left no trace.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use tailrace_trace::{
    DiffColumn, Entry, GroupCursor, IndexedBatch, Merger, Snapshot, TraceError, gather, locate, lookup_sums,
    sort_rows,
};

use crate::table::Table;
use crate::{EngineError, Operation, OperationKind};

/// The pending change of one table.
pub(crate) struct Fold<'a> {
    table: &'a Table,
    committed: Snapshot,
    /// Committed rows and pending changes.
    current: Snapshot,
    pending: Vec<Arc<IndexedBatch>>,
    /// Whether raw weights came in, so that the result must be checked.
    raw: bool,
}

impl<'a> Fold<'a> {
    pub(crate) fn new(table: &'a Table, committed: Snapshot) -> Self {
        Self { table, current: committed.clone(), committed, pending: Vec::new(), raw: false }
    }

    /// Folds one operation in.
    pub(crate) fn apply(&mut self, operation: &Operation) -> Result<(), EngineError> {
        let (kind, rows) = (operation.kind, &operation.rows);
        self.table.check_columns(kind, rows)?;
        if rows.num_rows() == 0 {
            return self.table.some_columns(operation).map(drop);
        }
        match kind {
            OperationKind::Weighted => self.weighted(operation),
            OperationKind::Insert if !self.table.has_key() => {
                self.add_rows(&self.table.whole_rows(operation)?, 1)
            }
            OperationKind::Delete if !self.table.has_key() => self.delete_rows(operation),
            OperationKind::Insert => self.replace(self.table.whole_rows(operation)?, kind),
            OperationKind::Upsert if self.table.has_key() => {
                self.replace(self.table.whole_rows(operation)?, kind)
            }
            OperationKind::Update if self.table.has_key() => self.update(operation),
            OperationKind::Delete => self.delete_keys(operation),
            OperationKind::Upsert | OperationKind::Update => {
                let (name, table) = (kind.name(), &self.table.name);
                Err(EngineError::Unsupported(format!(
                    "{name} needs a key, and table '{table}' has none: use insert and delete"
                )))
            }
        }
    }

    /// The change of the table, consolidated; None if nothing changes.
    pub(crate) fn finish(self) -> Result<Option<Arc<IndexedBatch>>, EngineError> {
        let change = Snapshot::new(Arc::clone(&self.table.layout), self.pending.clone()).consolidate()?;
        if self.raw {
            self.check(&change)?;
        }
        Ok((!change.is_empty()).then_some(change))
    }

    /// Adds a change. Weights are added up without checks later, so that their total is bounded here. Pending changes halve in size from old to
    /// new, so that a batch of many small operations looks at few of them.
    fn push(&mut self, batch: IndexedBatch) -> Result<(), EngineError> {
        let mass: i128 = self.current.batches().iter().map(|batch| i128::from(batch.mass())).sum();
        if mass + i128::from(batch.mass()) > i128::from(i64::MAX) {
            return Err(self.overflow(batch.columns(), batch.weights())?);
        }
        self.pending.push(Arc::new(batch));
        while let [.., older, newer] = &self.pending[..]
            && older.len() <= 2 * newer.len()
        {
            let merged = Merger::merge(older, newer)?;
            self.pending.truncate(self.pending.len() - 2);
            self.pending.push(Arc::new(merged));
        }
        self.current = self.pending.iter().fold(self.committed.clone(), |rows, change| rows.with(change));
        Ok(())
    }

    fn add_rows(&mut self, columns: &[ArrayRef], weight: i64) -> Result<(), EngineError> {
        let weights = vec![weight; columns.first().map_or(0, |column| column.len())];
        self.push(IndexedBatch::build(&self.table.layout, columns, &[DiffColumn::Weight(weights.into())])?)
    }

    fn weighted(&mut self, operation: &Operation) -> Result<(), EngineError> {
        let weights = self.table.weights(&operation.rows)?;
        let columns = self.table.whole_rows(operation)?;
        self.raw = true;
        match IndexedBatch::build(&self.table.layout, &columns, &[DiffColumn::Weight(weights.clone())]) {
            Ok(batch) => self.push(batch),
            Err(TraceError::WeightOverflow) => Err(self.overflow(&columns, &weights)?),
            Err(error) => Err(error.into()),
        }
    }

    /// Rows of a table without a key: each must be there at least as often as it is deleted.
    fn delete_rows(&mut self, operation: &Operation) -> Result<(), EngineError> {
        let columns = self.table.whole_rows(operation)?;
        let weights = vec![-1; operation.rows.num_rows()];
        let batch = IndexedBatch::build(&self.table.layout, &columns, &[DiffColumn::Weight(weights.into())])?;
        let present = total_weights(&self.current, &batch)?;
        if let Some(at) = (0..batch.len()).find(|row| present[*row] + batch.weights()[*row] < 0) {
            let key = self.table.show_key(batch.columns(), at)?;
            let row = first_equal(&columns, batch.columns(), at)?;
            return Err(EngineError::KeyNotFound {
                table: self.table.name.clone(),
                operation: "delete",
                row,
                key,
            });
        }
        self.push(batch)
    }

    /// Insert and upsert: new rows by key.
    fn replace(&mut self, columns: Vec<ArrayRef>, kind: OperationKind) -> Result<(), EngineError> {
        let key_len = self.table.layout.key_len();
        let keyed = Keyed::new(&columns[..key_len], columns[0].len())?;
        if kind == OperationKind::Insert
            && let Some(row) = keyed.repeated
        {
            return Err(self.duplicate(&columns[..key_len], row)?);
        }
        let existing = self.existing(&keyed.keys)?;
        if kind == OperationKind::Insert
            && let Some((place, _)) = existing.first()
        {
            return Err(self.duplicate(&columns[..key_len], keyed.rows.value(*place) as usize)?);
        }
        self.exchange(&existing, Some(gather(&columns, &keyed.rows)?))
    }

    fn update(&mut self, operation: &Operation) -> Result<(), EngineError> {
        let rows = &operation.rows;
        let keys = self.table.keys(rows)?;
        let keyed = Keyed::new(&keys, rows.num_rows())?;
        let existing = self.all_existing(&keyed, &keys, OperationKind::Update)?;
        let old = self.rows_at(&existing)?;
        let given = self.table.some_columns(operation)?;
        let fields = self.table.layout.schema().fields();
        let mut new = Vec::with_capacity(old.len());
        for ((field, old), given) in fields.iter().zip(&old).zip(&given) {
            new.push(match (given, operation.omits(field.name())) {
                (Some(given), Some(omitted)) => keyed.last_given(given, omitted, old)?,
                (Some(given), None) => take(given, &keyed.rows, None).map_err(TraceError::from)?,
                (None, _) => Arc::clone(old),
            });
        }
        self.exchange(&existing, Some(new))
    }

    fn delete_keys(&mut self, operation: &Operation) -> Result<(), EngineError> {
        let rows = &operation.rows;
        let keys = self.table.keys(rows)?;
        let keyed = Keyed::new(&keys, rows.num_rows())?;
        if let Some(row) = keyed.repeated {
            return Err(self.not_found(&keys, row, OperationKind::Delete)?);
        }
        let existing = self.all_existing(&keyed, &keys, OperationKind::Delete)?;
        self.check_whole_rows(operation, &keyed, &existing)?;
        self.exchange(&existing, None)
    }

    /// A delete by whole rows of a table with a key must name the rows as they are.
    fn check_whole_rows(
        &self,
        operation: &Operation,
        keyed: &Keyed,
        existing: &[(usize, Entry)],
    ) -> Result<(), EngineError> {
        let rows = &operation.rows;
        let given = self.table.some_columns(operation)?;
        let key_len = self.table.layout.key_len();
        if given[key_len..].iter().all(Option::is_none) {
            return Ok(());
        }
        let old = self.rows_at(existing)?;
        let fields = self.table.layout.schema().fields();
        for ((field, old), given) in fields.iter().zip(&old).zip(&given).skip(key_len) {
            let Some(given) = given else { continue };
            let omitted = operation.omits(field.name());
            let stated =
                |place: &usize| omitted.is_none_or(|rows| !rows.value(keyed.rows.value(*place) as usize));
            let given = take(given, &keyed.rows, None).map_err(TraceError::from)?;
            let comparator = tailrace_trace::RowComparator::try_new(
                std::slice::from_ref(old),
                std::slice::from_ref(&given),
            )?;
            if let Some(place) =
                (0..old.len()).filter(stated).find(|row| comparator.compare(*row, *row).is_ne())
            {
                return Err(self.not_found(
                    &self.table.keys(rows)?,
                    keyed.rows.value(place) as usize,
                    OperationKind::Delete,
                )?);
            }
        }
        Ok(())
    }

    /// Minus the old rows, plus the new ones, which are sorted by key.
    fn exchange(&mut self, old: &[(usize, Entry)], new: Option<Vec<ArrayRef>>) -> Result<(), EngineError> {
        let layout = &self.table.layout;
        let taken = old.iter().map(|(_, entry)| -entry.weight);
        let Some(new) = new else {
            let rows = self.rows_at(old)?;
            let weights = DiffColumn::Weight(taken.collect());
            return self.push(IndexedBatch::build(layout, &rows, &[weights])?);
        };
        let added = new[0].len();
        if old.is_empty() {
            let weights = DiffColumn::Weight(vec![1; added].into());
            return self.push(IndexedBatch::from_sorted(layout, new, vec![weights])?);
        }
        let gone = self.rows_at(old)?;
        let both = |(gone, new): (&ArrayRef, &ArrayRef)| Ok(concat(&[gone.as_ref(), new.as_ref()])?);
        let columns = gone.iter().zip(&new).map(both).collect::<Result<Vec<_>, TraceError>>()?;
        let weights: Vec<i64> = taken.chain(std::iter::repeat_n(1, added)).collect();
        self.push(IndexedBatch::build(layout, &columns, &[DiffColumn::Weight(weights.into())])?)
    }

    /// The row of each key that exists: the place of the key and where the row is.
    ///
    /// A key has one row at most, so the newest batch that speaks of a key knows it: the row that it adds, or none if it only takes one away. While
    /// raw weights wait for their check, a key may have several.
    fn existing(&self, keys: &[ArrayRef]) -> Result<Vec<(usize, Entry)>, EngineError> {
        if self.raw {
            return self.all_rows_of(keys);
        }
        if self.current.is_empty() {
            return Ok(Vec::new());
        }
        let count = keys.first().map_or(0, |column| column.len());
        let mut open: Vec<u32> = (0..=count as u32).collect();
        let mut rows: Vec<Option<Entry>> = vec![None; count];
        for (index, batch) in self.current.batches().iter().enumerate().rev() {
            let ranges = locate(keys, &open, batch)?;
            let weights = batch.weights();
            let mut unknown = Vec::with_capacity(open.len());
            for (key, mut range) in open.iter().zip(ranges) {
                if range.is_empty() {
                    unknown.push(*key);
                } else {
                    let added = range.find(|row| weights[*row as usize] > 0);
                    rows[*key as usize] = added.map(|row| Entry { batch: index as u32, row, weight: 1 });
                }
            }
            unknown.push(count as u32);
            open = unknown;
        }
        Ok(rows.into_iter().enumerate().filter_map(|(key, entry)| Some((key, entry?))).collect())
    }

    /// The same by adding up all batches: as many rows as a key has.
    fn all_rows_of(&self, keys: &[ArrayRef]) -> Result<Vec<(usize, Entry)>, EngineError> {
        let count = keys.first().map_or(0, |column| column.len());
        let starts: Vec<u32> = (0..=count as u32).collect();
        let batches = self.current.batches();
        let found =
            batches.iter().map(|batch| locate(keys, &starts, batch)).collect::<Result<Vec<_>, _>>()?;
        let groups = GroupCursor::new(batches);
        let mut existing = Vec::new();
        for key in 0..count {
            let mut walk = groups.walk(found.iter().map(|ranges| ranges[key].clone()), false);
            while let Some(entry) = walk.next_entry()? {
                existing.push((key, entry));
            }
        }
        Ok(existing)
    }

    /// The same where every key must exist, with one row. Weighted changes earlier in the batch may have left several, or a weight other than one.
    fn all_existing(
        &self,
        keyed: &Keyed,
        keys: &[ArrayRef],
        kind: OperationKind,
    ) -> Result<Vec<(usize, Entry)>, EngineError> {
        let existing = self.existing(&keyed.keys)?;
        let mut found = existing.iter().peekable();
        for place in 0..keyed.rows.len() {
            let row = keyed.rows.value(place) as usize;
            let mut weight = 0;
            let mut rows = 0;
            while let Some((_, entry)) = found.next_if(|(key, _)| *key == place) {
                weight += entry.weight;
                rows += 1;
            }
            match (rows, weight) {
                (1, 1) => {}
                (0, _) => return Err(self.not_found(keys, row, kind)?),
                _ => return Err(self.bad_weight(keys, row, weight, "a key names one row, once")?),
            }
        }
        Ok(existing)
    }

    fn rows_at(&self, entries: &[(usize, Entry)]) -> Result<Vec<ArrayRef>, EngineError> {
        let places: Vec<(usize, usize)> =
            entries.iter().map(|(_, entry)| (entry.batch as usize, entry.row as usize)).collect();
        let gather = |column: usize| {
            let sources: Vec<&dyn Array> =
                self.current.batches().iter().map(|batch| batch.columns()[column].as_ref()).collect();
            Ok(interleave(&sources, &places).map_err(TraceError::from)?)
        };
        (0..self.table.order.len()).map(gather).collect()
    }

    /// What raw weights must leave: a bag without negative weights, or at most one row per key.
    fn check(&self, change: &IndexedBatch) -> Result<(), EngineError> {
        let totals = total_weights(&self.current, change)?;
        let keyed = self.table.has_key();
        if let Some(row) = totals.iter().position(|weight| *weight < 0 || (keyed && *weight > 1)) {
            let rule = if keyed {
                "a table with a key holds each row once or not at all"
            } else {
                "a table has no negative weights"
            };
            let named = if keyed && totals[row] > 1 { change.key() } else { change.columns() };
            return Err(self.bad_weight(named, row, totals[row], rule)?);
        }
        if keyed {
            let starts = change.runs()?;
            let DiffColumn::Weight(counts) =
                lookup_sums(change.key(), &starts, &self.current)?.swap_remove(0)
            else {
                return Ok(());
            };
            if let Some(run) = counts.iter().position(|count| *count > 1) {
                let row = starts[run] as usize;
                return Err(self.bad_weight(change.key(), row, counts[run], "a key names one row")?);
            }
        }
        Ok(())
    }

    /// Names the row with the largest weight.
    fn overflow(&self, columns: &[ArrayRef], weights: &[i64]) -> Result<EngineError, EngineError> {
        let row = (0..weights.len()).max_by_key(|row| weights[*row].unsigned_abs()).unwrap_or(0);
        let (table, weight) = (self.table.name.clone(), weights.get(row).copied().unwrap_or(0));
        Ok(EngineError::WeightOverflow { table, row: self.table.show_key(columns, row)?, weight })
    }

    fn bad_weight(
        &self,
        columns: &[ArrayRef],
        row: usize,
        weight: i64,
        rule: &'static str,
    ) -> Result<EngineError, EngineError> {
        let key = self.table.show_key(columns, row)?;
        Ok(EngineError::BadWeight { table: self.table.name.clone(), key, weight, rule })
    }

    fn duplicate(&self, keys: &[ArrayRef], row: usize) -> Result<EngineError, EngineError> {
        Ok(EngineError::DuplicateKey {
            table: self.table.name.clone(),
            row,
            key: self.table.show_key(keys, row)?,
        })
    }

    fn not_found(
        &self,
        keys: &[ArrayRef],
        row: usize,
        kind: OperationKind,
    ) -> Result<EngineError, EngineError> {
        let key = self.table.show_key(keys, row)?;
        Ok(EngineError::KeyNotFound { table: self.table.name.clone(), operation: kind.name(), row, key })
    }
}

/// Rows by key: each key once, sorted, with the last row that has it.
struct Keyed {
    rows: UInt32Array,
    keys: Vec<ArrayRef>,
    /// All rows by key, those of one key in the order in which they came, and where the rows of each key end.
    sorted: Vec<u32>,
    ends: Vec<usize>,
    /// A row whose key an earlier row has.
    repeated: Option<usize>,
}

impl Keyed {
    fn new(keys: &[ArrayRef], len: usize) -> Result<Self, TraceError> {
        let sorted = sort_rows(keys, len)?;
        let last = |place: &usize| place + 1 == len || !sorted.equal[place + 1];
        let ends: Vec<usize> = (0..len).filter(last).map(|place| place + 1).collect();
        let rows: UInt32Array = ends.iter().map(|end| sorted.rows[end - 1]).collect::<Vec<_>>().into();
        let repeated =
            (0..len).filter(|place| sorted.equal[*place]).map(|place| sorted.rows[place] as usize).min();
        let keys = gather(keys, &rows)?;
        Ok(Self { rows, keys, sorted: sorted.rows, ends, repeated })
    }

    /// For each key the value of the last row that gives one, or the old value.
    fn last_given(
        &self,
        given: &ArrayRef,
        omitted: &BooleanBuffer,
        old: &ArrayRef,
    ) -> Result<ArrayRef, TraceError> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let place = |(key, (start, end)): (usize, (&usize, &usize))| {
            let last = self.sorted[*start..*end].iter().rfind(|row| !omitted.value(**row as usize));
            last.map_or((1, key), |row| (0, *row as usize))
        };
        let places: Vec<(usize, usize)> = starts.zip(&self.ends).enumerate().map(place).collect();
        Ok(interleave(&[given.as_ref(), old.as_ref()], &places)?)
    }
}

/// The weight of each row of `rows` in a trace of the same layout.
fn total_weights(trace: &Snapshot, rows: &IndexedBatch) -> Result<Vec<i64>, TraceError> {
    let starts: Vec<u32> = (0..=rows.len() as u32).collect();
    let mut totals = vec![0; rows.len()];
    for batch in trace.batches() {
        for (total, range) in totals.iter_mut().zip(locate(rows.columns(), &starts, batch)?) {
            *total += range.map(|row| batch.weights()[row as usize]).sum::<i64>();
        }
    }
    Ok(totals)
}

/// The first row of `columns` that equals row `at` of `sought`.
fn first_equal(columns: &[ArrayRef], sought: &[ArrayRef], at: usize) -> Result<usize, TraceError> {
    let comparator = tailrace_trace::RowComparator::try_new(columns, sought)?;
    let len = columns.first().map_or(0, |column| column.len());
    Ok((0..len).find(|row| comparator.compare(*row, at).is_eq()).unwrap_or(0))
}
