//! The normal form of columns inside the engine, and the plain form outside.
//!
//! Inside, one logical value has one representation: strings and binaries are views (a gather copies 16 bytes, whatever their length),
//! dictionaries are unpacked, floats are canonical (one zero, one NaN), so that equal rows are equal bytes and cancel. Outside, strings are
//! plain `Utf8`, as every Arrow consumer expects. Types are rewritten at every depth, since a list of strings is ordered by the same rules.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, make_array};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use tailrace_algebra::float;

use crate::TraceError;

/// The type that a column of `data_type` has inside the engine.
pub fn normal_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, value) => normal_type(value),
        DataType::RunEndEncoded(_, value) => normal_type(value.data_type()),
        DataType::LargeList(field) | DataType::ListView(field) | DataType::LargeListView(field) => {
            DataType::List(inner_field(field, normal_type))
        }
        _ => descend(data_type, normal_type),
    }
}

/// The type that a column of the normal `data_type` has at the boundary.
pub fn external_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        _ => descend(data_type, external_type),
    }
}

/// The schema with every field in normal form.
pub fn normal_schema(schema: &Schema) -> SchemaRef {
    rewrite_schema(schema, normal_type)
}

/// The schema with every field in external form.
pub fn external_schema(schema: &Schema) -> SchemaRef {
    rewrite_schema(schema, external_type)
}

/// The column in normal form; shares its buffers wherever the representation allows.
pub fn normal_array(array: &ArrayRef) -> Result<ArrayRef, TraceError> {
    let target = normal_type(array.data_type());
    canonical_floats(&cast_to(array, &target)?)
}

/// The column in external form.
pub fn external_array(array: &ArrayRef) -> Result<ArrayRef, TraceError> {
    cast_to(array, &external_type(array.data_type()))
}

fn cast_to(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, TraceError> {
    if array.data_type() == target {
        return Ok(Arc::clone(array));
    }
    Ok(arrow_cast::cast(array, target)?)
}

/// Rewrites the zeros and NaNs of floats, at every depth, only if there is one to rewrite, so that clean columns keep their buffers.
fn canonical_floats(array: &ArrayRef) -> Result<ArrayRef, TraceError> {
    match array.data_type() {
        DataType::Float64 => {
            let dirty = |x: &f64| float::canonical(*x).to_bits() != x.to_bits();
            Ok(rewritten::<Float64Type>(array, dirty, float::canonical))
        }
        DataType::Float32 => {
            let dirty = |x: &f32| float::canonical_f32(*x).to_bits() != x.to_bits();
            Ok(rewritten::<Float32Type>(array, dirty, float::canonical_f32))
        }
        data_type if data_type.is_nested() && holds_floats(data_type) => {
            let data = array.to_data();
            let child = |child: &ArrayData| Ok(canonical_floats(&make_array(child.clone()))?.to_data());
            let children = data.child_data().iter().map(child).collect::<Result<_, TraceError>>()?;
            Ok(make_array(data.into_builder().child_data(children).build()?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn holds_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float32 | DataType::Float64 => true,
        DataType::List(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => {
            holds_floats(field.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| holds_floats(field.data_type())),
        _ => false,
    }
}

fn rewritten<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    dirty: impl Fn(&T::Native) -> bool,
    canonical: impl Fn(T::Native) -> T::Native,
) -> ArrayRef {
    let column = array.as_primitive::<T>();
    if !column.values().iter().any(dirty) {
        return Arc::clone(array);
    }
    Arc::new(column.unary::<_, T>(canonical))
}

fn rewrite_schema(schema: &Schema, rewrite: fn(&DataType) -> DataType) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(|field| inner_field(field, rewrite)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn inner_field(field: &Field, rewrite: fn(&DataType) -> DataType) -> FieldRef {
    Arc::new(field.clone().with_data_type(rewrite(field.data_type())))
}

fn descend(data_type: &DataType, rewrite: fn(&DataType) -> DataType) -> DataType {
    match data_type {
        DataType::List(field) => DataType::List(inner_field(field, rewrite)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(inner_field(field, rewrite), *size),
        DataType::Map(field, sorted) => DataType::Map(inner_field(field, rewrite), *sorted),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| inner_field(field, rewrite)).collect())
        }
        other => other.clone(),
    }
}
