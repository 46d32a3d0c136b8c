//! Functions of the user inside expressions: Arrow arrays in, one array out.

use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use tailrace_trace::external_array;

/// Any error that a function of the user may raise.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The function itself: arrays in external form and the number of rows.
pub type ArrayFunction = Arc<dyn Fn(&[ArrayRef], usize) -> std::result::Result<ArrayRef, BoxError> + Send + Sync>;

/// A function over whole rows: gives output rows and, for each, the input row that it comes from.
pub type RowFunction = Arc<dyn Fn(&RecordBatch) -> std::result::Result<(RecordBatch, UInt32Array), BoxError> + Send + Sync>;

/// A function of the user with its declared result.
#[derive(Clone)]
pub struct UserFunction {
    /// Its name in errors and plans.
    pub name: String,
    /// The type of its result.
    pub returns: DataType,
    /// Whether its result may be NULL.
    pub nullable: bool,
    /// The code.
    pub function: ArrayFunction,
}

/// A call of the function.
pub fn user_function(function: UserFunction, args: Vec<Expr>) -> Expr {
    let implementation = Implementation { signature: Signature::any(args.len(), Volatility::Immutable), function };
    Arc::new(ScalarUDF::new_from_impl(implementation)).call(args)
}

struct Implementation {
    signature: Signature,
    function: UserFunction,
}

impl ScalarUDFImpl for Implementation {
    fn name(&self) -> &str {
        &self.function.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.function.returns.clone())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(&self.function.name, self.function.returns.clone(), self.function.nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| external(arg, rows)).collect::<Result<Vec<_>>>()?;
        let result = (self.function.function)(&arrays, rows).map_err(DataFusionError::External)?;
        self.check(&result, rows)?;
        Ok(ColumnarValue::Array(result))
    }
}

impl Implementation {
    fn check(&self, result: &ArrayRef, rows: usize) -> Result<()> {
        let name = &self.function.name;
        let wrong = |message: String| Err(DataFusionError::External(message.into()));
        if result.len() != rows {
            return wrong(format!("function '{name}' returned {} values for {rows} rows", result.len()));
        }
        if result.data_type() != &self.function.returns {
            return wrong(format!("function '{name}' returned {}, declared is {}", result.data_type(), self.function.returns));
        }
        if !self.function.nullable && result.null_count() > 0 {
            let row = (0..rows).find(|row| result.is_null(*row)).unwrap_or(0);
            return wrong(format!("function '{name}' returned NULL for row {row}, but its result is declared NOT NULL"));
        }
        Ok(())
    }
}

fn external(arg: &ColumnarValue, rows: usize) -> Result<ArrayRef> {
    let array = arg.to_array(rows)?;
    external_array(&array).map_err(|error| DataFusionError::External(Box::new(error)))
}

impl fmt::Debug for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:p}", self.function.name, Arc::as_ptr(&self.function.function))
    }
}

impl PartialEq for Implementation {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function.function, &other.function.function)
    }
}

impl Eq for Implementation {}

impl Hash for Implementation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.function.function).cast::<()>().hash(state);
    }
}
