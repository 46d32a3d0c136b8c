//! What the tests share: a memory backend, small files, and ways to read them to the end.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringViewArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tailrace_storage::*;

pub fn name(name: &str) -> FileName {
    FileName::new(name).unwrap()
}

pub fn cache(config: &StorageConfig) -> Arc<Cache> {
    Cache::new(config, Arc::new(Metrics::default()))
}

/// A number and a text.
pub fn small_schema() -> SchemaRef {
    let fields = vec![Field::new("id", DataType::Int64, false), Field::new("name", DataType::Utf8View, true)];
    Arc::new(Schema::new(fields))
}

pub fn small_columns(from: i64, rows: i64) -> Vec<ArrayRef> {
    let names = (from..from + rows).map(|id| (id % 3 > 0).then(|| format!("the name of number {id}")));
    vec![
        Arc::new(Int64Array::from_iter_values(from..from + rows)),
        Arc::new(StringViewArray::from_iter(names)),
    ]
}

pub fn key(id: i64) -> [u8; 8] {
    (id as u64 ^ (1 << 63)).to_be_bytes()
}

pub fn hash(id: i64) -> u64 {
    let mixed = (id as u64 ^ 0x1234_5678_9abc_def0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// A file of `blocks` blocks of `rows` rows; ids are even numbers from 0 on, so that odd ones are not there.
pub fn write_small(
    backend: &dyn Backend,
    file: &FileName,
    blocks: i64,
    rows: i64,
    config: &StorageConfig,
) -> Result<FileSummary, FileError> {
    let mut writer = BatchWriter::create(backend, file, &small_schema(), config)?;
    for block in 0..blocks {
        let ids: Vec<i64> = (block * rows..(block + 1) * rows).map(|row| row * 2).collect();
        let names = ids.iter().map(|id| (id % 3 > 0).then(|| format!("the name of number {id}")));
        let names: ArrayRef = Arc::new(StringViewArray::from_iter(names));
        let hashes: Vec<u64> = ids.iter().map(|id| hash(*id)).collect();
        let (first, last) = (key(ids[0]), key(ids[ids.len() - 1]));
        let columns: [ArrayRef; 2] = [Arc::new(Int64Array::from(ids)), names];
        writer.append(NewBlock { columns: &columns, first_key: &first, last_key: &last, hashes: &hashes })?;
    }
    writer.finish(b"extra")
}

/// Everything that can be read from a file, as text; an error if any of it is wrong.
pub fn read_all(backend: &dyn Backend, file: &FileName, cache: &Arc<Cache>) -> Result<String, FileError> {
    let opened = BatchFile::open(backend, cache, file)?;
    opened.verify()?;
    let mut text = format!("{:?} {:?} {:?}\n", opened.schema(), opened.rows(), opened.extra());
    for (number, entry) in opened.blocks().iter().enumerate() {
        let block = opened.block(number)?;
        text += &format!("{:?} {:?} {:?}\n", entry.first_key(), entry.last_key(), block.columns());
        text += &format!(
            "{:?}\n",
            (0..20).map(|id| opened.may_contain(number, hash(id)).unwrap()).collect::<Vec<_>>()
        );
    }
    Ok(text)
}
