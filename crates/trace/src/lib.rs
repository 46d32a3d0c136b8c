//! Columnar Z-sets: change batches, indexed batches and the spines that keep them.
//!
//! A [`ChangeBatch`] flows between operators: Arrow columns and weights in any order. An [`IndexedBatch`] is kept: sorted, consolidated,
//! immutable. A [`Spine`] holds indexed batches in geometric levels and merges them with bounded work per step; a [`Snapshot`] is its
//! content at one moment, shared and never changed. This crate orders, folds, merges and finds rows; it does not schedule, and it does not know
//! what an operator is.
//!
//! Order: columns compare left to right, ascending, NULL first; floats compare as reals with one zero and one NaN, which is the greatest.

mod arranged;
mod change;
mod column_merge;
mod compare;
mod consolidate;
mod content_hash;
mod cursor;
mod diff;
mod error;
mod file_batch;
mod file_columns;
mod file_cursor;
mod file_merge;
mod file_writer;
mod fixed;
mod indexed;
mod key_bytes;
mod lane;
mod layout;
mod locate;
mod lookup;
mod meet;
mod merge;
mod normal;
mod order_key;
mod packing;
mod radix;
mod recent;
mod snapshot;
mod sort;
mod spine;
mod text_views;
mod unpack;
mod view_merge;
mod word;

pub use arranged::{Arranged, TimedArranged};
pub use change::ChangeBatch;
pub use compare::RowComparator;
pub use consolidate::gather;
pub use content_hash::content_hash;
pub use cursor::{BatchCursor, Entry, GroupCursor, Walk};
pub use diff::{DiffColumn, DiffKind, ExactColumn};
pub use error::TraceError;
pub use file_batch::FileBatch;
pub use file_cursor::FileCursor;
pub use file_merge::FileMerger;
pub use file_writer::FileBatchWriter;
pub use indexed::{BatchRef, IndexedBatch};
pub use layout::Layout;
pub use locate::{locate, run_of};
pub use lookup::lookup_sums;
pub use meet::meet;
pub use merge::Merger;
pub use normal::{external_array, external_schema, external_type, normal_array, normal_schema, normal_type};
pub use order_key::{OrderKey, OrderTerm};
pub use recent::Recent;
pub use snapshot::Snapshot;
pub use sort::{Sorted, sort_rows};
pub use spine::{Choice, Spine, choose};
pub use text_views::normal_concat;
