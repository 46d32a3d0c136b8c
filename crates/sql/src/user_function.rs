//! Functions of the user inside expressions: Arrow arrays in, one array out.

use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::tree_node::TreeNode;
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use tailrace_operators::Scalar;
use tailrace_trace::external_array;

/// Any error that a function of the user may raise.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The function itself: arrays in external form and the number of rows.
pub type ArrayFunction =
    Arc<dyn Fn(&[ArrayRef], usize) -> std::result::Result<ArrayRef, BoxError> + Send + Sync>;

/// A function over whole rows: gives output rows and, for each, the input row that it comes from.
pub type RowFunction =
    Arc<dyn Fn(&RecordBatch) -> std::result::Result<(RecordBatch, UInt32Array), BoxError> + Send + Sync>;

/// A function of the user with its declared result.
#[derive(Clone)]
pub struct UserFunction {
    /// Its name in errors and plans.
    pub name: String,
    /// The type of its result.
    pub returns: DataType,
    /// Whether its result may be NULL although no argument is.
    pub nullable: bool,
    /// The code.
    pub function: ArrayFunction,
    /// Tells functions apart, also those of one name: equal for calls of the same one, and of no other as long as `function` lives.
    pub identity: usize,
}

/// A call of the function.
pub fn user_function(function: UserFunction, args: Vec<Expr>) -> Expr {
    let implementation =
        Implementation { signature: Signature::any(args.len(), Volatility::Immutable), function };
    Arc::new(ScalarUDF::new_from_impl(implementation)).call(args)
}

/// A function of the user under the name by which a text calls it.
#[derive(Clone)]
pub struct NamedFunction(pub(crate) Arc<ScalarUDF>);

impl NamedFunction {
    /// A function that takes arguments of these types; one without a type is taken as it comes.
    pub fn new(function: UserFunction, takes: &[Option<DataType>]) -> Self {
        let typed: Option<Vec<DataType>> = takes.iter().cloned().collect();
        let signature = match typed {
            Some(types) => Signature::exact(types, Volatility::Immutable),
            None => Signature::any(takes.len(), Volatility::Immutable),
        };
        Self(Arc::new(ScalarUDF::new_from_impl(Implementation { signature, function })))
    }
}

/// Whether an expression calls a function of the user, which may cost more than all the rest of a step.
pub(crate) fn calls_user_function(scalar: &Scalar) -> bool {
    let is_call = |expr: &Arc<dyn PhysicalExpr>| {
        let function = expr.downcast_ref::<ScalarFunctionExpr>().map(|call| call.fun().inner());
        Ok(function.is_some_and(|function| function.downcast_ref::<Implementation>().is_some()))
    };
    scalar.expr().exists(is_call).unwrap_or(true)
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

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = self.function.nullable || args.arg_fields.iter().any(|arg| arg.is_nullable());
        Ok(Arc::new(Field::new(&self.function.name, self.function.returns.clone(), nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| external(arg, rows)).collect::<Result<Vec<_>>>()?;
        let result = (self.function.function)(&arrays, rows).map_err(DataFusionError::External)?;
        self.check(&arrays, &result, rows)?;
        Ok(ColumnarValue::Array(result))
    }
}

impl Implementation {
    fn check(&self, args: &[ArrayRef], result: &ArrayRef, rows: usize) -> Result<()> {
        let name = &self.function.name;
        let wrong = |message: String| Err(DataFusionError::External(message.into()));
        if result.len() != rows {
            return wrong(format!("function '{name}' returned {} values for {rows} rows", result.len()));
        }
        if result.data_type() != &self.function.returns {
            return wrong(format!(
                "function '{name}' returned {}, declared is {}",
                result.data_type(),
                self.function.returns
            ));
        }
        match self.undeclared_null(args, result) {
            Some(row) => wrong(format!(
                "function '{name}' returned NULL for row {row}, but its result is declared NOT NULL and no argument is NULL there"
            )),
            None => Ok(()),
        }
    }

    /// A row for which a function that declares no NULL gives one without having got one.
    fn undeclared_null(&self, args: &[ArrayRef], result: &ArrayRef) -> Option<usize> {
        if self.function.nullable || result.null_count() == 0 {
            return None;
        }
        let given = |row: usize| args.iter().any(|arg| arg.is_null(row));
        (0..result.len()).find(|row| result.is_null(*row) && !given(*row))
    }
}

fn external(arg: &ColumnarValue, rows: usize) -> Result<ArrayRef> {
    let array = arg.to_array(rows)?;
    external_array(&array).map_err(|error| DataFusionError::External(Box::new(error)))
}

impl fmt::Debug for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:x}", self.function.name, self.function.identity)
    }
}

impl PartialEq for Implementation {
    fn eq(&self, other: &Self) -> bool {
        self.function.identity == other.function.identity && self.function.returns == other.function.returns
    }
}

impl Eq for Implementation {}

impl Hash for Implementation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.identity.hash(state);
    }
}
