//! The one way into the engine: releases the interpreter, catches panics, maps errors, lets Ctrl-C through.
//!
//! Python delivers signals on its main thread, when that thread asks. While the engine works on it, the engine's interrupt asks for it now and then
//! ([`poll_signals`]): not more often than every 20 ms, so that a step of microseconds pays nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use pyo3::prelude::*;
use tailrace_engine::EngineError;

use crate::error::{Kind, from_engine, raise};

/// How often signals are looked for.
const PERIOD_MILLIS: u64 = 20;

static SIGNAL: Mutex<Option<PyErr>> = Mutex::new(None);

/// Runs `work` without the interpreter's lock.
pub(crate) fn enter<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, EngineError> + Send,
) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(from_engine(py, error)),
        Err(panic) => {
            let message = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(raise(py, Kind::Internal, format!("a defect in the engine: {}", message.unwrap_or_default())))
        }
    }
}

/// Whether a signal handler raised an exception; called by the engine between pieces of work.
pub(crate) fn poll_signals(started: &Instant, last: &AtomicU64) -> bool {
    let now = started.elapsed().as_millis() as u64;
    let before = last.load(Ordering::Relaxed);
    if now < before + PERIOD_MILLIS {
        return false;
    }
    last.store(now, Ordering::Relaxed);
    match Python::attach(|py| py.check_signals()) {
        Ok(()) => false,
        Err(error) => {
            if let Ok(mut signal) = SIGNAL.lock() {
                *signal = Some(error);
            }
            true
        }
    }
}

/// The exception that the signal handler raised.
pub(crate) fn take_signal(_py: Python<'_>) -> Option<PyErr> {
    SIGNAL.lock().ok()?.take()
}
