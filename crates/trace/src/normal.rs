//! The normal form of columns inside the engine, and the plain form outside.
//!
//! Inside, one logical value has one representation: strings and binaries are views (a gather copies 16 bytes, whatever their length),
//! dictionaries are unpacked, floats are canonical (one zero, one NaN), so that equal rows are equal bytes and cancel. Outside, strings are
//! plain `Utf8`, as every Arrow consumer expects. Types are rewritten at every depth, since a list of strings is ordered by the same rules.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
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
    let array = cast_to(array, &target)?;
    Ok(canonical_floats(&array))
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

/// Rewrites the zeros and NaNs of a float column only if there is one to rewrite, so that clean columns keep their buffers.
fn canonical_floats(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => {
            let column = array.as_primitive::<Float64Type>();
            let dirty = |x: &f64| float::canonical(*x).to_bits() != x.to_bits();
            if !column.values().iter().any(dirty) {
                return Arc::clone(array);
            }
            let clean: PrimitiveArray<Float64Type> = column.unary(float::canonical);
            Arc::new(clean)
        }
        DataType::Float32 => {
            let column = array.as_primitive::<Float32Type>();
            let dirty = |x: &f32| float::canonical_f32(*x).to_bits() != x.to_bits();
            if !column.values().iter().any(dirty) {
                return Arc::clone(array);
            }
            let clean: PrimitiveArray<Float32Type> = column.unary(float::canonical_f32);
            Arc::new(clean)
        }
        _ => Arc::clone(array),
    }
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
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| inner_field(field, rewrite)).collect()),
        other => other.clone(),
    }
}
