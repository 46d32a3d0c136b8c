//! What operators with spines have in common: measuring them and giving them back their content.

use tailrace_circuit::{OperatorError, StateSize};
use tailrace_trace::{Snapshot, Spine};

/// The size of a spine.
pub(crate) fn size(spine: &Spine) -> StateSize {
    StateSize { rows: spine.len(), bytes: spine.bytes(), batches: spine.layers() }
}

/// Replaces the content of the spines by one snapshot each.
pub(crate) fn restore<const N: usize>(
    spines: [&mut Spine; N],
    snapshots: Vec<Snapshot>,
) -> Result<(), OperatorError> {
    let found = snapshots.len();
    let snapshots: [Snapshot; N] =
        snapshots.try_into().map_err(|_| OperatorError::WrongState { expected: N, found })?;
    for (spine, snapshot) in spines.into_iter().zip(snapshots) {
        *spine = Spine::from_snapshot(snapshot);
    }
    Ok(())
}
