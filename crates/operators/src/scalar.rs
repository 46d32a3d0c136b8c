//! Scalar expressions over change batches: DataFusion's vectorised `PhysicalExpr`, with results in normal form.
//!
//! A plain column is passed on without evaluation. Errors of an expression (a division by zero, an overflow, a cast) name the expression.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType, Schema};
use datafusion_common::DataFusionError;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use tailrace_circuit::OperatorError;
use tailrace_trace::{ChangeBatch, normal_array, normal_type};

/// An expression over the columns of one schema.
#[derive(Clone)]
pub struct Scalar {
    expr: Arc<dyn PhysicalExpr>,
    column: Option<usize>,
    data_type: DataType,
    nullable: bool,
}

impl Scalar {
    /// Binds an expression to its input schema, whose columns are in normal form.
    pub fn new(expr: Arc<dyn PhysicalExpr>, input: &Schema) -> Result<Self, OperatorError> {
        let data_type = normal_type(&expr.data_type(input).map_err(|error| failed(&expr, error))?);
        let nullable = expr.nullable(input).map_err(|error| failed(&expr, error))?;
        let column = expr.downcast_ref::<Column>().map(Column::index);
        Ok(Self { expr, column, data_type, nullable })
    }

    /// The column at `index`.
    pub fn column(index: usize, input: &Schema) -> Self {
        let field = input.field(index);
        let expr = Arc::new(Column::new(field.name(), index));
        Self { expr, column: Some(index), data_type: field.data_type().clone(), nullable: field.is_nullable() }
    }

    /// The type of the result, in normal form.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// Whether the result may be NULL.
    pub fn nullable(&self) -> bool {
        self.nullable
    }

    /// The column that this is, if it is no more than that.
    pub fn as_column(&self) -> Option<usize> {
        self.column
    }

    /// The expression.
    pub fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// One value per row, in normal form.
    pub fn evaluate(&self, batch: &ChangeBatch) -> Result<ArrayRef, OperatorError> {
        if let Some(index) = self.column {
            return Ok(Arc::clone(batch.column(index)));
        }
        let rows = batch.rows()?;
        let value = self.expr.evaluate(&rows).map_err(|error| failed(&self.expr, error))?;
        let array = value.into_array(batch.len()).map_err(|error| failed(&self.expr, error))?;
        Ok(normal_array(&array)?)
    }

    /// A predicate's value per row; NULL stays NULL.
    pub fn evaluate_mask(&self, batch: &ChangeBatch) -> Result<BooleanArray, OperatorError> {
        let array = self.evaluate(batch)?;
        match array.as_boolean_opt() {
            Some(mask) => Ok(mask.clone()),
            None => Err(OperatorError::Evaluation { message: format!("{self}: expected a boolean, got {}", array.data_type()) }),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.expr)
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.expr)
    }
}

/// An error of a user's function is passed on as it is; all others are told with their expression.
fn failed(expr: &Arc<dyn PhysicalExpr>, error: DataFusionError) -> OperatorError {
    match error {
        DataFusionError::External(error) => OperatorError::Callback(error),
        DataFusionError::Context(_, inner) => failed(expr, *inner),
        error => OperatorError::Evaluation { message: format!("{expr}: {}", error.strip_backtrace()) },
    }
}
