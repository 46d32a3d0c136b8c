//! Live views: many of them over one table, their content and its hash, branches and merges. One file a claim; expected rows come from a plain model of the tables, or
//! from a database that saw the tables as one change.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say so")]

mod model;

mod branches_go_their_own_way;
mod hashes_follow_the_content;
mod many_views_cost_what_changes;
mod merges_are_one_step_or_nothing;
