//! The circuit, tested with operators made for the purpose. One file a claim; `mock` holds the operators, `mock_timed` those
//! for nested scopes. Expected values come from the reference Z-set of `tailrace-algebra` or are counted by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say so")]

mod mock;
mod mock_timed;

mod checkpoints_restore_the_state;
mod contents_equal_the_sum_of_changes;
mod errors_name_the_node;
mod feedback_delays_by_one_step;
mod figures_are_counted;
mod forks_go_their_own_way;
mod graphs_are_drawn;
mod inputs_are_owned_by_the_last_reader;
mod nested_scopes_reach_their_fixed_point;
mod new_nodes_are_filled;
mod nodes_come_and_go;
mod only_what_changed_runs;
mod routers_wake_whom_a_change_concerns;
mod steps_are_atomic;
