//! Fixed-width values: the plain buffer of an array, and the array of a plain buffer. The one place that tells Arrow's primitive types apart.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, downcast_primitive};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;

/// An array of `values`, or None if `data_type` is no primitive type of their width.
pub(crate) fn fixed_array<T: ArrowNativeType>(
    data_type: &DataType,
    values: Vec<T>,
    nulls: Option<NullBuffer>,
) -> Option<ArrayRef> {
    if data_type.primitive_width() != Some(size_of::<T>()) {
        return None;
    }
    let (len, values) = (values.len(), Buffer::from_vec(values));
    macro_rules! make {
        ($t:ty) => {
            Some(typed::<$t>(data_type, ScalarBuffer::new(values, 0, len), nulls))
        };
    }
    downcast_primitive! {
        data_type => (make),
        _ => None
    }
}

/// The values of a primitive array as plain words of their width; empty if it is none.
pub(crate) fn fixed_values<T: ArrowNativeType>(array: &ArrayRef) -> ScalarBuffer<T> {
    macro_rules! take {
        ($t:ty) => {
            array.as_primitive::<$t>().values().inner().clone()
        };
    }
    let values = downcast_primitive! {
        array.data_type() => (take),
        _ => return Vec::new().into()
    };
    ScalarBuffer::new(values, 0, array.len())
}

fn typed<T: ArrowPrimitiveType>(
    data_type: &DataType,
    values: ScalarBuffer<T::Native>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let array = PrimitiveArray::<T>::new(values, nulls);
    if data_type == &T::DATA_TYPE {
        Arc::new(array)
    } else {
        Arc::new(array.with_data_type(data_type.clone()))
    }
}
