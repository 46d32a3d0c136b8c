//! INSERT, UPDATE and DELETE: the rows that go and come, in one step.
//!
//! What RETURNING shows is computed before the step, so that a statement whose RETURNING fails changes nothing.

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_select::take::take;
use std::sync::Arc;
use tailrace_sql::{Conflict, Plan, PlannedQuery};
use tailrace_trace::{ChangeBatch, RowComparator, TraceError, normal_array, sort_rows};

use crate::statement::{Text, operation, renamed, weighted};
use crate::table::Table;
use crate::{Database, EngineError, Operation, OperationKind, StatementOutcome};

impl Database {
    pub(crate) fn insert_rows(
        &mut self,
        table: &str,
        query: &PlannedQuery,
        conflict: Conflict,
        returning: Option<&Text<'_>>,
        text: &Text<'_>,
    ) -> Result<StatementOutcome, EngineError> {
        let table = self.table_name(table)?;
        let rows = renamed(self.select(query)?, &self.known_table(&table)?.columns())?;
        match conflict {
            Conflict::Fail => {
                let shown = changes_of(self.known_table(&table)?, &rows)?;
                let count = rows.num_rows() as u64;
                self.changed(vec![operation(&table, OperationKind::Insert, rows)], count, shown, returning)
            }
            Conflict::Replace => {
                let shown = last_of_each_key(self.known_table(&table)?, &rows)?;
                let count = shown.len() as u64;
                self.changed(vec![operation(&table, OperationKind::Upsert, rows)], count, shown, returning)
            }
            Conflict::Ignore | Conflict::Update => {
                let incoming = self.incoming(&table, &rows, conflict)?;
                self.merge_rows(&table, incoming, returning, text)
            }
        }
    }

    /// The rows of an INSERT, each key once: the first of several stays if conflicts are ignored, and is an error if they are to be merged.
    fn incoming(
        &self,
        table: &str,
        rows: &RecordBatch,
        conflict: Conflict,
    ) -> Result<ChangeBatch, EngineError> {
        let table = self.known_table(table)?;
        let all = changes_of(table, rows)?;
        let first = first_of_each_key(table, &all)?;
        if conflict == Conflict::Update
            && let Some(row) = (0..first.len()).find(|row| !first.value(*row))
        {
            let keys: Vec<_> = table.key.iter().map(|column| Arc::clone(all.column(*column))).collect();
            let key = table.show_key(&keys, row)?;
            let (table, operation) = (table.name.clone(), "ON CONFLICT DO UPDATE");
            return Err(EngineError::TakenKey { table, operation, key });
        }
        Ok(all.filter(&first)?)
    }

    /// New rows come, rows that are there change, in one step.
    fn merge_rows(
        &mut self,
        table: &str,
        incoming: ChangeBatch,
        returning: Option<&Text<'_>>,
        text: &Text<'_>,
    ) -> Result<StatementOutcome, EngineError> {
        let plans = text.conflicts(self, incoming)?;
        let fresh = self.evaluate(&plans.fresh)?;
        let columns = self.known_table(table)?.columns();
        let schema = Arc::clone(&self.known_table(table)?.schema);
        let fresh = fresh.with_schema(Arc::clone(&loose(&schema)))?;
        let mut operations = Vec::new();
        let mut shown = fresh.clone();
        if let Some(pairs) = &plans.pairs {
            let (old, new) = halves(&self.evaluate(pairs)?, &schema)?;
            operations.push(operation(
                table,
                OperationKind::Weighted,
                weighted(&old.clone().negate()?, &columns)?,
            ));
            operations.push(operation(table, OperationKind::Weighted, weighted(&new, &columns)?));
            shown = ChangeBatch::concat(loose(&schema), &[shown, new])?;
        }
        operations.push(operation(table, OperationKind::Weighted, weighted(&fresh, &columns)?));
        let count = shown.weights().iter().sum::<i64>() as u64;
        self.changed(operations, count, shown, returning)
    }

    /// Minus the old rows, plus the new ones, in one step.
    pub(crate) fn update_rows(
        &mut self,
        table: &str,
        pairs: &Plan,
        old: Option<&Plan>,
        returning: Option<&Text<'_>>,
    ) -> Result<StatementOutcome, EngineError> {
        let table = self.table_name(table)?;
        let columns = self.known_table(&table)?.columns();
        let schema = Arc::clone(&self.known_table(&table)?.schema);
        let pairs = self.evaluate(pairs)?.consolidate()?;
        let (old, new) = match old {
            None => halves(&pairs, &schema)?,
            Some(old) => {
                let old = self.evaluate(old)?.consolidate()?;
                first_matches(&old, &pairs, &schema)?
            }
        };
        let count = old.weights().iter().sum::<i64>() as u64;
        let operations = vec![
            operation(&table, OperationKind::Weighted, weighted(&old.clone().negate()?, &columns)?),
            operation(&table, OperationKind::Weighted, weighted(&new, &columns)?),
        ];
        self.changed(operations, count, new, returning)
    }

    pub(crate) fn delete_rows(
        &mut self,
        table: &str,
        rows: &Plan,
        returning: Option<&Text<'_>>,
    ) -> Result<StatementOutcome, EngineError> {
        let table = self.table_name(table)?;
        let columns = self.known_table(&table)?.columns();
        let schema = loose(&self.known_table(&table)?.schema);
        let rows = self.evaluate(rows)?.consolidate()?.with_schema(schema)?;
        let count = rows.weights().iter().sum::<i64>() as u64;
        let gone = operation(&table, OperationKind::Weighted, weighted(&rows.clone().negate()?, &columns)?);
        self.changed(vec![gone], count, rows, returning)
    }

    fn changed(
        &mut self,
        operations: Vec<Operation>,
        count: u64,
        shown: ChangeBatch,
        returning: Option<&Text<'_>>,
    ) -> Result<StatementOutcome, EngineError> {
        let returned = match returning {
            Some(text) => {
                let query = text.returning(self, shown)?;
                Some(self.select(&query)?)
            }
            None => None,
        };
        let changes = self.apply(&operations).map_err(taken)?;
        Ok(StatementOutcome::Changed { count, changes, returned })
    }
}

/// Two rows with one key, as a user of SQL sees them.
fn taken(error: EngineError) -> EngineError {
    match error {
        EngineError::BadWeight { table, key, weight, .. } if weight > 1 => {
            EngineError::TakenKey { table, operation: "statement", key }
        }
        other => other,
    }
}

/// The schema without NOT NULL: whether rows keep it is for the table to say when they come.
fn loose(schema: &arrow_schema::SchemaRef) -> arrow_schema::SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(arrow_schema::Schema::new(fields.collect::<Vec<_>>()))
}

/// Plain rows of a table as changes.
fn changes_of(table: &Table, rows: &RecordBatch) -> Result<ChangeBatch, EngineError> {
    let columns = rows.columns().iter().map(normal_array).collect::<Result<Vec<_>, _>>()?;
    Ok(ChangeBatch::try_new(loose(&table.schema), columns, vec![1; rows.num_rows()].into())?)
}

/// Which rows are the first with their key.
fn first_of_each_key(table: &Table, rows: &ChangeBatch) -> Result<BooleanArray, EngineError> {
    let keys: Vec<_> = table.key.iter().map(|column| Arc::clone(rows.column(*column))).collect();
    let sorted = sort_rows(&keys, rows.len())?;
    let mut first = vec![true; rows.len()];
    for (place, row) in sorted.rows.iter().enumerate() {
        first[*row as usize] = !sorted.equal[place];
    }
    Ok(first.into())
}

/// The rows of an INSERT OR REPLACE that stay: of several with one key the last.
fn last_of_each_key(table: &Table, rows: &RecordBatch) -> Result<ChangeBatch, EngineError> {
    let all = changes_of(table, rows)?;
    let keys: Vec<_> = table.key.iter().map(|column| Arc::clone(all.column(*column))).collect();
    let sorted = sort_rows(&keys, all.len())?;
    let mut last = vec![true; all.len()];
    for place in 1..sorted.rows.len() {
        if sorted.equal[place] {
            last[sorted.rows[place - 1] as usize] = false;
        }
    }
    Ok(all.filter(&last.into())?)
}

/// Rows as they are and as they will be, out of pairs of both.
fn halves(
    pairs: &ChangeBatch,
    schema: &arrow_schema::SchemaRef,
) -> Result<(ChangeBatch, ChangeBatch), EngineError> {
    let width = schema.fields().len();
    let half = |start: usize| {
        let columns = pairs.columns()[start..start + width].to_vec();
        ChangeBatch::try_new(loose(schema), columns, pairs.weights().clone())
    };
    Ok((half(0)?, half(width)?))
}

/// For each old row, as often as it is there, the first of the new rows that are paired with it. Both are consolidated, so they stand in one order.
fn first_matches(
    old: &ChangeBatch,
    pairs: &ChangeBatch,
    schema: &arrow_schema::SchemaRef,
) -> Result<(ChangeBatch, ChangeBatch), EngineError> {
    let width = schema.fields().len();
    let comparator = RowComparator::try_new(old.columns(), &pairs.columns()[..width])?;
    let (mut places, mut pair) = (Vec::with_capacity(old.len()), 0);
    for row in 0..old.len() {
        while pair < pairs.len() && comparator.compare(row, pair).is_gt() {
            pair += 1;
        }
        places.push(pair as u32);
    }
    let places = UInt32Array::from(places);
    let columns = pairs.columns()[width..]
        .iter()
        .map(|column| take(column, &places, None))
        .collect::<Result<Vec<_>, _>>()
        .map_err(TraceError::from)?;
    let new = ChangeBatch::try_new(loose(schema), columns, old.weights().clone())?;
    Ok((old.clone().with_schema(loose(schema))?, new))
}
