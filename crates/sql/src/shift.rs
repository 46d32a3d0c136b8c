//! Checked shifts of 64-bit integers: `x << n` is `x * 2^n` or an error, `x >> n` is `x / 2^n` rounded down, for any `n` of at least 0.
//!
//! Arrow's kernels take the count modulo 64 and drop the bits that fall out: `x << 70` would be `x << 6`, and `1 << 63` negative.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Schema};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, exec_err};
use datafusion_expr::{
    ColumnarValue, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// The checked form of a shift of 64-bit integers; None if the operation is none.
pub(crate) fn checked_shift(
    op: Operator,
    operands: [&Arc<dyn PhysicalExpr>; 2],
    schema: &Schema,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let left = match op {
        Operator::BitwiseShiftLeft => true,
        Operator::BitwiseShiftRight => false,
        _ => return Ok(None),
    };
    for operand in operands {
        if operand.data_type(schema)? != DataType::Int64 {
            return Ok(None);
        }
    }
    let function = Arc::new(ScalarUDF::new_from_impl(Shift::new(left)));
    let args = operands.map(Arc::clone).to_vec();
    let call = ScalarFunctionExpr::try_new(function, args, schema, Arc::new(ConfigOptions::default()))?;
    Ok(Some(Arc::new(call)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Shift {
    left: bool,
    signature: Signature,
}

impl Shift {
    fn new(left: bool) -> Self {
        let signature = Signature::exact(vec![DataType::Int64, DataType::Int64], Volatility::Immutable);
        Self { left, signature }
    }

    fn shifted(&self, value: i64, count: i64) -> Result<i64> {
        let sign = if self.left { "<<" } else { ">>" };
        if count < 0 {
            return exec_err!("{value} {sign} {count}: the count of a shift is at least 0");
        }
        if !self.left {
            return Ok(value >> count.min(63));
        }
        let wide = if value == 0 { Some(0) } else { (count < 64).then(|| i128::from(value) << count) };
        match wide.and_then(|wide| i64::try_from(wide).ok()) {
            Some(shifted) => Ok(shifted),
            None => exec_err!("{value} {sign} {count} does not fit into Int64"),
        }
    }
}

impl ScalarUDFImpl for Shift {
    fn name(&self) -> &str {
        if self.left { "shift_left" } else { "shift_right" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays: Vec<ArrayRef> =
            args.args.iter().map(|arg| arg.to_array(args.number_rows)).collect::<Result<_>>()?;
        let (values, counts) = (arrays[0].as_primitive::<Int64Type>(), arrays[1].as_primitive::<Int64Type>());
        let shift = |(value, count): (Option<i64>, Option<i64>)| match (value, count) {
            (Some(value), Some(count)) => self.shifted(value, count).map(Some),
            _ => Ok(None),
        };
        let shifted = values.iter().zip(counts).map(shift).collect::<Result<Int64Array>>()?;
        Ok(ColumnarValue::Array(Arc::new(shifted)))
    }
}
