//! The value of a scalar subquery: NULL of no row, the value of one, an error of more.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Schema};
use datafusion_common::{Result, exec_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use tailrace_operators::Scalar;

use crate::PlanError;

/// The column `value` where the column `count` is at most one; a greater count fails the step.
pub(crate) fn at_most_one(
    value: usize,
    count: usize,
    schema: &Schema,
) -> std::result::Result<Scalar, PlanError> {
    let column =
        |index: usize| Arc::new(Column::new(schema.field(index).name(), index)) as Arc<dyn PhysicalExpr>;
    let function =
        Arc::new(ScalarUDF::new_from_impl(AtMostOne { signature: Signature::any(2, Volatility::Immutable) }));
    let field = Arc::new(schema.field(value).clone().with_nullable(true));
    let options = Arc::new(datafusion_common::config::ConfigOptions::default());
    let call =
        ScalarFunctionExpr::new("at_most_one", function, vec![column(value), column(count)], field, options);
    Ok(Scalar::new(Arc::new(call), schema)?)
}

#[derive(Debug)]
struct AtMostOne {
    signature: Signature,
}

impl ScalarUDFImpl for AtMostOne {
    fn name(&self) -> &str {
        "at_most_one"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        Ok(args[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let counts = args.args[1].to_array(args.number_rows)?;
        let most = counts.as_primitive::<Int64Type>().iter().flatten().max().unwrap_or(0);
        if most > 1 {
            return exec_err!("a subquery used as a value returned {most} rows: it must return at most one");
        }
        Ok(args.args[0].clone())
    }
}

impl PartialEq for AtMostOne {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for AtMostOne {}

impl Hash for AtMostOne {
    fn hash<H: Hasher>(&self, state: &mut H) {
        "at_most_one".hash(state);
    }
}
