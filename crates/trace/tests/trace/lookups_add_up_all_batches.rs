//! Accumulators (integer, decimal and exact float sums) fold, merge and look up as the sums over all rows with their key.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::i256;
use arrow_schema::DataType;
use proptest::prelude::*;
use tailrace_algebra::ExactSum;
use tailrace_trace::{DiffColumn, DiffKind, ExactColumn, IndexedBatch, Layout, Snapshot, Spine, lookup_sums};

use crate::columns::{Value, column, schema, values};
use crate::random::Random;

/// Weight, integer sum, decimal sum and the canonical bytes of the float sum.
type Sums = (i64, i128, i256, Vec<u8>);

struct Facts {
    keys: ArrayRef,
    diffs: [DiffColumn; 4],
    floats: Vec<f64>,
}

impl Facts {
    fn random(key: &DataType, len: usize, random: &mut Random) -> Self {
        let keys = column(key, len, random);
        let small = |random: &mut Random| random.below(5) as i64 - 2;
        let floats: Vec<f64> =
            (0..len).map(|_| random.pick(&[0.0, 0.1, -0.1, 1e300, -1e300, 1e-300])).collect();
        let mut exact = ExactColumn::default();
        floats.iter().for_each(|value| exact.push(&exact_sum([*value])));
        let diffs = [
            DiffColumn::Weight((0..len).map(|_| small(random)).collect::<Vec<_>>().into()),
            DiffColumn::Sum((0..len).map(|_| i128::from(small(random)) << 62).collect::<Vec<_>>().into()),
            DiffColumn::Wide(
                (0..len)
                    .map(|_| i256::from_i128(i128::from(small(random)) << 120))
                    .collect::<Vec<_>>()
                    .into(),
            ),
            DiffColumn::Exact(exact),
        ];
        Self { keys, diffs, floats }
    }
}

fn exact_sum(values: impl IntoIterator<Item = f64>) -> ExactSum {
    let mut sum = ExactSum::new();
    values.into_iter().for_each(|value| sum.add(value, 1));
    sum
}

fn layout(key: &DataType) -> Arc<Layout> {
    Layout::accumulators(
        schema(std::slice::from_ref(key)),
        1,
        vec![DiffKind::Sum, DiffKind::Wide, DiffKind::Exact],
    )
    .unwrap()
}

/// The sums by key, straight from the facts.
fn expected(all: &[Facts]) -> BTreeMap<Value, Sums> {
    let mut sums: BTreeMap<Value, (i64, i128, i256, Vec<f64>)> = BTreeMap::new();
    for facts in all {
        let [DiffColumn::Weight(weights), DiffColumn::Sum(integers), DiffColumn::Wide(decimals), _] =
            &facts.diffs
        else {
            unreachable!()
        };
        for (row, key) in values(&facts.keys).into_iter().enumerate() {
            let sum = sums.entry(key).or_insert((0, 0, i256::ZERO, Vec::new()));
            sum.0 += weights[row];
            sum.1 += integers[row];
            sum.2 = sum.2.wrapping_add(decimals[row]);
            sum.3.push(facts.floats[row]);
        }
    }
    sums.into_iter()
        .map(|(key, (weight, integer, decimal, floats))| (key, (weight, integer, decimal, bytes(floats))))
        .collect()
}

fn bytes(floats: Vec<f64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    exact_sum(floats).write_bytes(&mut bytes);
    bytes
}

fn at(diffs: &[DiffColumn], row: usize) -> Sums {
    let [
        DiffColumn::Weight(weights),
        DiffColumn::Sum(integers),
        DiffColumn::Wide(decimals),
        DiffColumn::Exact(floats),
    ] = diffs
    else {
        unreachable!()
    };
    (weights[row], integers[row], decimals[row], floats.get(row).to_vec())
}

const ZERO: Sums = (0, 0, i256::ZERO, Vec::new());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(64)))]

    #[test]
    fn oracle_lookups_in_a_spine(seed: u64, parts in 0usize..12, len in 0usize..50) {
        let mut random = Random::new(seed);
        let key = random.pick(&[DataType::Int64, DataType::Int8, DataType::Utf8View, DataType::Float64]);
        let layout = layout(&key);
        let all: Vec<Facts> = (0..parts).map(|_| Facts::random(&key, len, &mut random)).collect();
        let mut spine = Spine::new(Arc::clone(&layout));
        for facts in &all {
            let batch = IndexedBatch::build(&layout, &[Arc::clone(&facts.keys)], &facts.diffs).unwrap();
            spine.stage(Arc::new(batch)).unwrap();
            spine.commit();
        }
        let expected = expected(&all);
        check_kept(spine.snapshot(), &expected);
        let probe = Facts::random(&key, len, &mut random);
        check_lookup(&probe.keys, spine.snapshot(), &expected);
    }
}

/// What is kept are the keys whose sums are not all zero.
fn check_kept(trace: &Snapshot, expected: &BTreeMap<Value, Sums>) {
    let whole = trace.consolidate().unwrap();
    let keys = values(&whole.columns()[0]);
    let found: Vec<(Value, Sums)> =
        keys.into_iter().enumerate().map(|(row, key)| (key, at(whole.diffs(), row))).collect();
    let kept: Vec<(Value, Sums)> = expected
        .iter()
        .filter(|(_, sums)| **sums != ZERO)
        .map(|(key, sums)| (key.clone(), sums.clone()))
        .collect();
    assert_eq!(found, kept);
}

fn check_lookup(keys: &ArrayRef, trace: &Snapshot, expected: &BTreeMap<Value, Sums>) {
    let layout = Layout::rows(schema(&[keys.data_type().clone()]), 1).unwrap();
    let weights = DiffColumn::Weight(vec![1; keys.len()].into());
    let probe = IndexedBatch::build(&layout, &[Arc::clone(keys)], &[weights]).unwrap();
    let starts = probe.runs().unwrap();
    let sums = lookup_sums(probe.key(), &starts, trace).unwrap();
    for (run, key) in values(&probe.key()[0]).iter().enumerate() {
        assert_eq!(&at(&sums, run), expected.get(key).unwrap_or(&ZERO), "{key:?}");
    }
}
