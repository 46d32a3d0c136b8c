//! The state of aggregates that look at rows: a trace of keys, order columns and arguments, read before and after a change.
//!
//! Rows that the filter or a NULL argument excludes never enter the trace, so a walk meets only rows that count.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema, SchemaRef};
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Spine};

use super::accumulator::passing;
use super::groups::Groups;
use crate::Scalar;
use crate::ordering::{OrderBy, Ordering, same};
use crate::versions::Versions;

/// Which rows are kept, in which order.
#[derive(Clone, Debug)]
pub(crate) struct RowPlan {
    pub(crate) order: Vec<OrderBy>,
    pub(crate) values: Vec<Scalar>,
    /// Rows with a NULL among the values are left out.
    pub(crate) skip_nulls: bool,
    pub(crate) filter: Option<Scalar>,
}

/// Rows of groups.
pub(crate) struct Rows {
    plan: RowPlan,
    ordering: Arc<Ordering>,
    key_len: usize,
    pub(crate) spine: Spine,
}

/// The rows of a change, sorted.
pub(crate) struct Indexed {
    pub(crate) batch: Arc<IndexedBatch>,
    /// Whether no row of the change was left out.
    pub(crate) whole: bool,
}

impl PartialEq for RowPlan {
    fn eq(&self, other: &Self) -> bool {
        let filters = match (&self.filter, &other.filter) {
            (Some(a), Some(b)) => same(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let values = self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(|(a, b)| same(a, b));
        filters && values && self.skip_nulls == other.skip_nulls && self.order == other.order
    }
}

impl Rows {
    pub(crate) fn new(plan: RowPlan, keys: &[Field]) -> Result<Self, OperatorError> {
        let ordering = Ordering::new(&plan.order)?;
        let values = plan.values.iter().enumerate().map(|(index, value)| {
            Field::new(
                format!("value_{index}"),
                value.data_type().clone(),
                value.nullable() && !plan.skip_nulls,
            )
        });
        let fields: Vec<Field> = keys.iter().cloned().chain(ordering.fields()).chain(values).collect();
        let layout = Layout::rows(Arc::new(Schema::new(fields)), keys.len())?;
        Ok(Self { plan, ordering: Arc::new(ordering), key_len: keys.len(), spine: Spine::new(layout) })
    }

    /// Columns of the kept rows.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.spine.layout().schema()
    }

    /// Where the values stand among the columns of the kept rows.
    pub(crate) fn value_column(&self, value: usize) -> usize {
        self.schema().fields().len() - self.plan.values.len() + value
    }

    pub(crate) fn key_len(&self) -> usize {
        self.key_len
    }

    /// Sorts the rows of a change that count.
    pub(crate) fn index(&self, batch: &ChangeBatch, keys: &[ArrayRef]) -> Result<Indexed, OperatorError> {
        let mut columns = keys.to_vec();
        columns.extend(self.ordering.evaluate(batch)?);
        let values =
            self.plan.values.iter().map(|value| value.evaluate(batch)).collect::<Result<Vec<_>, _>>()?;
        let counted = self.counted(batch, &values)?;
        columns.extend(values);
        let mut rows = ChangeBatch::try_new(Arc::clone(self.schema()), columns, batch.weights().clone())?;
        let whole = counted.is_none();
        if let Some(counted) = counted {
            rows = rows.filter(&BooleanArray::new(counted.into_inner(), None))?;
        }
        let all: Vec<usize> = (0..rows.columns().len()).collect();
        let batch = Arc::new(IndexedBatch::from_changes(self.spine.layout(), &rows, &all)?);
        Ok(Indexed { batch, whole })
    }

    /// Both versions of the trace at the touched groups.
    pub(crate) fn versions(
        &self,
        delta: &Arc<IndexedBatch>,
        groups: &Groups,
    ) -> Result<Versions, OperatorError> {
        Versions::at(self.spine.snapshot(), delta, &groups.keys, &groups.probe())
    }

    /// The same with empty state.
    pub(crate) fn fresh(&self) -> Self {
        let spine = Spine::new(Arc::clone(self.spine.layout()));
        Self { plan: self.plan.clone(), ordering: Arc::clone(&self.ordering), key_len: self.key_len, spine }
    }

    /// Which rows count; None if all do.
    fn counted(&self, batch: &ChangeBatch, values: &[ArrayRef]) -> Result<Option<NullBuffer>, OperatorError> {
        let mut counted = self.plan.filter.as_ref().map(|filter| passing(filter, batch)).transpose()?;
        if self.plan.skip_nulls {
            for value in values {
                counted = NullBuffer::union(counted.as_ref(), value.logical_nulls().as_ref());
            }
        }
        Ok(counted.filter(|counted| counted.null_count() > 0))
    }
}
