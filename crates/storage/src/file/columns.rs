//! Arrow arrays as nodes of an archive, and back without a copy.
//!
//! Writing puts just the rows of the array into the block: slices are cut, offsets rebased, the texts of views collected. Reading makes each buffer a
//! slice of the page and has Arrow validate the array in full (offsets, views, UTF-8, nulls), once, when the page comes in; afterwards
//! all kernels trust it.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{DataType, FieldRef, SchemaRef};

use super::archive::{ALIGNMENT, ArchivedBlockArchive, ArchivedNode, ArchivedStretch, Node, Stretch, lines};

/// No array in a block has more rows.
const MOST_ROWS: u64 = u32::MAX as u64;

/// The nodes of a column, parents before children. The type was found storable before.
pub(crate) fn encode(array: &ArrayRef, nodes: &mut Vec<Node>) {
    match array.data_type() {
        DataType::Utf8View => encode_data(&array.as_string_view().gc().to_data(), nodes),
        DataType::BinaryView => encode_data(&array.as_binary_view().gc().to_data(), nodes),
        _ => encode_data(&array.to_data(), nodes),
    }
}

/// The columns of a block over its page, or what is wrong with them.
pub(crate) fn decode(
    page: &Buffer,
    block: &ArchivedBlockArchive,
    schema: &SchemaRef,
) -> Result<Vec<ArrayRef>, String> {
    let mut nodes = block.nodes.iter();
    let rows = u64::from(block.rows.to_native());
    let column = |field: &FieldRef| {
        let named = |reason: String| format!("column '{}': {reason}", field.name());
        let data = decode_node(page, field.data_type(), Some(rows), &mut nodes).map_err(named)?;
        Ok(make_array(data))
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, String>>()?;
    match nodes.next() {
        None => Ok(columns),
        Some(_) => Err("there are more columns than the schema has".to_owned()),
    }
}

fn encode_data(data: &ArrayData, nodes: &mut Vec<Node>) {
    let (start, rows) = (data.offset(), data.len());
    let nulls = data.nulls().filter(|nulls| nulls.null_count() > 0);
    let nulls = nulls.map(|nulls| stretch(&nulls.inner().sliced()));
    let mut node = Node { rows: rows as u64, nulls, buffers: Vec::new() };
    let mut children: Vec<ArrayRef> = Vec::new();
    match data.data_type() {
        DataType::Null => {}
        DataType::Boolean => {
            let values = BooleanBuffer::new(data.buffers()[0].clone(), start, rows);
            node.buffers.push(stretch(&values.sliced()));
        }
        DataType::Utf8 | DataType::Binary => node.buffers = variable::<i32>(data),
        DataType::LargeUtf8 | DataType::LargeBinary => node.buffers = variable::<i64>(data),
        DataType::Utf8View | DataType::BinaryView => {
            node.buffers.push(fixed(data, 16));
            node.buffers.extend(data.buffers()[1..].iter().map(|buffer| stretch(buffer)));
        }
        DataType::List(_) | DataType::Map(..) => children.push(listed::<i32>(data, &mut node)),
        DataType::LargeList(_) => children.push(listed::<i64>(data, &mut node)),
        DataType::FixedSizeList(_, size) => {
            let size = *size as usize;
            children.push(child(data, 0, start * size, rows * size));
        }
        DataType::Struct(_) => {
            children.extend((0..data.child_data().len()).map(|index| child(data, index, start, rows)));
        }
        data_type => node.buffers.push(fixed(data, width_of(data_type))),
    }
    nodes.push(node);
    children.iter().for_each(|child| encode(child, nodes));
}

/// Rows of a child. Sliced as an array: the data of a struct, sliced twice, loses its place.
fn child(data: &ArrayData, index: usize, start: usize, rows: usize) -> ArrayRef {
    make_array(data.child_data()[index].clone()).slice(start, rows)
}

fn stretch(bytes: &[u8]) -> Stretch {
    Stretch { bytes: bytes.len() as u64, lines: lines(bytes) }
}

fn fixed(data: &ArrayData, width: usize) -> Stretch {
    stretch(&data.buffers()[0].as_slice()[data.offset() * width..(data.offset() + data.len()) * width])
}

/// Offsets from zero on, and where the first and the last of them pointed.
fn rebased<O: ArrowNativeType + std::ops::Sub<Output = O>>(data: &ArrayData) -> (Stretch, usize, usize) {
    let all: &[O] = data.buffers()[0].typed_data();
    let zero = [O::default()];
    let offsets = if all.is_empty() { &zero[..] } else { &all[data.offset()..=data.offset() + data.len()] };
    let first = offsets[0];
    let moved: Vec<O> = offsets.iter().map(|offset| *offset - first).collect();
    let last = offsets[offsets.len() - 1];
    (stretch(Buffer::from_vec(moved).as_slice()), first.as_usize(), last.as_usize())
}

fn variable<O: ArrowNativeType + std::ops::Sub<Output = O>>(data: &ArrayData) -> Vec<Stretch> {
    let (offsets, first, last) = rebased::<O>(data);
    vec![offsets, stretch(&data.buffers()[1].as_slice()[first..last])]
}

fn listed<O: ArrowNativeType + std::ops::Sub<Output = O>>(data: &ArrayData, node: &mut Node) -> ArrayRef {
    let (offsets, first, last) = rebased::<O>(data);
    node.buffers.push(offsets);
    child(data, 0, first, last - first)
}

fn width_of(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeBinary(width) => *width as usize,
        other => other.primitive_width().unwrap_or(0),
    }
}

fn decode_node<'a>(
    page: &Buffer,
    data_type: &DataType,
    expected: Option<u64>,
    nodes: &mut impl Iterator<Item = &'a ArchivedNode>,
) -> Result<ArrayData, String> {
    let node = nodes.next().ok_or("it is missing")?;
    let rows = node.rows.to_native();
    if expected.is_some_and(|expected| rows != expected) || rows > MOST_ROWS {
        return Err(format!("{rows} rows, expected {}", expected.unwrap_or(MOST_ROWS)));
    }
    let buffers = node.buffers.iter().map(|buffer| slice(page, buffer)).collect::<Result<Vec<_>, _>>()?;
    let mut children = Vec::new();
    for (child, rows) in child_types(data_type, rows)? {
        children.push(decode_node(page, child.data_type(), rows, nodes)?);
    }
    let builder = ArrayDataBuilder::new(data_type.clone()).len(rows as usize).buffers(buffers);
    let nulls = node.nulls.as_ref().map(|nulls| validity(page, nulls, rows as usize)).transpose()?;
    let data = builder.nulls(nulls).child_data(children).build();
    data.map_err(|error| error.to_string())
}

/// The children of a type, each with the number of rows that it must have, where that follows.
fn child_types(data_type: &DataType, rows: u64) -> Result<Vec<(&FieldRef, Option<u64>)>, String> {
    Ok(match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => vec![(field, None)],
        DataType::FixedSizeList(field, size) => {
            let total = rows.checked_mul(*size as u64).ok_or("a list of too many rows")?;
            vec![(field, Some(total))]
        }
        DataType::Struct(fields) => fields.iter().map(|field| (field, Some(rows))).collect(),
        _ => Vec::new(),
    })
}

fn validity(page: &Buffer, stored: &ArchivedStretch, rows: usize) -> Result<NullBuffer, String> {
    let bits = slice(page, stored)?;
    if bits.len() < rows.div_ceil(8) {
        return Err(format!("{} bytes of validity for {rows} rows", bits.len()));
    }
    Ok(NullBuffer::new(BooleanBuffer::new(bits, 0, rows)))
}

/// The buffer inside the page. That the lines lie there, aligned, was validated; how many bytes of them count was not.
fn slice(page: &Buffer, stored: &ArchivedStretch) -> Result<Buffer, String> {
    let (bytes, lines) = (stored.bytes.to_native(), stored.lines.len());
    if bytes > (lines * ALIGNMENT) as u64 {
        return Err(format!("a buffer of {bytes} bytes in {lines} lines"));
    }
    if bytes == 0 {
        return Ok(page.slice_with_length(0, 0));
    }
    let offset = (stored.lines.as_ptr() as usize).checked_sub(page.as_ptr() as usize);
    match offset {
        Some(offset) if offset + lines * ALIGNMENT <= page.len() => {
            Ok(page.slice_with_length(offset, bytes as usize))
        }
        _ => Err("a buffer lies outside its page".to_owned()),
    }
}
