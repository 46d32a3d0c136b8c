//! A walk over a group gives its rows over all batches in order, forward or backward, each once with its summed weight, none with zero; a cursor seeks.

use std::sync::Arc;

use arrow_schema::DataType;
use proptest::prelude::*;
use tailrace_algebra::ZSet;
use tailrace_trace::{BatchCursor, GroupCursor, IndexedBatch, Layout, Snapshot, locate};

use crate::columns::{Row, any_type, changes, indexed, ordered, rows, schema, zset_of};
use crate::random::Random;

fn walked(
    batches: &[Arc<IndexedBatch>],
    cursor: &GroupCursor<'_>,
    ranges: &[std::ops::Range<u32>],
    backward: bool,
) -> Vec<(Row, i128)> {
    let rows_of: Vec<Vec<Row>> = batches.iter().map(|batch| rows(batch.columns(), batch.len())).collect();
    let entries = cursor.walk(ranges.iter().cloned(), backward).map(Result::unwrap);
    entries
        .map(|entry| (rows_of[entry.batch as usize][entry.row as usize].clone(), i128::from(entry.weight)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(48)))]

    #[test]
    fn oracle_walks_of_every_group(seed: u64, parts in 0usize..6, len in 0usize..60) {
        let mut random = Random::new(seed);
        let schema = schema(&[DataType::Boolean, any_type(&mut random)]);
        let layout = Layout::rows(Arc::clone(&schema), 1).unwrap();
        let all: Vec<_> = (0..parts).map(|_| changes(&schema, len, &mut random)).collect();
        let sum = all.iter().fold(ZSet::new(), |sum, part| sum.plus(&zset_of(part)));
        let trace = Snapshot::new(Arc::clone(&layout), all.iter().map(|part| indexed(&layout, part)).collect());
        let whole = trace.consolidate().unwrap();
        let cursor = GroupCursor::new(trace.batches());
        let starts = whole.runs().unwrap();
        let found: Vec<_> = trace.batches().iter().map(|batch| locate(whole.key(), &starts, batch).unwrap()).collect();
        let keys = rows(whole.key(), whole.len());
        for run in 0..starts.len() - 1 {
            let ranges: Vec<_> = found.iter().map(|ranges| ranges[run].clone()).collect();
            let key = &keys[starts[run] as usize];
            let mut expected = ordered(&sum.filter(|row| row[..1] == key[..]));
            prop_assert_eq!(walked(trace.batches(), &cursor, &ranges, false), expected.clone());
            expected.reverse();
            prop_assert_eq!(walked(trace.batches(), &cursor, &ranges, true), expected);
        }
    }

    #[test]
    fn prop_seeking_stops_where_stepping_stops(start in 0u32..50, len in 0u32..50, limit in 0u32..120, backward: bool) {
        let passed = |row: u32| if backward { row > limit } else { row < limit };
        let (mut seeking, mut stepping) = (BatchCursor::new(start..start + len, backward), BatchCursor::new(start..start + len, backward));
        seeking.seek(passed);
        while stepping.row().is_some_and(passed) {
            stepping.step();
        }
        prop_assert_eq!(seeking.row(), stepping.row());
    }
}
