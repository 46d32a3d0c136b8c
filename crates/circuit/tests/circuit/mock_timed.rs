//! Operators for nested scopes: a distinct that is incremental in steps *and* iterations, and one that waits.

use std::collections::{BTreeMap, BTreeSet};

use tailrace_algebra::{Iteration, ZSet};
use tailrace_circuit::{Context, Input, Moment, Operator, OperatorError, UnaryOperator, Value};

use crate::mock::{Log, from_zset, zset};

type History = BTreeMap<i64, BTreeMap<u32, i128>>;

/// Distinct over time (step, iteration). At iteration `i` it sends, for every row that changed in this step, what distinct adds
/// at `i` now minus what it added at `i` in the steps before.
#[derive(Clone, Default)]
pub struct TimedDistinct {
    pub log: Log,
    past: History,
    current: History,
}

impl TimedDistinct {
    pub fn new(log: &Log) -> Box<Self> {
        Box::new(TimedDistinct { log: log.clone(), ..TimedDistinct::default() })
    }

    fn change(&self, row: i64, at: u32) -> i128 {
        let old = |until: u32| weight(&self.past, row, until);
        let new = |until: u32| old(until) + weight(&self.current, row, until);
        let step = |sum: &dyn Fn(u32) -> i128| exists(sum(at + 1)) - exists(sum(at));
        step(&new) - step(&old)
    }
}

impl Operator for TimedDistinct {
    fn name(&self) -> &'static str {
        "timed_distinct"
    }

    fn next_work(&self, now: Moment) -> Option<Iteration> {
        let touched = self.current.keys().filter_map(|row| self.past.get(row));
        touched
            .filter_map(|history| history.range(now.iteration.0 + 1..).next())
            .map(|(at, _)| Iteration(*at))
            .min()
    }

    fn commit(&mut self) {
        for (row, history) in std::mem::take(&mut self.current) {
            for (at, weight) in history {
                *self.past.entry(row).or_default().entry(at).or_default() += weight;
            }
            self.past.entry(row).or_default().retain(|_, weight| *weight != 0);
        }
    }

    fn rollback(&mut self) {
        self.current.clear();
    }
}

impl UnaryOperator for TimedDistinct {
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let at = ctx.iteration().0;
        self.log.push(format!("{at}"));
        for (row, weight) in zset(input.as_changes()?).iter() {
            *self.current.entry(*row).or_default().entry(at).or_default() += weight;
        }
        let touched: BTreeSet<i64> = self.current.keys().copied().collect();
        let changes: ZSet<i64> = touched.into_iter().map(|row| (row, self.change(row, at))).collect();
        Ok(from_zset(&changes).into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        TimedDistinct::new(&self.log)
    }
}

/// Sends what it reads at iteration `i` at iteration `i + gap`.
#[derive(Clone, Default)]
pub struct Later {
    pub log: Log,
    pub gap: u32,
    waiting: BTreeMap<u32, ZSet<i64>>,
}

impl Later {
    pub fn new(gap: u32, log: &Log) -> Box<Self> {
        Box::new(Later { log: log.clone(), gap, ..Later::default() })
    }
}

impl Operator for Later {
    fn name(&self) -> &'static str {
        "later"
    }

    fn clock_start(&mut self, now: Moment) {
        self.log.push(format!("start {}", now.depth));
        self.waiting.clear();
    }

    fn clock_end(&mut self) {
        self.log.push("end");
    }

    fn next_work(&self, now: Moment) -> Option<Iteration> {
        self.waiting.range(now.iteration.0 + 1..).next().map(|(at, _)| Iteration(*at))
    }
}

impl UnaryOperator for Later {
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        let at = ctx.iteration().0;
        self.log.push(format!("{at}"));
        if !input.is_empty() {
            self.waiting.insert(at + self.gap, zset(input.as_changes()?));
        }
        Ok(from_zset(&self.waiting.remove(&at).unwrap_or_default()).into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Later::new(self.gap, &self.log)
    }
}

/// The weight of a row before iteration `until`.
fn weight(history: &History, row: i64, until: u32) -> i128 {
    history.get(&row).map_or(0, |times| times.range(..until).map(|(_, weight)| *weight).sum())
}

fn exists(weight: i128) -> i128 {
    i128::from(weight > 0)
}
