//! Short forms for building circuits in tests: expressions over columns, indexes, joins.
#![allow(dead_code, reason = "each test file uses the part that it needs")]
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, binary, lit};
use tailrace_circuit::{Circuit, StreamId};
use tailrace_operators::{
    Arrange, Distinct, Join, JoinColumn, JoinSpec, Positive, Scalar, SemiJoin, SemiSpec,
};
use tailrace_trace::Layout;

use super::oracle::BuildError;

/// `left op right`.
pub fn compare(
    left: Arc<dyn PhysicalExpr>,
    op: Operator,
    right: Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Arc<dyn PhysicalExpr> {
    binary(left, op, right, schema).unwrap()
}

/// The column at `index`.
pub fn column(index: usize, schema: &Schema) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(schema.field(index).name(), index))
}

/// `column op value`.
pub fn predicate(index: usize, op: Operator, value: impl Into<ScalarValue>, schema: &Schema) -> Scalar {
    let value: ScalarValue = value.into();
    Scalar::new(compare(column(index, schema), op, lit(value), schema), schema).unwrap()
}

/// The fields at `columns`, numbered so that their names differ.
pub fn fields(schema: &Schema, columns: &[usize]) -> Vec<Field> {
    columns.iter().map(|index| schema.field(*index).clone()).collect()
}

/// The schemas one after the other; all fields are nullable.
pub fn beside(schemas: &[&Schema]) -> SchemaRef {
    let fields = schemas.iter().flat_map(|schema| schema.fields().iter().cloned());
    let named = fields.enumerate().map(|(place, field)| {
        field.as_ref().clone().with_name(format!("{}_{place}", field.name())).with_nullable(true)
    });
    Arc::new(Schema::new(named.collect::<Vec<_>>()))
}

/// An index of all columns, those of `key` first; the others follow in order.
pub fn arrange(circuit: &mut Circuit, input: StreamId, key: &[usize]) -> Result<StreamId, BuildError> {
    let width = circuit.schema(input)?.fields().len();
    let rest = (0..width).filter(|column| !key.contains(column));
    let columns: Vec<usize> = key.iter().copied().chain(rest).collect();
    arrange_columns(circuit, input, columns, key.len())
}

/// An index of the key alone.
pub fn arrange_key(circuit: &mut Circuit, input: StreamId, key: &[usize]) -> Result<StreamId, BuildError> {
    arrange_columns(circuit, input, key.to_vec(), key.len())
}

fn arrange_columns(
    circuit: &mut Circuit,
    input: StreamId,
    columns: Vec<usize>,
    key_len: usize,
) -> Result<StreamId, BuildError> {
    let schema = Arc::new(Schema::new(fields(circuit.schema(input)?, &columns)));
    let layout = Layout::rows(Arc::clone(&schema), key_len)?;
    Ok(circuit.add_unary(Box::new(Arrange::new(columns, layout)), input, schema)?)
}

/// All columns of both indexes, left first.
pub fn all_columns(left: &Schema, right: &Schema) -> Vec<JoinColumn> {
    let left = (0..left.fields().len()).map(JoinColumn::Left);
    left.chain((0..right.fields().len()).map(JoinColumn::Right)).collect()
}

/// The join of two indexes with all columns of both; `adapt` changes what is joined how.
pub fn join_indexes(
    circuit: &mut Circuit,
    left: StreamId,
    right: StreamId,
    adapt: impl FnOnce(JoinSpec) -> JoinSpec,
) -> Result<StreamId, BuildError> {
    let (left_schema, right_schema) = (circuit.schema(left)?.clone(), circuit.schema(right)?.clone());
    let spec =
        JoinSpec::new(all_columns(&left_schema, &right_schema), beside(&[&left_schema, &right_schema]));
    let spec = adapt(spec);
    let schema = spec.schema.clone();
    Ok(circuit.add_binary(Box::new(Join::new(spec)), left, right, schema)?)
}

/// The join of two streams on equal columns with all columns of both, each side's key first.
pub fn join(
    circuit: &mut Circuit,
    left: (StreamId, &[usize]),
    right: (StreamId, &[usize]),
) -> Result<StreamId, BuildError> {
    let (left, right) = (arrange(circuit, left.0, left.1)?, arrange(circuit, right.0, right.1)?);
    join_indexes(circuit, left, right, |spec| spec)
}

/// The rows of `left` whose first `key` columns are, or are not, those of a row of `right`.
pub fn semi_join(
    circuit: &mut Circuit,
    (left, right): (StreamId, StreamId),
    key: &[usize],
    (anti, null_matches): (bool, bool),
) -> Result<StreamId, BuildError> {
    let (rows, keys) = (arrange(circuit, left, key)?, arrange_key(circuit, right, key)?);
    let schema = circuit.schema(rows)?.clone();
    let output = (0..schema.fields().len()).collect();
    let spec = SemiSpec { anti, output, schema: schema.clone(), null_matches };
    Ok(circuit.add_binary(Box::new(SemiJoin::new(spec)), rows, keys, schema)?)
}

/// One of each row.
pub fn distinct(circuit: &mut Circuit, input: StreamId) -> Result<StreamId, BuildError> {
    let schema = circuit.schema(input)?.clone();
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    let index = arrange(circuit, input, &columns)?;
    Ok(circuit.add_unary(Box::new(Distinct::new(columns, schema.clone())), index, schema)?)
}

/// The rows of positive weight, indexed in the opposite order of columns.
pub fn positive(circuit: &mut Circuit, input: StreamId) -> Result<StreamId, BuildError> {
    let schema = circuit.schema(input)?.clone();
    let reversed: Vec<usize> = (0..schema.fields().len()).rev().collect();
    let index = arrange(circuit, input, &reversed)?;
    Ok(circuit.add_unary(Box::new(Positive::new(reversed, schema.clone())), index, schema)?)
}
