//! A batch in a file: blocks of sorted rows, each an [`IndexedBatch`] over a cached page when somebody looks at it.
//!
//! Kernels work on blocks as they work on batches in memory; this file only chooses which blocks to load. A probe goes by the index of key bounds, then asks the
//! filters, and loads what is left. What is held in memory is the index, some bytes a block; pages live in the cache, or as long as somebody reads them.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_select::take::take;
use tailrace_storage::{Backend, BatchFile, Cache, FileSummary};

use crate::file_columns::{file_schema, from_array};
use crate::key_bytes::{ENCODING, KeyBytes, hash};
use crate::{BatchRef, IndexedBatch, Layout, TraceError};

/// A sorted, consolidated, immutable batch in a file. Clones share it.
#[derive(Clone, Debug)]
pub struct FileBatch {
    layout: Arc<Layout>,
    file: BatchFile,
    keys: Arc<KeyBytes>,
    /// Whether the index and the filters are in our encoding.
    indexed: bool,
    mass: i64,
}

impl FileBatch {
    /// Opens a batch of this layout; a file of another one is refused.
    pub fn open(
        backend: &dyn Backend,
        cache: &Arc<Cache>,
        summary: &FileSummary,
        layout: &Arc<Layout>,
    ) -> Result<Self, TraceError> {
        let file = BatchFile::open_expected(backend, cache, summary)?;
        let expected = file_schema(layout);
        if file.schema().fields() != expected.fields() {
            let (file, found) = (summary.name.to_string(), format!("{:?}", file.schema().fields()));
            return Err(TraceError::OtherLayout {
                file,
                expected: format!("{:?}", expected.fields()),
                found,
            });
        }
        let note = Note::read(file.extra()).filter(|note| note.key_len == layout.key_len() as u32);
        let note = note.ok_or_else(|| TraceError::OtherLayout {
            file: summary.name.to_string(),
            expected: format!("a key of {} columns", layout.key_len()),
            found: format!("{:?}", file.extra()),
        })?;
        let keys = Arc::new(KeyBytes::new(layout.schema(), layout.key_len()));
        let (layout, indexed) = (Arc::clone(layout), note.encoding == ENCODING);
        Ok(Self { layout, file, keys, indexed, mass: note.mass })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.file.rows() as usize
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.file.rows() == 0
    }

    /// Columns, key and diffs.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The sum of absolute weights.
    pub fn mass(&self) -> i64 {
        self.mass
    }

    /// What a manifest says about the file.
    pub fn summary(&self) -> FileSummary {
        self.file.summary()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.file.blocks().len()
    }

    /// A block as a batch: its rows come after those of all blocks before.
    pub fn block(&self, number: usize) -> Result<BatchRef, TraceError> {
        self.batch_of(self.file.block(number)?.columns())
    }

    /// All blocks in order, read ahead.
    pub fn scan(&self) -> impl Iterator<Item = Result<BatchRef, TraceError>> + '_ {
        self.file.scan().map(|block| self.batch_of(block?.columns()))
    }

    /// The blocks that may hold a key of the probe: `keys` are key columns, sorted, with runs that begin at `starts` (as [`IndexedBatch::runs`] gives them).
    /// A key that has rows here is in one of them; the others were not loaded.
    pub fn blocks_of(&self, keys: &[ArrayRef], starts: &[u32]) -> Result<Vec<BatchRef>, TraceError> {
        let wanted = self.numbers_of(keys, starts)?;
        wanted.into_iter().map(|number| self.block(number)).collect()
    }

    /// The numbers of those blocks.
    pub fn numbers_of(&self, keys: &[ArrayRef], starts: &[u32]) -> Result<Vec<usize>, TraceError> {
        let rows = UInt32Array::from(starts[..starts.len().saturating_sub(1)].to_vec());
        let firsts =
            keys.iter().map(|key| Ok(take(key, &rows, None)?)).collect::<Result<Vec<_>, TraceError>>()?;
        let encoded = self.keys.encode(&firsts, rows.len())?.filter(|_| self.indexed);
        let Some(encoded) = encoded else { return Ok((0..self.blocks()).collect()) };
        let mut wanted: BTreeSet<usize> = BTreeSet::new();
        for key in encoded.as_binary_view().iter().flatten() {
            for number in self.file.blocks_between(key, key) {
                if !wanted.contains(&number) && self.file.may_contain(number, hash(key))? {
                    wanted.insert(number);
                }
            }
        }
        Ok(wanted.into_iter().collect())
    }

    /// The first block whose keys reach up to the key at `row`; no row before it has that key or a greater one.
    pub(crate) fn first_block_upto(&self, key: &[ArrayRef], row: usize) -> Result<usize, TraceError> {
        let one: Vec<ArrayRef> = key.iter().map(|column| column.slice(row, 1)).collect();
        let encoded = self.keys.encode(&one, 1)?.filter(|_| self.indexed);
        let Some(encoded) = encoded else { return Ok(0) };
        let key = encoded.as_binary_view().value(0);
        Ok(self.file.blocks().partition_point(|block| block.last_key() < key))
    }

    fn batch_of(&self, columns: &[ArrayRef]) -> Result<BatchRef, TraceError> {
        let (rows, diffs) = columns.split_at(self.layout.schema().fields().len());
        let kinds = self.layout.diffs().iter();
        let diffs =
            kinds.zip(diffs).map(|(kind, array)| from_array(*kind, array)).collect::<Result<_, _>>()?;
        Ok(Arc::new(IndexedBatch::from_sorted(&self.layout, rows.to_vec(), diffs)?))
    }
}

/// What a file of a batch has in its footer: the encoding of keys, the length of the key, and the sum of absolute weights.
pub(crate) struct Note {
    pub encoding: u32,
    pub key_len: u32,
    pub mass: i64,
}

impl Note {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let parts = [&self.encoding.to_le_bytes()[..], &self.key_len.to_le_bytes(), &self.mass.to_le_bytes()];
        parts.concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (encoding, rest) = bytes.split_first_chunk::<4>()?;
        let (key_len, mass) = rest.split_first_chunk::<4>()?;
        Some(Self {
            encoding: u32::from_le_bytes(*encoding),
            key_len: u32::from_le_bytes(*key_len),
            mass: i64::from_le_bytes(mass.try_into().ok()?),
        })
    }
}
