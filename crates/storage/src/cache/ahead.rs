//! Threads that read ahead. Reading ahead is a favour: a job is dropped when too many wait, and nobody is told when one fails.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};

/// Something to do ahead of time.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Jobs that may wait, for each thread.
const WAITING: usize = 16;

/// Threads that start with the first job. When this value is dropped they end after the jobs that wait.
pub(crate) struct Ahead {
    threads: usize,
    jobs: OnceLock<SyncSender<Job>>,
}

impl Ahead {
    pub(crate) fn new(threads: usize) -> Self {
        Self { threads, jobs: OnceLock::new() }
    }

    /// Hands a job over, if there is room.
    pub(crate) fn offer(&self, job: Job) -> bool {
        self.jobs.get_or_init(|| start(self.threads)).try_send(job).is_ok()
    }
}

/// A thread that the system does not grant is one thread less; without any, nothing is read ahead.
fn start(threads: usize) -> SyncSender<Job> {
    let (sender, receiver) = sync_channel(WAITING * threads.max(1));
    let receiver = Arc::new(Mutex::new(receiver));
    for number in 0..threads {
        let jobs = Arc::clone(&receiver);
        let thread = std::thread::Builder::new().name(format!("tailrace-ahead-{number}"));
        drop(thread.spawn(move || work(&jobs)));
    }
    sender
}

fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let next = jobs.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).recv();
        let Ok(job) = next else { return };
        job();
    }
}
