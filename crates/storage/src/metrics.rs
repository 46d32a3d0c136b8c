//! Counters of what storage does. Counting takes no lock; a reading is a plain value, not taken at one instant.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// Counters that are added to from any thread.
        #[derive(Debug, Default)]
        pub struct Metrics {
            $($(#[$doc])* pub $name: Counter,)*
        }

        /// A reading of all counters.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Reading {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Metrics {
            /// Reads all counters.
            pub fn read(&self) -> Reading {
                Reading { $($name: self.$name.get(),)* }
            }
        }

        impl Reading {
            /// Names and values, in a fixed order.
            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Reads from a backend.
    reads,
    /// Bytes that were read.
    read_bytes,
    /// Writes to a backend.
    writes,
    /// Bytes that were written.
    written_bytes,
    /// Times that a file was made durable: finished or synced.
    syncs,
    /// Calls that were repeated.
    retries,
    /// Calls that failed for good.
    failures,
    /// Times that a breaker opened.
    trips,
    /// Calls that an open breaker refused.
    refusals,
    /// Pages that were in the cache.
    cache_hits,
    /// Pages that had to be loaded.
    cache_misses,
    /// Pages that another thread was loading already.
    cache_waits,
    /// Pages that left the cache to make room.
    cache_evictions,
    /// Pages that were asked for ahead of their reader.
    read_aheads,
    /// Probes that a filter answered with no.
    filter_rejections,
    /// Probes that a filter let through.
    filter_passes,
}

/// One counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_names_every_counter() {
        let metrics = Metrics::default();
        metrics.reads.add(2);
        metrics.filter_passes.add(3);
        let entries = metrics.read().entries();
        assert_eq!((entries[0], entries[entries.len() - 1]), (("reads", 2), ("filter_passes", 3)));
    }
}
