//! Time as a value that is handed in: what waits and what expires asks a clock, so that tests do neither.

use std::fmt::Debug;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A clock that only runs forward.
pub trait Clock: Debug + Send + Sync {
    /// Time since some moment in the past.
    fn now(&self) -> Duration;
    /// Waits.
    fn sleep(&self, duration: Duration);
}

/// The clock of the machine.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// A clock that moves only when someone sleeps by it, and then at once.
#[derive(Debug, Default)]
pub struct ManualClock(Mutex<Duration>);

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn sleep(&self, duration: Duration) {
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) += duration;
    }
}
