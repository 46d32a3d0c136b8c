//! Where in time an operator is evaluated, and how it learns that it should stop.
//!
//! **Promise.** Everything an operator may know about its surroundings comes through [`Context`]: nothing is global, so a
//! circuit can be built once per worker. Time has one number per level of nesting; [`Context::outer`] leads outwards.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tailrace_algebra::{Iteration, Product, Step};

use crate::error::OperatorError;

/// A point on the clock of one scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The step of the outermost circuit.
    pub step: Step,
    /// The iteration of the scope; zero in the outermost one.
    pub iteration: Iteration,
    /// How deep the scope is nested; zero is the outermost one.
    pub depth: u32,
}

/// What an operator is told when it is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The time in the operator's own scope.
    pub moment: Moment,
    /// The flag that asks a long step to end.
    pub interrupt: &'a Interrupt,
    /// The context of the scope around this one.
    pub outer: Option<&'a Context<'a>>,
}

/// A flag that one thread raises to make a step on another one end early, rolled back.
///
/// Clones share the flag. The circuit never lowers it: whoever raised it decides when it is over.
///
/// A host that cannot raise it from another thread (a Python interpreter delivers signals on its main thread only) gives a
/// [poll](Interrupt::set_poll): a function that is asked at every check whether the step should end.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Shared>);

#[derive(Default)]
struct Shared {
    raised: AtomicBool,
    poll: OnceLock<Poll>,
}

/// Asked at every check whether the step should end.
pub type Poll = Box<dyn Fn() -> bool + Send + Sync>;

impl Moment {
    /// A moment of the outermost scope.
    pub fn at_step(step: Step) -> Self {
        Moment { step, ..Moment::default() }
    }

    /// The time of a nested scope: later steps at earlier iterations are neither before nor after.
    pub fn time(self) -> Product<Step, Iteration> {
        Product::new(self.step, self.iteration)
    }

    /// The first moment of a scope nested in the one this moment belongs to.
    pub fn nested(self) -> Self {
        Moment { step: self.step, iteration: Iteration(0), depth: self.depth + 1 }
    }
}

impl<'a> Context<'a> {
    /// A context of the outermost scope.
    pub fn at_step(step: Step, interrupt: &'a Interrupt) -> Self {
        Context { moment: Moment::at_step(step), interrupt, outer: None }
    }

    /// The context of iteration `iteration` of a scope nested in this one.
    pub fn nested(&'a self, iteration: Iteration) -> Context<'a> {
        let moment = Moment { iteration, ..self.moment.nested() };
        Context { moment, interrupt: self.interrupt, outer: Some(self) }
    }

    /// Fails if the step was asked to end. Operators with long loops call it now and then.
    pub fn check(&self) -> Result<(), OperatorError> {
        self.interrupt.check()
    }

    /// The step of the outermost circuit.
    pub fn step(&self) -> Step {
        self.moment.step
    }

    /// The iteration of the operator's scope.
    pub fn iteration(&self) -> Iteration {
        self.moment.iteration
    }
}

impl Interrupt {
    /// Asks the running step to end.
    pub fn raise(&self) {
        self.0.raised.store(true, Ordering::Relaxed);
    }

    /// Allows steps again.
    pub fn clear(&self) {
        self.0.raised.store(false, Ordering::Relaxed);
    }

    /// Whether the running step was asked to end.
    pub fn is_raised(&self) -> bool {
        self.0.raised.load(Ordering::Relaxed)
    }

    /// Fails if the running step was asked to end.
    pub fn check(&self) -> Result<(), OperatorError> {
        if self.0.poll.get().is_some_and(|poll| poll()) {
            self.raise();
        }
        if self.is_raised() { Err(OperatorError::Interrupted) } else { Ok(()) }
    }

    /// Sets the function that is asked at every check; it must be cheap. It is set once, later calls do nothing.
    pub fn set_poll(&self, poll: Poll) {
        let _ = self.0.poll.set(poll);
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interrupt({})", self.is_raised())
    }
}
