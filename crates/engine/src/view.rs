//! A view: a plan whose changes are watched.

use tailrace_circuit::StreamId;
use tailrace_sql::Plan;

/// A view of the database.
pub(crate) struct View {
    pub(crate) plan: Plan,
    /// Names of the columns that tell its rows apart, for events.
    pub(crate) key: Vec<String>,
    pub(crate) stream: StreamId,
    /// The index of its rows, once somebody has asked for them.
    pub(crate) content: Option<StreamId>,
}
