//! Batch files: immutable files of sorted rows in blocks of Arrow columns. `docs/format.md` has every byte.

mod archive;
mod batch_file;
mod batch_writer;
mod block;
mod columns;
mod error;
mod filter;
mod footer;
mod frame;
mod page;
mod scan;
mod schema;

pub use batch_file::{BatchFile, BlockEntry, FileSummary};
pub use batch_writer::{BatchWriter, NewBlock};
pub use block::Block;
pub use error::{FileError, Part};
pub use filter::FilterPage;
pub use scan::{BlockScan, ahead};

pub(crate) use page::PAGE_LIMIT;
