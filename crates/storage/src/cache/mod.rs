//! The cache of pages: one for all files, bounded, in parts that are locked apart, each evicting what was used longest ago.
//!
//! Every page that is read comes through here. If several threads want a page that is not there, one loads it and the others wait for it. A page is handed
//! out as a shared pointer: evicting it does not take it from who reads it. The bound holds for what the cache keeps; a page that is larger than a part is handed out
//! and not kept.

mod ahead;
mod lru;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::file::{Block, FilterPage};
use crate::{Metrics, StorageConfig};
use ahead::{Ahead, Job};
use lru::Lru;

/// A file in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u64);

/// A page of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PageKey {
    pub file: FileId,
    pub page: u32,
}

/// What a page holds.
#[derive(Clone, Debug)]
pub(crate) enum Page {
    /// Rows.
    Block(Arc<Block>),
    /// Filters.
    Filter(Arc<FilterPage>),
}

impl Page {
    fn bytes(&self) -> usize {
        match self {
            Self::Block(block) => block.bytes(),
            Self::Filter(filters) => filters.bytes,
        }
    }
}

/// The cache.
pub struct Cache {
    parts: Box<[CachePart]>,
    files: AtomicU64,
    metrics: Arc<Metrics>,
    ahead: Ahead,
    window: usize,
}

struct CachePart {
    pages: Mutex<Pages>,
    /// Told whenever a page has been loaded, or could not be.
    loaded: Condvar,
}

struct Pages {
    kept: Lru<PageKey, Page>,
    /// Pages that a thread is loading.
    loading: Vec<PageKey>,
}

impl Cache {
    /// A cache as configured.
    pub fn new(config: &StorageConfig, metrics: Arc<Metrics>) -> Arc<Self> {
        let parts = config.cache_shards.max(1);
        let part = |_| CachePart {
            pages: Mutex::new(Pages { kept: Lru::new(config.cache_bytes / parts), loading: Vec::new() }),
            loaded: Condvar::new(),
        };
        Arc::new(Self {
            parts: (0..parts).map(part).collect(),
            files: AtomicU64::new(0),
            metrics,
            ahead: Ahead::new(config.concurrency),
            window: config.read_ahead,
        })
    }

    /// The counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.lock().kept.bytes()).sum()
    }

    /// Pages that are kept.
    pub fn pages(&self) -> usize {
        self.parts.iter().map(|part| part.lock().kept.len()).sum()
    }

    /// Drops all pages.
    pub fn clear(&self) {
        self.parts.iter().for_each(|part| part.lock().kept.retain(|_| false));
    }

    /// A number for a file that was opened.
    pub(crate) fn new_file(&self) -> FileId {
        FileId(self.files.fetch_add(1, Ordering::Relaxed))
    }

    /// Drops the pages of a file that was closed.
    pub(crate) fn forget(&self, file: FileId) {
        self.parts.iter().for_each(|part| part.lock().kept.retain(|key| key.file != file));
    }

    /// Whether a page is here, or on its way.
    pub(crate) fn contains(&self, key: PageKey) -> bool {
        let pages = self.part(key).lock();
        pages.kept.contains(&key) || pages.loading.contains(&key)
    }

    /// A page; `load` is called if it is not here and nobody else is loading it.
    pub(crate) fn get<E>(&self, key: PageKey, load: impl FnOnce() -> Result<Page, E>) -> Result<Page, E> {
        let part = self.part(key);
        if let Some(page) = self.wait_for(part, key) {
            return Ok(page);
        }
        // From here on this thread owes the others an answer, also if `load` panics.
        let debt = Debt { part, key };
        let page = load()?;
        let evicted = part.lock().kept.insert(key, page.clone(), page.bytes());
        drop(debt);
        self.metrics.cache_evictions.add(evicted as u64);
        Ok(page)
    }

    /// Does a job when there is a thread for it; drops it if too many are waiting.
    pub(crate) fn ahead(&self, job: Job) {
        if self.ahead.offer(job) {
            self.metrics.read_aheads.add(1);
        }
    }

    /// How many blocks a scan reads ahead.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// The page, or none if this thread is to load it.
    fn wait_for(&self, part: &CachePart, key: PageKey) -> Option<Page> {
        let mut pages = part.lock();
        let mut waited = false;
        loop {
            if let Some(page) = pages.kept.get(&key) {
                let counter = if waited { &self.metrics.cache_waits } else { &self.metrics.cache_hits };
                counter.add(1);
                return Some(page.clone());
            }
            if !pages.loading.contains(&key) {
                pages.loading.push(key);
                self.metrics.cache_misses.add(1);
                return None;
            }
            waited = true;
            pages = part.loaded.wait(pages).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn part(&self, key: PageKey) -> &CachePart {
        let mixed = (key.file.0 ^ (u64::from(key.page) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ u64::from(key.page)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        &self.parts[(mixed >> 32) as usize % self.parts.len()]
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a cache of {} pages, {} bytes", self.pages(), self.bytes())
    }
}

impl CachePart {
    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A page that this thread has promised to load. However that ends, whoever waits is woken, and loads it itself if it is still not there.
struct Debt<'a> {
    part: &'a CachePart,
    key: PageKey,
}

impl Drop for Debt<'_> {
    fn drop(&mut self) {
        self.part.lock().loading.retain(|key| *key != self.key);
        self.part.loaded.notify_all();
    }
}
