//! Chunks of a column put together in normal form: plain texts and binaries become views over the bytes where they lie.
//!
//! One pass writes 16 bytes a value into memory of the right size; the bytes themselves are shared. Other types are brought into normal form chunk by
//! chunk and copied together.
#![expect(
    unsafe_code,
    reason = "views over valid texts are put together without validating every text again"
)]

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, LargeBinaryType, LargeUtf8Type, StringViewType,
    Utf8Type,
};
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBufferBuilder};
use arrow_schema::DataType;
use arrow_select::concat::concat;

use crate::{TraceError, normal_array};

/// All rows of chunks of one type, in normal form.
pub fn normal_concat(chunks: &[&ArrayRef]) -> Result<ArrayRef, TraceError> {
    let views = match chunks.first().map(|chunk| chunk.data_type()) {
        Some(DataType::Utf8) => views::<Utf8Type, StringViewType>(chunks),
        Some(DataType::LargeUtf8) => views::<LargeUtf8Type, StringViewType>(chunks),
        Some(DataType::Binary) => views::<BinaryType, BinaryViewType>(chunks),
        Some(DataType::LargeBinary) => views::<LargeBinaryType, BinaryViewType>(chunks),
        _ => None,
    };
    if let Some(views) = views {
        return Ok(views);
    }
    let normal = chunks.iter().map(|chunk| normal_array(chunk)).collect::<Result<Vec<_>, _>>()?;
    let normal: Vec<&dyn Array> = normal.iter().map(|chunk| chunk.as_ref()).collect();
    Ok(concat(&normal)?)
}

/// None if an offset does not fit into a view.
fn views<T: ByteArrayType, V: ByteViewType>(chunks: &[&ArrayRef]) -> Option<ArrayRef> {
    let chunks: Vec<&GenericByteArray<T>> = chunks.iter().map(|chunk| chunk.as_bytes::<T>()).collect();
    let fits = |chunk: &&GenericByteArray<T>| u32::try_from(chunk.values().len()).is_ok();
    if !chunks.iter().all(fits) {
        return None;
    }
    let len = chunks.iter().map(|chunk| chunk.len()).sum();
    let mut views: Vec<u128> = Vec::with_capacity(len);
    let mut nulls = NullBufferBuilder::new(len);
    let mut blocks: Vec<Buffer> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        append(chunk, blocks.len() as u32, &mut views);
        blocks.push(chunk.values().clone());
        match chunk.nulls() {
            Some(chunk_nulls) => nulls.append_buffer(chunk_nulls),
            None => nulls.append_n_non_nulls(chunk.len()),
        }
    }
    // SAFETY: every view was made of a value of a valid array whose bytes are the block that the view names, at the value's offset and with its length; for
    // texts each such value is valid UTF-8, and `V` is the view type of `T`'s values. Values under a NULL are ranges of the same bytes.
    let array = unsafe { GenericByteViewArray::<V>::new_unchecked(views.into(), blocks, nulls.finish()) };
    Some(Arc::new(array))
}

fn append<T: ByteArrayType>(chunk: &GenericByteArray<T>, block: u32, views: &mut Vec<u128>) {
    let (bytes, offsets) = (chunk.value_data(), chunk.value_offsets());
    views.extend(offsets.windows(2).map(|ends| {
        let (start, end) = (ends[0].as_usize(), ends[1].as_usize());
        make_view(&bytes[start..end], block, start as u32)
    }));
}
