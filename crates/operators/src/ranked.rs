//! Ranked rows: a trace of whole rows sorted by partition, then by an order, then by the row itself.
//!
//! It is the state of the operators that look at positions (top-k, window). A column that is part of the partition or of a plain ascending
//! order is not kept twice. Ties of the order are broken by the columns that are left, from left to right: since rows that tie agree in all other
//! columns, that is the order of the whole row. So positions are a function of the Z-set, whatever the order of arrival.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema};
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, IndexedBatch, Layout, Spine};

use crate::Scalar;
use crate::ordering::{OrderBy, Ordering};
use crate::versions::{Place, Versions};

/// Rows by partition and order.
pub struct Ranked {
    partition: Vec<Scalar>,
    ordering: Arc<Ordering>,
    /// Input columns that stand behind the order.
    rest: Vec<usize>,
    /// Per input column its place among the kept columns.
    places: Vec<usize>,
    /// Number of columns of partition and order.
    decisive: usize,
    pub(crate) spine: Spine,
}

impl Ranked {
    /// For rows of the schema `input`.
    pub(crate) fn new(
        partition: &[Scalar],
        order: &[OrderBy],
        input: &Schema,
    ) -> Result<Self, OperatorError> {
        let ordering = Ordering::new(order)?;
        let mut passed: Vec<Option<usize>> = partition.iter().map(Scalar::as_column).collect();
        passed.extend(ordering.passed());
        let decisive = passed.len();
        let rest: Vec<usize> =
            (0..input.fields().len()).filter(|column| !passed.contains(&Some(*column))).collect();
        passed.extend(rest.iter().map(|column| Some(*column)));
        let place =
            |column: usize| passed.iter().position(|known| *known == Some(column)).unwrap_or(decisive);
        let places = (0..input.fields().len()).map(place).collect();
        let keys = partition
            .iter()
            .enumerate()
            .map(|(index, key)| Field::new(format!("key_{index}"), key.data_type().clone(), true));
        let kept = rest.iter().map(|column| input.field(*column).clone());
        let fields: Vec<Field> = keys.chain(ordering.fields()).chain(kept).collect();
        let layout = Layout::rows(Arc::new(Schema::new(fields)), partition.len())?;
        Ok(Self {
            partition: partition.to_vec(),
            ordering: Arc::new(ordering),
            rest,
            places,
            decisive,
            spine: Spine::new(layout),
        })
    }

    /// The same with empty state.
    pub(crate) fn fresh(&self) -> Self {
        Self {
            partition: self.partition.clone(),
            ordering: Arc::clone(&self.ordering),
            rest: self.rest.clone(),
            places: self.places.clone(),
            decisive: self.decisive,
            spine: Spine::new(Arc::clone(self.spine.layout())),
        }
    }

    /// How many leading columns say where a row stands, ties aside.
    pub(crate) fn decisive(&self) -> usize {
        self.decisive
    }

    /// The rows of a change, sorted.
    pub(crate) fn index(&self, batch: &ChangeBatch) -> Result<Arc<IndexedBatch>, OperatorError> {
        let mut columns =
            self.partition.iter().map(|key| key.evaluate(batch)).collect::<Result<Vec<_>, _>>()?;
        columns.extend(self.ordering.evaluate(batch)?);
        columns.extend(self.rest.iter().map(|column| Arc::clone(batch.column(*column))));
        let rows =
            ChangeBatch::try_new(Arc::clone(self.spine.layout().schema()), columns, batch.weights().clone())?;
        let all: Vec<usize> = (0..rows.columns().len()).collect();
        Ok(Arc::new(IndexedBatch::from_changes(self.spine.layout(), &rows, &all)?))
    }

    /// Both versions at the partitions of a change, and their number.
    pub(crate) fn versions(&self, delta: &Arc<IndexedBatch>) -> Result<(Versions, usize), OperatorError> {
        let starts = delta.runs()?;
        Ok((Versions::at(self.spine.snapshot(), delta, delta.key(), &starts)?, starts.len() - 1))
    }

    /// The columns that say where the rows at `places` stand in their partitions, ties aside.
    pub(crate) fn standing(
        &self,
        versions: &Versions,
        places: &[Place],
    ) -> Result<Vec<ArrayRef>, OperatorError> {
        let schema = self.spine.layout().schema();
        (self.partition.len()..self.decisive)
            .map(|kept| versions.gather(kept, places, schema.field(kept).data_type()))
            .collect()
    }

    /// The input columns of the rows at `places`.
    pub(crate) fn rows(&self, versions: &Versions, places: &[Place]) -> Result<Vec<ArrayRef>, OperatorError> {
        (0..self.places.len()).map(|column| self.column(versions, places, column)).collect()
    }

    /// One input column of the rows at `places`.
    pub(crate) fn column(
        &self,
        versions: &Versions,
        places: &[Place],
        column: usize,
    ) -> Result<ArrayRef, OperatorError> {
        let kept = self.places[column];
        versions.gather(kept, places, self.spine.layout().schema().field(kept).data_type())
    }
}
