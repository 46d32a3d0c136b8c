//! The residual of a join: predicates on pairs of rows, asked on the columns that they read and no others.
//!
//! Which pairs pass is known before anything else of them is read, so a join gathers its output once, for the pairs that stay.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, UInt32Array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use tailrace_circuit::OperatorError;
use tailrace_trace::ChangeBatch;

use crate::Scalar;
use crate::filter::keep;
use crate::join::JoinSpec;

/// Predicates over the few columns that they read.
pub(crate) struct Residual {
    /// Those columns, counted among the gathered ones of the join.
    pub(crate) columns: Vec<usize>,
    predicates: Vec<Scalar>,
    /// Those columns, and the place of the pair.
    schema: SchemaRef,
}

impl Residual {
    /// Of a join; None if every pair passes.
    pub(crate) fn of(spec: &JoinSpec) -> Result<Option<Self>, OperatorError> {
        if spec.residual.is_empty() {
            return Ok(None);
        }
        let read = spec.residual.iter().flat_map(|predicate| collect_columns(predicate.expr()));
        let mut columns: Vec<usize> = read.map(|column| column.index()).collect();
        columns.sort_unstable();
        columns.dedup();
        let fields = columns.iter().map(|column| Arc::clone(&spec.gathered_schema.fields()[*column]));
        let place: FieldRef = Arc::new(Field::new("place", DataType::UInt32, false));
        let schema = Arc::new(Schema::new(fields.chain([place]).collect::<Vec<_>>()));
        let moved = |predicate: &Scalar| moved(predicate, &columns, &schema);
        let predicates = spec.residual.iter().map(moved).collect::<Result<_, _>>()?;
        Ok(Some(Self { columns, predicates, schema }))
    }

    /// The places of the pairs that pass, ascending; `columns` are those that are read, one value per pair.
    pub(crate) fn passing(
        &self,
        mut columns: Vec<ArrayRef>,
        pairs: usize,
    ) -> Result<ScalarBuffer<u32>, OperatorError> {
        columns.push(Arc::new(UInt32Array::from_iter_values(0..pairs as u32)));
        let batch = ChangeBatch::try_new(Arc::clone(&self.schema), columns, vec![1; pairs].into())?;
        let kept = keep(&self.predicates, batch, |_| true)?;
        Ok(kept.column(self.columns.len()).as_primitive::<UInt32Type>().values().clone())
    }
}

/// The predicate over the chosen columns.
fn moved(predicate: &Scalar, columns: &[usize], schema: &Schema) -> Result<Scalar, OperatorError> {
    let column = |expr: Arc<dyn PhysicalExpr>| match expr.downcast_ref::<Column>() {
        None => Ok(Transformed::no(expr)),
        Some(column) => {
            let place = columns.binary_search(&column.index()).unwrap_or_default();
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as Arc<dyn PhysicalExpr>))
        }
    };
    let expr = Arc::clone(predicate.expr()).transform_down(column);
    let expr = expr.map_err(|error| OperatorError::evaluation(format!("{predicate}: {error}")))?;
    Scalar::new(expr.data, schema)
}
