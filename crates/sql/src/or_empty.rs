//! `array_or_empty(list)`: the list, or an empty one where it is NULL. What `array(SELECT ...)` gives of no rows.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, UInt32Array};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::arrow::buffer::OffsetBuffer;
use datafusion_common::arrow::compute::take;
use datafusion_common::{Result, plan_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The function's name.
pub(crate) const OR_EMPTY: &str = "array_or_empty";

/// The function.
pub(crate) fn or_empty() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(OrEmpty { signature: Signature::any(1, Volatility::Immutable) }))
}

#[derive(Debug)]
struct OrEmpty {
    signature: Signature,
}

impl ScalarUDFImpl for OrEmpty {
    fn name(&self) -> &str {
        OR_EMPTY
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match &args[0] {
            list @ DataType::List(_) => Ok(list.clone()),
            other => plan_err!("{OR_EMPTY} takes a list, got {other}"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let list = self.return_type(&[args.arg_fields[0].data_type().clone()])?;
        Ok(Arc::new(Field::new(self.name(), list, false)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lists = args.args[0].to_array(args.number_rows)?;
        Ok(ColumnarValue::Array(without_nulls(&lists)?))
    }
}

/// The same lists. A NULL spans no elements in what an aggregate or a join gives; where one does, its elements are left out.
fn without_nulls(lists: &ArrayRef) -> Result<ArrayRef> {
    if lists.null_count() == 0 {
        return Ok(Arc::clone(lists));
    }
    let lists = lists.as_list::<i32>();
    let (field, offsets, values, _) = lists.clone().into_parts();
    let hidden = (0..lists.len()).any(|row| lists.is_null(row) && offsets[row] != offsets[row + 1]);
    if !hidden {
        return Ok(Arc::new(ListArray::try_new(field, offsets, values, None)?));
    }
    let indices = UInt32Array::from_iter_values(
        (0..lists.len())
            .filter(|row| lists.is_valid(*row))
            .flat_map(|row| offsets[row] as u32..offsets[row + 1] as u32),
    );
    let lengths =
        (0..lists.len()).map(|row| if lists.is_null(row) { 0 } else { lists.value_length(row) as usize });
    let values = take(&values, &indices, None)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(field, offsets, values, None)?))
}

impl PartialEq for OrEmpty {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for OrEmpty {}

impl Hash for OrEmpty {
    fn hash<H: Hasher>(&self, state: &mut H) {
        OR_EMPTY.hash(state);
    }
}
