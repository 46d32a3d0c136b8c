//! A circuit breaker: after enough failures in a row calls are refused at once, instead of each waiting for a backend that is dead.
//!
//! Closed, it counts failures. Open, it refuses until it has rested. Then it lets one call through as a trial: success closes it, failure opens it
//! again. It is a state machine over times that are handed in; it holds no clock and no lock.

use std::time::Duration;

/// When to refuse, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Failures in a row that open the breaker.
    pub failures: u32,
    /// How long it stays open before a trial.
    pub rest: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { failures: 16, rest: Duration::from_secs(10) }
    }
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Go,
    /// It may not.
    Refuse {
        /// Failures in a row so far.
        failures: u32,
        /// How long until the next trial.
        wait: Duration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Duration },
    Trial { until: Duration },
}

/// The state of one backend.
#[derive(Clone, Debug)]
pub struct Breaker {
    policy: BreakerPolicy,
    failures: u32,
    state: State,
}

impl Breaker {
    /// A closed breaker.
    pub fn new(policy: BreakerPolicy) -> Self {
        Self { policy, failures: 0, state: State::Closed }
    }

    /// Asks for a call. Who is let through reports how it went. A trial that never reports is given up after another rest.
    pub fn admit(&mut self, now: Duration) -> Admission {
        match self.state {
            State::Closed => Admission::Go,
            State::Open { until } | State::Trial { until } if now < until => {
                Admission::Refuse { failures: self.failures, wait: until - now }
            }
            State::Open { .. } | State::Trial { .. } => {
                self.state = State::Trial { until: now + self.policy.rest };
                Admission::Go
            }
        }
    }

    /// A call has succeeded.
    pub fn succeeded(&mut self) {
        (self.failures, self.state) = (0, State::Closed);
    }

    /// A call has failed; tells whether the breaker opened because of it.
    pub fn failed(&mut self, now: Duration) -> bool {
        self.failures = self.failures.saturating_add(1);
        let was_open = self.state != State::Closed;
        if was_open || self.failures >= self.policy.failures {
            self.state = State::Open { until: now + self.policy.rest };
        }
        !was_open && self.state != State::Closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: Duration = Duration::from_secs(10);

    fn opened() -> Breaker {
        let mut breaker = Breaker::new(BreakerPolicy { failures: 2, rest: REST });
        assert!(!breaker.failed(Duration::ZERO));
        assert!(breaker.failed(Duration::ZERO));
        breaker
    }

    #[test]
    fn failures_in_a_row_open_it_and_a_success_starts_over() {
        let mut breaker = Breaker::new(BreakerPolicy { failures: 2, rest: REST });
        breaker.failed(Duration::ZERO);
        breaker.succeeded();
        breaker.failed(Duration::ZERO);
        assert_eq!(breaker.admit(Duration::ZERO), Admission::Go);
        let mut breaker = opened();
        let second = Duration::from_secs(1);
        assert_eq!(breaker.admit(second), Admission::Refuse { failures: 2, wait: REST - second });
    }

    #[test]
    fn after_a_rest_one_trial_decides() {
        let mut breaker = opened();
        assert_eq!(breaker.admit(REST), Admission::Go);
        assert_eq!(breaker.admit(REST), Admission::Refuse { failures: 2, wait: REST });
        assert!(!breaker.failed(REST));
        assert!(matches!(breaker.admit(REST), Admission::Refuse { .. }));
        assert_eq!(breaker.admit(REST * 2), Admission::Go);
        breaker.succeeded();
        assert_eq!(breaker.admit(REST * 2), Admission::Go);
        assert_eq!(breaker.admit(REST * 2), Admission::Go);
    }
}
