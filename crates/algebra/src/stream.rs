//! Streams as recorded sequences: the reference for `I`, `D` and `z^-1`.
//!
//! The theory writes a stream as a sequence of group elements, one per step. Here such a sequence is a slice, which is what an
//! oracle has after a run. The engine computes the same step by step and keeps only the present.
//!
//! **Promise.** [`differentiate`] undoes [`integrate`] and the other way round; all three functions are linear and causal: an
//! output at a step depends on inputs up to that step only.
//!
//! ```
//! use tailrace_algebra::stream::{delay, differentiate, integrate};
//! let changes = [3_i128, -1, 5];
//! let states = integrate(&changes);
//! assert_eq!(states.as_deref(), Some(&[3, 2, 7][..]));
//! assert_eq!(differentiate(&[3_i128, 2, 7]).as_deref(), Some(&changes[..]));
//! assert_eq!(delay(&changes), [0, 3, -1]);
//! ```

use crate::monoid::{Group, Monoid};

/// The running sum: the state after each change. `None` if a sum cannot be represented.
pub fn integrate<G: Monoid>(changes: &[G]) -> Option<Vec<G>> {
    let mut state = G::zero();
    changes
        .iter()
        .map(|change| {
            state.accumulate(change)?;
            Some(state.clone())
        })
        .collect()
}

/// The change from each state to the next, from zero on. `None` if a difference cannot be represented.
pub fn differentiate<G: Group>(states: &[G]) -> Option<Vec<G>> {
    let before = delay(states);
    states.iter().zip(&before).map(|(now, then)| now.checked_minus(then)).collect()
}

/// The stream one step later, zero first; the last element falls out of the recording.
pub fn delay<G: Monoid>(stream: &[G]) -> Vec<G> {
    let kept = stream.split_last().map_or(stream, |(_, kept)| kept);
    let first = (!stream.is_empty()).then(G::zero);
    first.into_iter().chain(kept.iter().cloned()).collect()
}
