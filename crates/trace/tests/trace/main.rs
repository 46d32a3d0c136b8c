//! Tests of columnar Z-sets: one file a behaviour, its name is the claim.
//!
//! What is expected comes from plain values: columns are read into [`columns::Value`]s, which compare as their definition says, and summed in the
//! reference Z-set of the algebra.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod columns;
mod random;

mod choosing_looks_at_sizes_alone;
mod consolidating_equals_the_reference;
mod content_hashes_add_up;
mod files_hold_batches;
mod locating_finds_what_a_scan_finds;
mod lookups_add_up_all_batches;
mod merging_equals_consolidating_both;
mod normal_form_leads_back;
mod order_keys_order_as_asked;
mod overflowing_weights_are_refused;
mod rows_cost_few_bytes;
mod rows_sort_like_their_values;
mod spines_keep_few_layers_with_bounded_work;
mod spines_sum_to_the_reference;
mod walks_follow_the_sorted_rows;
