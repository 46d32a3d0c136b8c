//! Answers: weighted rows as the plain rows of a result, each copy one row, in the order that the query asks for.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::Schema;
use arrow_select::take::take;
use tailrace_sql::PlannedQuery;
use tailrace_trace::{ChangeBatch, OrderKey, OrderTerm, TraceError, external_array, external_schema};

use crate::EngineError;

/// The shown columns of a query's rows, sorted as it says.
pub(crate) fn answer(rows: &ChangeBatch, query: &PlannedQuery) -> Result<RecordBatch, EngineError> {
    let rows = rows.consolidate()?;
    let order = positions(&rows, query)?;
    let schema = external_schema(&Schema::new(rows.schema().fields()[..query.visible].to_vec()));
    let column =
        |column: &ArrayRef| -> Result<ArrayRef, TraceError> { external_array(&take(column, &order, None)?) };
    let columns = rows.columns()[..query.visible].iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(order.len()));
    Ok(RecordBatch::try_new_with_options(loosened(&schema), columns, &options).map_err(TraceError::from)?)
}

/// Each row as often as its weight says, in order. Rows that tie keep the order of their values, so that an answer is the same every time.
fn positions(rows: &ChangeBatch, query: &PlannedQuery) -> Result<UInt32Array, EngineError> {
    let mut places: Vec<u32> = (0..rows.len() as u32).collect();
    if !query.order.is_empty() {
        let keys = order_keys(rows, query)?;
        let keys = arrow_array::cast::AsArray::as_binary_view(&keys);
        places.sort_by(|a, b| keys.value(*a as usize).cmp(keys.value(*b as usize)));
    }
    let copies = |place: u32| std::iter::repeat_n(place, rows.weights()[place as usize].max(0) as usize);
    Ok(places.into_iter().flat_map(copies).collect::<Vec<_>>().into())
}

fn order_keys(rows: &ChangeBatch, query: &PlannedQuery) -> Result<ArrayRef, EngineError> {
    let term = |(column, descending, nulls_first): &(usize, bool, bool)| OrderTerm {
        data_type: rows.column(*column).data_type().clone(),
        descending: *descending,
        nulls_first: *nulls_first,
    };
    let terms: Vec<OrderTerm> = query.order.iter().map(term).collect();
    let columns: Vec<ArrayRef> =
        query.order.iter().map(|(column, _, _)| Arc::clone(rows.column(*column))).collect();
    Ok(OrderKey::new(&terms)?.encode(&columns, rows.len())?)
}

/// Nullability is a promise of the plan, not of the data: a result makes none.
fn loosened(schema: &Schema) -> Arc<Schema> {
    Arc::new(Schema::new(
        schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect::<Vec<_>>(),
    ))
}
