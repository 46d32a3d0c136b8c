//! Runs the futures of object stores for callers that wait.
//!
//! The futures need a reactor, and the caller may itself be a task of some runtime, in which it must not start another one. So one thread of our own
//! drives a runtime, and callers hand it a future and wait for the answer. Requests of several callers run at the same time.

use std::future::Future;
use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;

use futures::channel::oneshot;
use tokio::runtime::{Builder, Handle};

/// A thread with a runtime. It ends when this value is dropped.
pub(crate) struct Runner {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runner {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel());
        let drive = move || {
            let _ = runtime.block_on(stopped);
        };
        let thread = std::thread::Builder::new().name("tailrace-objects".to_owned()).spawn(drive)?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// The value of a future. An error means that it ended without one.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = async move { drop(sender.send(future.await)) };
        drop(self.handle.spawn(task));
        receiver.recv().map_err(|_| io::Error::other("a request to the object store was dropped"))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The last reference may be dropped by a task on the runner's own thread, which cannot wait for itself.
        let here = std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != here) {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn futures_give_their_values_also_inside_another_runtime() {
        let outer = Builder::new_current_thread().build().unwrap();
        let runner = Runner::start().unwrap();
        let value = outer.block_on(async { runner.run(async { 6 * 7 }) });
        assert_eq!(value.unwrap(), 42);
    }

    #[test]
    fn a_future_that_panics_is_an_error_and_the_next_one_runs() {
        let runner = Runner::start().unwrap();
        assert!(runner.run(async { panic!("on purpose") }).is_err() as u8 == 1);
        assert_eq!(runner.run(async { 1 }).unwrap(), 1);
    }
}
