//! The weight of each row in the running step: a hash table of rows.
//!
//! **Promise.** Looking a row up and adding to it takes constant time, however many iterations the step has had. Rows are compared byte by byte, so
//! the sums are exact; equal rows in normal form have equal bytes (see `trace/src/normal.rs`).
//!
//! **Why not a sorted trace.** An iteration looks up all its rows, and in a growing relation nearly all of them are new. In a trace that has to be
//! found out in each of its batches; here it is one probe.

use std::hash::BuildHasher;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::SchemaRef;
use hashbrown::{DefaultHashBuilder, HashTable};
use tailrace_trace::TraceError;

/// Slots above which the memory is given back after a step.
const KEPT_SLOTS: usize = 1 << 14;

/// Rows and their weights.
pub(crate) struct StepSums {
    converter: Arc<RowConverter>,
    hasher: DefaultHashBuilder,
    slots: HashTable<Slot>,
    /// The rows, one after the other.
    bytes: Vec<u8>,
    /// The rows of the change at hand; kept to be reused.
    scratch: Rows,
}

struct Slot {
    hash: u64,
    start: usize,
    len: usize,
    weight: i64,
}

impl StepSums {
    pub(crate) fn new(schema: &SchemaRef) -> Result<Self, TraceError> {
        let fields = schema.fields().iter().map(|field| SortField::new(field.data_type().clone()));
        let converter = Arc::new(RowConverter::new(fields.collect())?);
        Ok(Self::with(converter))
    }

    /// Gives each of the `len` rows its weight so far, `None` if it has not come yet, and adds what `each` returns.
    pub(crate) fn add(
        &mut self,
        columns: &[ArrayRef],
        len: usize,
        mut each: impl FnMut(usize, Option<i64>) -> i64,
    ) -> Result<(), TraceError> {
        if len == 0 {
            return Ok(());
        }
        self.scratch.clear();
        self.converter.append(&mut self.scratch, columns)?;
        let Self { hasher, slots, bytes, scratch, .. } = self;
        for row in 0..len {
            let found = bytes_of(scratch, row);
            add_row(slots, bytes, hasher.hash_one(found), found, |before| each(row, before));
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        if self.slots.capacity() > KEPT_SLOTS {
            *self = self.fresh();
        } else {
            self.slots.clear();
            self.bytes.clear();
        }
    }

    /// The same without rows.
    pub(crate) fn fresh(&self) -> Self {
        Self::with(Arc::clone(&self.converter))
    }

    fn with(converter: Arc<RowConverter>) -> Self {
        let (hasher, slots) = (DefaultHashBuilder::default(), HashTable::new());
        let scratch = converter.empty_rows(0, 0);
        Self { converter, hasher, slots, bytes: Vec::new(), scratch }
    }
}

fn add_row(
    slots: &mut HashTable<Slot>,
    bytes: &mut Vec<u8>,
    hash: u64,
    row: &[u8],
    each: impl FnOnce(Option<i64>) -> i64,
) {
    let same = |slot: &Slot| slot.hash == hash && bytes[slot.start..slot.start + slot.len] == *row;
    if let Some(slot) = slots.find_mut(hash, same) {
        slot.weight += each(Some(slot.weight));
        return;
    }
    let weight = each(None);
    if weight != 0 {
        slots
            .insert_unique(hash, Slot { hash, start: bytes.len(), len: row.len(), weight }, |slot| slot.hash);
        bytes.extend_from_slice(row);
    }
}

/// A relation without columns has one row, of no bytes.
fn bytes_of(rows: &Rows, row: usize) -> &[u8] {
    if row < rows.num_rows() { rows.row(row).data() } else { &[] }
}
