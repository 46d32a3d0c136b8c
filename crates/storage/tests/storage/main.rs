//! Tests of storage; each file holds one claim, which is its name.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod backends_behave_alike;
mod blocks_are_not_copied;
mod broken_calls_end_well;
mod caches_are_bounded_and_load_once;
mod columns;
mod damage_is_found;
mod directories_have_one_owner;
mod failed_calls_are_repeated;
mod files_give_back_what_was_written;
mod filters_and_keys_find_the_block;
mod golden_files_open;
mod hostile_bytes_do_no_harm;
mod links_and_strange_files_are_refused;
mod logs_give_back_what_was_acknowledged;
mod manifests_commit_whole;
mod samples;
