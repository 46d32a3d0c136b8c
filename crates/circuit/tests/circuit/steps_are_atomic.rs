//! A step that fails, panics or is interrupted leaves everything as it was.

use proptest::prelude::*;
use tailrace_algebra::{Step, ZSet};
use tailrace_circuit::{Circuit, OperatorError, StreamId};

use crate::mock::{Log, Printer, Trap, Whole, batch, change, rows, schema, with_table, zset};

type Act = fn(&tailrace_circuit::Context<'_>) -> Result<(), OperatorError>;

const FAIL: Act = |_| Err(OperatorError::evaluation("division by zero in column 'x'"));
const PANIC: Act = |_| panic!("a bug in an operator");
const INTERRUPT: Act = |ctx| {
    ctx.interrupt.raise();
    ctx.check()
};

/// table -> distinct -> trap -> count, the count watched and printed.
fn trapped(act: Act, log: &Log, printed: &Log) -> (Circuit, StreamId, StreamId) {
    let (mut circuit, table) = with_table();
    let distinct = circuit.add_unary(Whole::distinct(log), table, schema()).unwrap();
    let trap = circuit.add_unary(Box::new(Trap { on: 13, act }), distinct, schema()).unwrap();
    let count = circuit.add_unary(Whole::count(log), trap, schema()).unwrap();
    circuit.add_sink(Box::new(Printer { log: printed.clone(), staged: None }), count).unwrap();
    circuit.watch(count).unwrap();
    (circuit, table, count)
}

fn check_rolls_back(act: Act, expect: &str) {
    let (log, printed) = (Log::default(), Log::default());
    let (mut circuit, table, count) = trapped(act, &log, &printed);
    circuit.step([(table, batch(&[(1, 1), (2, 1)]))]).unwrap();
    log.take();
    let error = circuit.step([(table, batch(&[(3, 1), (13, 1)]))]).unwrap_err();
    assert_eq!(error.to_string(), format!("trap x = 13 (node 2): {expect}"));
    assert_eq!(log.take(), ["distinct", "distinct rollback"]);
    assert_eq!(circuit.current_step(), Step(1));
    circuit.interrupt().clear();
    let output = circuit.step([(table, batch(&[(3, 1)]))]).unwrap();
    assert_eq!(change(&output, count), rows(&[(2, -1), (3, 1)]));
    assert_eq!(printed.take().len(), 2);
    assert_eq!(
        zset(circuit.evaluate_integral(table).unwrap().as_changes().unwrap()),
        rows(&[(1, 1), (2, 1), (3, 1)])
    );
}

#[test]
fn an_error_rolls_the_step_back() {
    check_rolls_back(FAIL, "division by zero in column 'x'");
}

#[test]
fn a_panic_rolls_the_step_back() {
    check_rolls_back(PANIC, "panicked: a bug in an operator");
}

#[test]
fn an_interrupt_rolls_the_step_back() {
    check_rolls_back(INTERRUPT, "interrupted");
}

#[test]
fn an_interrupt_raised_before_the_step_stops_it() {
    let (mut circuit, table) = with_table();
    let handle = circuit.interrupt().clone();
    handle.raise();
    let error = circuit.step([(table, batch(&[(1, 1)]))]).unwrap_err();
    assert!(matches!(error.root(), OperatorError::Interrupted));
    handle.clear();
    circuit.step([]).unwrap();
    assert!(circuit.evaluate_integral(table).unwrap().is_empty());
}

#[test]
fn a_rolled_back_delay_sends_again() {
    let (mut circuit, table) = with_table();
    let log = Log::default();
    let delay = circuit.add_unary(crate::mock::Delay::new(&log), table, schema()).unwrap();
    let trap = circuit.add_unary(Box::new(Trap { on: 13, act: FAIL }), table, schema()).unwrap();
    circuit.watch(delay).unwrap();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(circuit.step([(table, batch(&[(13, 1)]))]).unwrap_err().node, trap.node());
    let output = circuit.step([]).unwrap();
    assert_eq!(change(&output, delay), rows(&[(1, 1)]));
    assert!(circuit.step([]).unwrap().changes.is_empty());
}

/// Panics when it should commit.
struct BadCommit;

impl tailrace_circuit::Operator for BadCommit {
    fn name(&self) -> &'static str {
        "bad_commit"
    }

    fn commit(&mut self) {
        panic!("a bug in commit");
    }
}

impl tailrace_circuit::SinkOperator for BadCommit {
    fn eval(
        &mut self,
        _: tailrace_circuit::Input<'_>,
        _: &tailrace_circuit::Context<'_>,
    ) -> Result<(), OperatorError> {
        Ok(())
    }
}

#[test]
fn a_panic_in_commit_stops_the_circuit_for_good() {
    let (mut circuit, table) = with_table();
    circuit.add_sink(Box::new(BadCommit), table).unwrap();
    for _ in 0..2 {
        let error = circuit.step([(table, batch(&[(1, 1)]))]).unwrap_err();
        assert_eq!(error.operator, "bad_commit");
        assert!(matches!(error.root(), OperatorError::Poisoned));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(256)))]

    #[test]
    fn prop_failed_steps_leave_no_trace(steps in proptest::collection::vec(
        proptest::collection::vec((10i64..15, -1i64..3), 0..4), 1..12)) {
        let quiet = Log::default();
        let (mut circuit, table, count) = trapped(FAIL, &quiet, &quiet);
        let mut content = ZSet::new();
        let mut sum = change(&circuit.fill(&[table.node(), count.node()]).unwrap(), count);
        for step in steps {
            if let Ok(output) = circuit.step([(table, batch(&step))]) {
                sum = sum.plus(&change(&output, count));
                content.extend(step);
            }
        }
        prop_assert_eq!(sum, ZSet::from_rows([content.distinct().total_weight() as i64]));
    }
}

#[test]
fn a_host_can_be_asked_whether_to_stop() {
    let (mut circuit, table) = with_table();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = asked.clone();
    circuit
        .interrupt()
        .set_poll(Box::new(move || count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0));
    let error = circuit.step([(table, batch(&[(1, 1)]))]).unwrap_err();
    assert!(matches!(error.into_root(), OperatorError::Interrupted));
    circuit.interrupt().clear();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 2);
}
