//! Faults for tests: which call fails, and how. Calls are numbered from 0 in the order in which they come, so that a test can break each in turn.

use std::io;
use std::sync::Mutex;

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails and has done nothing.
    Before(io::ErrorKind),
    /// It fails, but has done its work.
    After(io::ErrorKind),
    /// A write takes only half of the bytes and says so; other calls fail as `Before`.
    ShortWrite,
    /// A write takes half of the bytes and fails; other calls fail as `Before`.
    TornWrite,
    /// The disk is full.
    NoSpace,
    /// The disk is broken.
    Broken,
}

impl Fault {
    /// Every kind of fault.
    pub const ALL: [Self; 7] = [
        Self::Before(io::ErrorKind::PermissionDenied),
        Self::Before(io::ErrorKind::TimedOut),
        Self::After(io::ErrorKind::Other),
        Self::ShortWrite,
        Self::TornWrite,
        Self::NoSpace,
        Self::Broken,
    ];

    fn error(self) -> io::Error {
        match self {
            Self::Before(kind) | Self::After(kind) => io::Error::new(kind, "injected"),
            Self::NoSpace => io::Error::new(io::ErrorKind::StorageFull, "injected: no space left on device"),
            _ => io::Error::other("injected: input/output error"),
        }
    }
}

#[derive(Debug, Default)]
struct Plan {
    calls: u64,
    faults: Vec<(u64, Fault)>,
    /// From this call on everything fails: the process has died.
    dies_at: Option<u64>,
}

/// A plan of faults, shared by all that it breaks.
#[derive(Debug, Default)]
pub struct Faults(Mutex<Plan>);

impl Faults {
    /// No faults: counts calls.
    pub fn none() -> Self {
        Self::default()
    }

    /// One fault.
    pub fn at(call: u64, fault: Fault) -> Self {
        Self::many(vec![(call, fault)])
    }

    /// Several faults.
    pub fn many(faults: Vec<(u64, Fault)>) -> Self {
        Self(Mutex::new(Plan { faults, ..Plan::default() }))
    }

    /// One fault, and nothing works afterwards.
    pub fn dying_at(call: u64, fault: Fault) -> Self {
        Self(Mutex::new(Plan { faults: vec![(call, fault)], dies_at: Some(call + 1), ..Plan::default() }))
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.plan().calls
    }

    /// Does the work of one call, or what the plan says instead.
    pub fn around<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.next() {
            None => work(),
            Some(fault @ Fault::After(_)) => work().and(Err(fault.error())),
            Some(fault) => Err(fault.error()),
        }
    }

    /// The same for a write, of which a part may be done.
    pub fn around_write(
        &self,
        bytes: &[u8],
        mut work: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        match self.next() {
            None => work(bytes),
            Some(fault @ Fault::After(_)) => work(bytes).and(Err(fault.error())),
            Some(Fault::ShortWrite) if bytes.len() > 1 => work(&bytes[..bytes.len() / 2]),
            Some(fault @ Fault::TornWrite) => work(&bytes[..bytes.len() / 2]).and(Err(fault.error())),
            Some(fault) => Err(fault.error()),
        }
    }

    fn next(&self) -> Option<Fault> {
        let mut plan = self.plan();
        let call = plan.calls;
        plan.calls += 1;
        let dead = plan.dies_at.is_some_and(|dies_at| call >= dies_at);
        let planned = plan.faults.iter().find(|(at, _)| *at == call).map(|(_, fault)| *fault);
        if dead { Some(Fault::Broken) } else { planned }
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
