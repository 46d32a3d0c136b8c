//! The settings of storage, each with a default that suits a laptop, checked before anything is opened.

use thiserror::Error;

use crate::{BreakerPolicy, RetryPolicy};

/// Whether pages are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Pages lie on disk as they lie in memory.
    #[default]
    None,
    /// LZ4 for pages that it makes smaller by at least an eighth; others stay as they are.
    Lz4,
}

/// A setting out of range.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[error("storage setting '{setting}' is {found}, expected {least} to {most}")]
pub struct ConfigError {
    /// Its name.
    pub setting: &'static str,
    /// Its value.
    pub found: u64,
    /// The least value that works.
    pub least: u64,
    /// The greatest value that works.
    pub most: u64,
}

/// All settings of storage.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageConfig {
    /// Bytes of pages that the cache holds at most.
    pub cache_bytes: usize,
    /// Parts of the cache that are locked apart; a power of two.
    pub cache_shards: usize,
    /// Bytes of columns that a writer aims to put into a block.
    pub block_bytes: usize,
    /// Blocks that a scan reads ahead; 0 turns it off.
    pub read_ahead: usize,
    /// Threads that read ahead.
    pub concurrency: usize,
    /// Bits of the membership filter for each key; 0 leaves it out.
    pub filter_bits: usize,
    /// Whether pages are compressed.
    pub compression: Compression,
    /// What happens after a failed call.
    pub retry: RetryPolicy,
    /// When a dead backend is no longer asked.
    pub breaker: BreakerPolicy,
    /// Checkpoints that are kept.
    pub keep_versions: usize,
}

impl Default for StorageConfig {
    fn default() -> Self {
        Self {
            cache_bytes: 256 << 20,
            cache_shards: 16,
            block_bytes: 256 << 10,
            read_ahead: 4,
            concurrency: 2,
            filter_bits: 12,
            compression: Compression::None,
            retry: RetryPolicy::default(),
            breaker: BreakerPolicy::default(),
            keep_versions: 2,
        }
    }
}

impl StorageConfig {
    /// Checks every setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        in_range("cache_bytes", self.cache_bytes as u64, 1 << 16, 1 << 46)?;
        in_range("cache_shards", self.cache_shards as u64, 1, 1 << 10)?;
        in_range("block_bytes", self.block_bytes as u64, 1 << 10, 1 << 28)?;
        in_range("read_ahead", self.read_ahead as u64, 0, 1 << 10)?;
        in_range("concurrency", self.concurrency as u64, 1, 1 << 8)?;
        in_range("filter_bits", self.filter_bits as u64, 0, 64)?;
        in_range("retry.attempts", u64::from(self.retry.attempts), 1, u64::from(u32::MAX))?;
        in_range("breaker.failures", u64::from(self.breaker.failures), 1, u64::from(u32::MAX))?;
        in_range("keep_versions", self.keep_versions as u64, 1, u64::MAX)?;
        let shards = self.cache_shards.next_power_of_two() as u64;
        in_range("cache_shards (a power of two)", self.cache_shards as u64, shards, shards)
    }
}

fn in_range(setting: &'static str, found: u64, least: u64, most: u64) -> Result<(), ConfigError> {
    match (least..=most).contains(&found) {
        true => Ok(()),
        false => Err(ConfigError { setting, found, least, most }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_others_are_named() {
        assert_eq!(StorageConfig::default().check(), Ok(()));
        let small = StorageConfig { block_bytes: 1, ..StorageConfig::default() };
        let message = small.check().unwrap_err().to_string();
        assert_eq!(message, "storage setting 'block_bytes' is 1, expected 1024 to 268435456");
        assert!(StorageConfig { cache_shards: 3, ..StorageConfig::default() }.check().is_err());
        assert!(StorageConfig { keep_versions: 0, ..StorageConfig::default() }.check().is_err());
    }
}
