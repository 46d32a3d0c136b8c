//! Scalar expressions over change batches: DataFusion's vectorised `PhysicalExpr`, with results in normal form.
//!
//! A plain column is passed on without evaluation. Errors of an expression (a division by zero, an overflow, a cast) name the expression and the values
//! of the first row on which it fails, which is searched for only then.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Schema};
use datafusion_common::DataFusionError;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
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
        Self {
            expr,
            column: Some(index),
            data_type: field.data_type().clone(),
            nullable: field.is_nullable(),
        }
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
        self.compute(batch).map_err(|error| self.with_row(error, batch))
    }

    fn compute(&self, batch: &ChangeBatch) -> Result<ArrayRef, OperatorError> {
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
            None => Err(OperatorError::Evaluation {
                message: format!("{self}: expected a boolean, got {}", array.data_type()),
            }),
        }
    }
}

impl Scalar {
    /// The error with the values that the expression reads, of the first row on which it fails.
    fn with_row(&self, error: OperatorError, batch: &ChangeBatch) -> OperatorError {
        let OperatorError::Evaluation { message } = error else { return error };
        let Some(row) = self.first_failing(batch) else { return OperatorError::evaluation(message) };
        let mut read: Vec<usize> =
            collect_columns(&self.expr).into_iter().map(|column| column.index()).collect();
        read.sort_unstable();
        let value = |column: usize| {
            let text = array_value_to_string(batch.column(column), row).unwrap_or_default();
            let null = batch.column(column).is_null(row);
            format!("{}={}", batch.schema().field(column).name(), if null { "NULL" } else { &text })
        };
        let values: Vec<String> = read.into_iter().map(value).collect();
        OperatorError::evaluation(format!("{message} in the row with {}", values.join(", ")))
    }

    /// Searched by halves, the first one first.
    fn first_failing(&self, batch: &ChangeBatch) -> Option<usize> {
        let fails = |start: usize, len: usize| {
            let columns = batch.columns().iter().map(|column| column.slice(start, len)).collect();
            let weights = batch.weights().slice(start, len);
            let part = ChangeBatch::try_new(Arc::clone(batch.schema()), columns, weights);
            part.is_ok_and(|part| self.compute(&part).is_err())
        };
        let (mut start, mut len) = (0, batch.len());
        while len > 1 {
            let half = len / 2;
            if fails(start, half) {
                len = half;
            } else {
                (start, len) = (start + half, len - half);
            }
        }
        (len == 1 && fails(start, 1)).then_some(start)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.expr)
    }
}

/// Tells any two expressions apart that may give different values, so that it serves as an identity. The debug form of an expression alone does
/// not: it names functions, and two functions of a user may have one name. It is also written node by node, as some nodes show their
/// operands twice, which doubles the text at every level.
impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_node(&self.expr, f)
    }
}

/// A node with numbers for its operands, the implementation of the function that it calls, and the operands.
fn write_node(expr: &Arc<dyn PhysicalExpr>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let operands = expr.children();
    if operands.is_empty() {
        return write!(f, "{expr:?}");
    }
    let number = |place: usize| Arc::new(Column::new("", place)) as Arc<dyn PhysicalExpr>;
    match Arc::clone(expr).with_new_children((0..operands.len()).map(number).collect()) {
        Ok(node) => write!(f, "{node:?}")?,
        Err(_) => write!(f, "{expr:?}")?,
    }
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        write!(f, " {:?}", call.fun().inner())?;
    }
    for operand in operands {
        write!(f, " (")?;
        write_node(operand, f)?;
        write!(f, ")")?;
    }
    Ok(())
}

/// An error of a user's function is passed on as it is; all others are told with their expression.
fn failed(expr: &Arc<dyn PhysicalExpr>, error: DataFusionError) -> OperatorError {
    match error {
        DataFusionError::External(error) => OperatorError::Callback(error),
        DataFusionError::Context(_, inner) => failed(expr, *inner),
        error => OperatorError::Evaluation { message: format!("{expr}: {}", error.strip_backtrace()) },
    }
}
