//! What to do after a failed call: a pure function of the policy, the number of attempts, the kind of failure and a random number.
//!
//! Waits double from `first` to `longest`. Jitter takes a random part of the wait away, so that many callers that failed together do not come back together.

use std::time::Duration;

/// How often and how patiently a failed call is repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Calls altogether; 1 means that nothing is repeated.
    pub attempts: u32,
    /// The wait before the second attempt.
    pub first: Duration,
    /// No wait is longer.
    pub longest: Duration,
    /// The part of a wait that is left to chance, from 0 (none) to 1 (all of it).
    pub jitter: f64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let (first, longest) = (Duration::from_millis(20), Duration::from_secs(5));
        Self { attempts: 8, first, longest, jitter: 0.5 }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait, then try again.
    Wait(Duration),
    /// Tell the caller.
    GiveUp,
}

impl RetryPolicy {
    /// No second attempt.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// What to do after `attempts` failed calls, the last of which could (`transient`) or could not succeed if repeated; `chance` lies in `0.0..1.0`.
    pub fn after(&self, attempts: u32, transient: bool, chance: f64) -> Next {
        if !transient || attempts >= self.attempts {
            return Next::GiveUp;
        }
        let doublings = attempts.saturating_sub(1).min(31);
        let full = self.first.saturating_mul(1 << doublings).min(self.longest);
        Next::Wait(full.mul_f64(1.0 - self.jitter.clamp(0.0, 1.0) * chance.clamp(0.0, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: 6,
        first: Duration::from_millis(10),
        longest: Duration::from_millis(50),
        jitter: 0.5,
    };

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits: Vec<Next> = (1..=6).map(|attempts| POLICY.after(attempts, true, 0.0)).collect();
        let wait = |millis| Next::Wait(Duration::from_millis(millis));
        assert_eq!(waits, [wait(10), wait(20), wait(40), wait(50), wait(50), Next::GiveUp]);
    }

    #[test]
    fn jitter_only_shortens() {
        assert_eq!(POLICY.after(1, true, 0.5), Next::Wait(Duration::from_micros(7_500)));
        assert_eq!(POLICY.after(1, true, 1.0), Next::Wait(Duration::from_millis(5)));
    }

    #[test]
    fn what_cannot_heal_is_not_repeated() {
        assert_eq!(POLICY.after(1, false, 0.0), Next::GiveUp);
        assert_eq!(RetryPolicy::never().after(1, true, 0.0), Next::GiveUp);
        let endless = RetryPolicy { attempts: u32::MAX, ..POLICY };
        assert_eq!(endless.after(u32::MAX - 1, true, 0.0), Next::Wait(POLICY.longest));
    }
}
