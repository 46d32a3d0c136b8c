//! A nested scope iterates until nothing changes, jumps over idle iterations, and is incremental under outer changes.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, OperatorError, StreamId, Subcircuit};

use crate::mock::{FlatMap, Log, Plus, Trap, Whole, batch, change, rows, schema, with_table, zset};
use crate::mock_timed::{Later, TimedDistinct};

/// The sum of `body` of the loop `x = input + body(z^-1 x)`, as a nested scope with one input and one output.
fn loop_of(image: fn(&i64) -> Vec<i64>, distinct: bool, limit: u32, log: &Log) -> Subcircuit {
    let mut inner = Subcircuit::new("recursive", "reach").with_limit(limit);
    let seeds = inner.import(schema()).unwrap();
    let before = inner.feedback(schema()).unwrap();
    let next = inner.add_unary(FlatMap::new("next", image, &Log::default()), before, schema()).unwrap();
    let sum = inner.add_binary(Plus::new(&Log::default()), seeds, next, schema()).unwrap();
    let reached = match distinct {
        true => inner.add_unary(TimedDistinct::new(log), sum, schema()).unwrap(),
        false => sum,
    };
    inner.connect(before, reached).unwrap();
    assert_eq!(inner.export(reached), Ok(0));
    inner
}

fn nest(inner: Subcircuit) -> (Circuit, StreamId, StreamId) {
    let (mut circuit, table) = with_table();
    let nested = circuit.add_nary(Box::new(inner), &[table], schema()).unwrap();
    let output = circuit.select(nested, 0, schema()).unwrap();
    circuit.watch(output).unwrap();
    (circuit, table, output)
}

fn count_down(x: &i64) -> Vec<i64> {
    if *x > 0 { vec![x - 1] } else { vec![] }
}

/// A graph with a long cycle and a short cut.
fn successors(x: &i64) -> Vec<i64> {
    match x {
        0..7 => vec![x + 1],
        7 => vec![0, 8],
        8 => vec![2],
        _ => vec![],
    }
}

#[test]
fn a_linear_loop_sums_its_iterations() {
    let (mut circuit, table, output) = nest(loop_of(count_down, false, 100, &Log::default()));
    let step = circuit.step([(table, batch(&[(3, 1)]))]).unwrap();
    assert_eq!(change(&step, output), rows(&[(3, 1), (2, 1), (1, 1), (0, 1)]));
    let step = circuit.step([(table, batch(&[(1, 1), (3, -1)]))]).unwrap();
    assert_eq!(change(&step, output), rows(&[(3, -1), (2, -1)]));
}

#[test]
fn the_clock_jumps_over_iterations_without_work() {
    let log = Log::default();
    let mut inner = Subcircuit::new("scope", "");
    let input = inner.import(schema()).unwrap();
    let later = inner.add_unary(Later::new(1_000_000, &log), input, schema()).unwrap();
    inner.export(later).unwrap();
    let (mut circuit, table, output) = nest(inner);
    let step = circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(change(&step, output), rows(&[(1, 1)]));
    assert_eq!(log.take(), ["start 1", "0", "1000000", "end"]);
}

#[test]
fn work_that_earlier_steps_left_is_found() {
    let log = Log::default();
    let (mut circuit, table, output) = nest(loop_of(successors, true, 100, &log));
    circuit.step([(table, batch(&[(5, 1)]))]).unwrap();
    // 5, 6, 7, then 0 and 8, 1 and 2, 3, 4; at iteration 7 comes 5 again, which is nothing new.
    assert_eq!(log.take(), ["0", "1", "2", "3", "4", "5", "6", "7"]);
    // Row 9 leads nowhere and was never reached: one iteration, whatever the cycle did before.
    let step = circuit.step([(table, batch(&[(9, 1)]))]).unwrap();
    assert_eq!((change(&step, output), log.take()), (rows(&[(9, 1)]), vec!["0".to_owned()]));
    let step = circuit.step([(table, batch(&[(5, -1)]))]).unwrap();
    assert_eq!(change(&step, output), (0..9).map(|x| (x, -1)).collect());
}

#[test]
fn an_endless_loop_ends_at_the_limit() {
    let (mut circuit, table, output) = nest(loop_of(|x| vec![x + 1], false, 50, &Log::default()));
    let error = circuit.step([(table, batch(&[(0, 1)]))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "recursive reach (node 1): reach did not reach a fixed point within 50 iterations"
    );
    assert!(matches!(error.root(), OperatorError::IterationLimit { limit: 50, .. }));
    assert!(circuit.step([]).unwrap().get(output).is_none());
}

#[test]
fn exactly_the_limit_is_allowed() {
    // From 3: iterations 0 to 3 find 3, 2, 1 and 0, and iteration 4 finds nothing more.
    let (mut circuit, table, _) = nest(loop_of(count_down, false, 5, &Log::default()));
    circuit.step([(table, batch(&[(3, 1)]))]).unwrap();
    circuit.step([(table, batch(&[(4, 1)]))]).unwrap_err();
}

#[test]
fn an_interrupt_ends_an_endless_loop() {
    let image: fn(&i64) -> Vec<i64> = |x| {
        std::thread::sleep(std::time::Duration::from_micros(50));
        vec![x + 1]
    };
    let (mut circuit, table, _) = nest(loop_of(image, false, u32::MAX, &Log::default()));
    let handle = circuit.interrupt().clone();
    let other = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        handle.raise();
    });
    let error = circuit.step([(table, batch(&[(0, 1)]))]).unwrap_err();
    other.join().unwrap();
    assert!(matches!(error.root(), OperatorError::Interrupted));
}

/// A loop over `successors` with a trap in it.
fn trapped(
    act: fn(&tailrace_circuit::Context<'_>) -> Result<(), OperatorError>,
) -> (Circuit, StreamId, StreamId) {
    let mut inner = loop_of(successors, true, 100, &Log::default());
    let reached = inner.exports()[0];
    inner.add_unary(Box::new(Trap { on: 13, act }), reached, schema()).unwrap();
    nest(inner)
}

#[test]
fn a_failure_inside_names_both_nodes_and_rolls_back() {
    let (mut circuit, table, output) = trapped(|_| Err(OperatorError::evaluation("no")));
    circuit.step([(table, batch(&[(8, 1)]))]).unwrap();
    let error = circuit.step([(table, batch(&[(8, -1), (13, 1)]))]).unwrap_err();
    assert_eq!(error.to_string(), "recursive reach (node 1): trap x = 13 (node 5): no");
    let step = circuit.step([(table, batch(&[(0, 1)]))]).unwrap();
    assert_eq!(change(&step, output), ZSet::from_rows(reach([0]).difference(&reach([8])).copied()));
}

#[test]
fn a_panic_inside_names_both_nodes() {
    let (mut circuit, table, _) = trapped(|_| panic!("bug"));
    let error = circuit.step([(table, batch(&[(13, 1)]))]).unwrap_err();
    assert_eq!(error.to_string(), "recursive reach (node 1): trap x = 13 (node 5): panicked: bug");
    circuit.step([(table, batch(&[(8, 1)]))]).unwrap();
}

fn reach(seeds: impl IntoIterator<Item = i64>) -> BTreeSet<i64> {
    let mut reached = BTreeSet::new();
    let mut pending: Vec<i64> = seeds.into_iter().collect();
    while let Some(x) = pending.pop() {
        if reached.insert(x) {
            pending.extend(successors(&x));
        }
    }
    reached
}

#[test]
fn a_scope_is_filled_like_any_operator() {
    let (mut circuit, table) = with_table();
    circuit.step([(table, batch(&[(7, 1)]))]).unwrap();
    let inner = loop_of(successors, true, 100, &Log::default());
    let nested = circuit.add_nary(Box::new(inner), &[table], schema()).unwrap();
    let output = circuit.select(nested, 0, schema()).unwrap();
    circuit.watch(output).unwrap();
    let filled = circuit.fill(&[nested.node(), output.node()]).unwrap();
    assert_eq!(change(&filled, output), ZSet::from_rows(0..9));
    assert_eq!(zset(circuit.evaluate_integral(output).unwrap().as_changes().unwrap()), ZSet::from_rows(0..9));
    let step = circuit.step([(table, batch(&[(7, -1)]))]).unwrap();
    assert_eq!(change(&step, output), ZSet::from_rows(0..9).neg());
}

#[test]
fn a_scope_sends_what_its_operators_say_about_nothing() {
    let mut inner = Subcircuit::new("scope", "");
    let input = inner.import(schema()).unwrap();
    let count = inner.add_unary(Whole::count(&Log::default()), input, schema()).unwrap();
    inner.export(count).unwrap();
    let (mut circuit, table, output) = nest(inner);
    let filled =
        circuit.fill(&[circuit.view(output.node()).unwrap().inputs()[0].node(), output.node()]).unwrap();
    assert_eq!(change(&filled, output), rows(&[(0, 1)]));
    let step = circuit.step([(table, batch(&[(4, 1)]))]).unwrap();
    assert_eq!(change(&step, output), rows(&[(0, -1), (1, 1)]));
}

#[test]
fn several_outputs_are_summed_apart_and_unchanged_ones_are_empty() {
    let mut inner = Subcircuit::new("scope", "");
    let (left, right) = (inner.import(schema()).unwrap(), inner.import(schema()).unwrap());
    let log = Log::default();
    let double = inner.add_unary(FlatMap::new("double", |x| vec![2 * x], &log), left, schema()).unwrap();
    inner.export(double).unwrap();
    inner.export(right).unwrap();
    let (mut circuit, a) = with_table();
    let b = circuit.add_source(Box::new(crate::mock::Table::default()), schema()).unwrap();
    let nested = circuit.add_nary(Box::new(inner), &[a, b], schema()).unwrap();
    let outputs = [0, 1].map(|index| circuit.select(nested, index, schema()).unwrap());
    outputs.iter().for_each(|output| circuit.watch(*output).unwrap());
    let step = circuit.step([(a, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(outputs.map(|output| change(&step, output)), [rows(&[(2, 1)]), rows(&[])]);
    let step = circuit.step([(b, batch(&[(3, 1)])), (a, batch(&[(1, -1)]))]).unwrap();
    assert_eq!(outputs.map(|output| change(&step, output)), [rows(&[(2, -1)]), rows(&[(3, 1)])]);
}

#[test]
fn a_held_import_is_seen_at_every_iteration() {
    let mut inner = Subcircuit::new("scope", "");
    let input = inner.import(schema()).unwrap();
    let held = inner.import_held(schema()).unwrap();
    let later = inner.add_unary(Later::new(3, &Log::default()), input, schema()).unwrap();
    let sum = inner.add_binary(Plus::new(&Log::default()), later, held, schema()).unwrap();
    inner.export(sum).unwrap();
    let (mut circuit, a) = with_table();
    let b = circuit.add_source(Box::new(crate::mock::Table::default()), schema()).unwrap();
    let nested = circuit.add_nary(Box::new(inner), &[a, b], schema()).unwrap();
    let output = circuit.select(nested, 0, schema()).unwrap();
    circuit.watch(output).unwrap();
    circuit.fill(&[nested.node(), output.node()]).unwrap();
    let step = circuit.step([(a, batch(&[(1, 1)])), (b, batch(&[(5, 1)]))]).unwrap();
    assert_eq!(change(&step, output), rows(&[(1, 1), (5, 2)]));
}

#[test]
fn scopes_nest() {
    let log = Log::default();
    let mut outer = Subcircuit::new("outer", "").with_limit(20);
    let seeds = outer.import(schema()).unwrap();
    let before = outer.feedback(schema()).unwrap();
    let sum = outer.add_binary(Plus::new(&log), seeds, before, schema()).unwrap();
    let inner = loop_of(count_down, false, 100, &log);
    let nested = outer.add_nary(Box::new(inner), &[sum], schema()).unwrap();
    let counted = outer.select(nested, 0, schema()).unwrap();
    let jump = outer.add_unary(
        FlatMap::new("jump", |x| if *x == 10 { vec![2] } else { vec![] }, &log),
        counted,
        schema(),
    );
    outer.connect(before, jump.unwrap()).unwrap();
    outer.export(counted).unwrap();
    let (mut circuit, table, output) = nest(outer);
    let step = circuit.step([(table, batch(&[(11, 1)]))]).unwrap();
    let expected: ZSet<i64> = (0..12).chain(0..3).map(|x| (x, 1)).collect();
    assert_eq!(change(&step, output), expected);
    let step = circuit.step([(table, batch(&[(11, -1)]))]).unwrap();
    assert_eq!(change(&step, output), expected.neg());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(256)))]

    #[test]
    fn oracle_recursion_under_changes_equals_reachability(
        steps in vec(vec((0i64..12, any::<bool>()), 1..4), 1..10),
    ) {
        let (mut circuit, table, output) = nest(loop_of(successors, true, 1_000, &Log::default()));
        let (mut seeds, mut view) = (BTreeSet::new(), ZSet::new());
        let taken = steps.len();
        for step in steps {
            let mut changes = Vec::new();
            for (x, insert) in step {
                match insert {
                    true if seeds.insert(x) => changes.push((x, 1)),
                    false if seeds.remove(&x) => changes.push((x, -1)),
                    _ => {}
                }
            }
            let result = circuit.step([(table, batch(&changes))]).unwrap();
            view = view.plus(&change(&result, output));
            prop_assert_eq!(&view, &ZSet::from_rows(reach(seeds.iter().copied())));
        }
        tailrace_tests::count_steps(taken);
    }
}
