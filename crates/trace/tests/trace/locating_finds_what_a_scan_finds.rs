//! Probing sorted keys into a sorted batch finds the rows that a scan over all pairs finds: one range per key.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array};
use arrow_schema::DataType;
use proptest::prelude::*;
use tailrace_trace::{DiffColumn, IndexedBatch, Layout, TraceError, locate, meet, run_of};

use crate::columns::{Row, Value, any_type, changes, indexed, rows, schema, types};
use crate::random::Random;

/// The rows with this key; where it would stand if there are none.
fn scan(target: &[Row], key: &Row) -> Range<u32> {
    let start = target.iter().filter(|row| row[..key.len()] < key[..]).count() as u32;
    let found = target.iter().filter(|row| row[..key.len()] == key[..]).count() as u32;
    start..start + found
}

fn keys(batch: &IndexedBatch) -> Vec<Row> {
    rows(batch.key(), batch.len())
}

fn check(key_types: &[DataType], sizes: (usize, usize), random: &mut Random) {
    let schema = schema(&[key_types, &[DataType::Int32]].concat());
    let layout = Layout::rows(Arc::clone(&schema), key_types.len()).unwrap();
    let probe = indexed(&layout, &changes(&schema, sizes.0, random));
    let target = indexed(&layout, &changes(&schema, sizes.1, random));
    let starts = probe.runs().unwrap();
    let (probe_keys, target_rows) = (keys(&probe), rows(target.columns(), target.len()));
    check_runs(&starts, &probe_keys);
    let found = locate(probe.key(), &starts, &target).unwrap();
    assert_eq!(found.len() + 1, starts.len());
    for (run, range) in found.iter().enumerate() {
        let expected = scan(&target_rows, &probe_keys[starts[run] as usize]);
        assert_eq!(range, &expected, "run {run}");
        assert_eq!(run_of(probe.key(), starts[run] as usize, &target).unwrap(), expected);
    }
    for null_matches in [true, false] {
        check_meet(&probe, &starts, &target, &found, null_matches);
    }
}

/// Runs split the keys where they change, and nowhere else.
fn check_runs(starts: &[u32], keys: &[Row]) {
    let changes = |row: &u32| *row == 0 || keys[*row as usize] != keys[*row as usize - 1];
    let mut expected: Vec<u32> = (0..keys.len() as u32).filter(changes).collect();
    expected.push(keys.len() as u32);
    assert_eq!(starts, expected);
}

fn check_meet(
    probe: &IndexedBatch,
    starts: &[u32],
    target: &IndexedBatch,
    located: &[Range<u32>],
    null_matches: bool,
) {
    let keys = keys(probe);
    let mut met = Vec::new();
    let collect = |run: usize, rows: Range<u32>| -> Result<(), TraceError> {
        met.push((run, rows));
        Ok(())
    };
    meet(probe.key(), starts, target, null_matches, collect).unwrap();
    let matches = |run: &usize| null_matches || !keys[starts[*run] as usize].contains(&Value::Null);
    let expected: Vec<_> = (0..located.len())
        .filter(|run| !located[*run].is_empty() && matches(run))
        .map(|run| (run, located[run].clone()))
        .collect();
    assert_eq!(met, expected, "null_matches: {null_matches}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(48)))]

    #[test]
    fn oracle_keys_of_every_type(seed: u64, probe in 0usize..20, target in 0usize..80) {
        let mut random = Random::new(seed);
        for data_type in types() {
            check(&[data_type], (probe, target), &mut random);
        }
    }

    #[test]
    fn oracle_keys_of_several_columns_or_none(seed: u64, probe in 0usize..100, target in 0usize..300, width in 0usize..4) {
        let mut random = Random::new(seed);
        let types: Vec<_> = (0..width).map(|_| any_type(&mut random)).collect();
        check(&types, (probe, target), &mut random);
    }
}

#[test]
fn a_few_keys_into_many_rows_and_many_into_few() {
    let mut random = Random::new(5);
    for key in [DataType::Int64, DataType::Utf8View, DataType::Date32] {
        check(std::slice::from_ref(&key), (3, 2_000), &mut random);
        check(&[key, DataType::Int64], (900, 10), &mut random);
    }
    let empty = IndexedBatch::empty(&Layout::rows(schema(&[DataType::Int64]), 1).unwrap());
    assert_eq!(empty.runs().unwrap(), vec![0]);
    assert_eq!(empty.key()[0].len(), 0);
}

/// Guesses help where keys are even, and must do no harm where they are not: dense, with gaps, in clusters, in powers, at the ends of the type.
#[test]
fn oracle_keys_of_any_spread() {
    let mut random = Random::new(11);
    let spreads: [fn(i64) -> i64; 6] = [
        |x| x,
        |x| x * 7 + x % 5,
        |x| x / 50 * 1_000_000 + x % 50,
        |x| (x % 40 - 20).signum() * (1 << (x % 40).min(62)),
        |x| if x % 2 == 0 { i64::MIN + x } else { i64::MAX - x },
        |x| x / 300,
    ];
    let layout = Layout::rows(schema(&[DataType::Int64]), 1).unwrap();
    let batch = |values: Vec<i64>| {
        let weights = DiffColumn::Weight(vec![1; values.len()].into());
        IndexedBatch::build(&layout, &[Arc::new(Int64Array::from(values)) as _], &[weights]).unwrap()
    };
    for spread in spreads {
        let target = batch((0..3_000).map(spread).collect());
        let probe =
            batch((0..200).map(|_| spread(random.below(4_000) as i64) + random.below(2) as i64).collect());
        let found = locate(probe.key(), &probe.runs().unwrap(), &target).unwrap();
        let values = |batch: &IndexedBatch| batch.columns()[0].as_primitive::<Int64Type>().values().to_vec();
        for (range, key) in found.iter().zip(values(&probe)) {
            let start = values(&target).iter().filter(|value| **value < key).count() as u32;
            let equal = values(&target).iter().filter(|value| **value == key).count() as u32;
            assert_eq!(*range, start..start + equal, "key {key}");
        }
    }
}
