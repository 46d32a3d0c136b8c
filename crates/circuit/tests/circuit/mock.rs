//! Small operators over one integer column, each able to report how often it ran and what it was asked to do.

use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tailrace_algebra::ZSet;
use tailrace_circuit::{
    BinaryOperator, Circuit, Context, Input, Moment, NaryOperator, Operator, OperatorError, SinkOperator,
    SourceOperator, StateSize, StepOutput, StreamId, TernaryOperator, UnaryOperator, Value,
};
use tailrace_trace::ChangeBatch;

/// What happened, in order, in all operators that share the log.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn push(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    /// The entries since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]))
}

pub fn batch(rows: &[(i64, i64)]) -> ChangeBatch {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0)));
    let weights: Vec<i64> = rows.iter().map(|row| row.1).collect();
    ChangeBatch::try_new(schema(), vec![values], weights.into()).unwrap()
}

pub fn from_zset(rows: &ZSet<i64>) -> ChangeBatch {
    let rows: Vec<(i64, i64)> = rows.iter().map(|(row, weight)| (*row, weight as i64)).collect();
    batch(&rows)
}

pub fn zset(batch: &ChangeBatch) -> ZSet<i64> {
    let values = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
    values.values().iter().copied().zip(batch.weights().iter().copied()).collect()
}

pub fn rows(weighted: &[(i64, i64)]) -> ZSet<i64> {
    weighted.iter().copied().collect()
}

/// The change of a watched stream, empty if it did not change.
pub fn change(output: &StepOutput, stream: StreamId) -> ZSet<i64> {
    output.get(stream).map(|value| zset(value.as_changes().unwrap())).unwrap_or_default()
}

/// Sends what it is given and keeps the sum.
#[derive(Default)]
pub struct Table {
    staged: ZSet<i64>,
    content: ZSet<i64>,
}

impl Operator for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn commit(&mut self) {
        self.content = self.content.plus(&std::mem::take(&mut self.staged));
    }

    fn rollback(&mut self) {
        self.staged = ZSet::new();
    }
}

impl SourceOperator for Table {
    fn accept(&mut self, changes: ChangeBatch) -> Result<(), OperatorError> {
        self.staged = self.staged.plus(&zset(&changes));
        Ok(())
    }

    fn eval(&mut self, _: &Context<'_>) -> Result<Value, OperatorError> {
        Ok(from_zset(&self.staged).into())
    }

    fn contents(&self) -> Result<Value, OperatorError> {
        Ok(from_zset(&self.content).into())
    }

    fn fresh(&self) -> Box<dyn SourceOperator> {
        Box::new(Table::default())
    }
}

pub type Image = Arc<dyn Fn(&i64) -> Vec<i64> + Send + Sync>;

/// A linear operator: the images of every row.
#[derive(Clone)]
pub struct FlatMap {
    pub label: &'static str,
    pub image: Image,
    pub log: Log,
}

impl FlatMap {
    pub fn new(
        label: &'static str,
        image: impl Fn(&i64) -> Vec<i64> + Send + Sync + 'static,
        log: &Log,
    ) -> Box<Self> {
        Box::new(FlatMap { label, image: Arc::new(image), log: log.clone() })
    }

    pub fn identity(label: &'static str, log: &Log) -> Box<Self> {
        FlatMap::new(label, |x| vec![*x], log)
    }
}

impl Operator for FlatMap {
    fn name(&self) -> &'static str {
        "flat_map"
    }

    fn label(&self) -> String {
        self.label.to_owned()
    }
}

impl UnaryOperator for FlatMap {
    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<Value, OperatorError> {
        let owned = if input.is_owned() { "owned" } else { "borrowed" };
        self.log.push(format!("{} {owned}", self.label));
        Ok(from_zset(&zset(input.as_changes()?).flat_map(|x| (self.image)(x))).into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}

/// The sum of its inputs; works for two, three and any number.
#[derive(Clone)]
pub struct Plus {
    pub log: Log,
}

impl Plus {
    pub fn new(log: &Log) -> Box<Self> {
        Box::new(Plus { log: log.clone() })
    }

    fn sum(&self, inputs: &[Input<'_>]) -> Result<Value, OperatorError> {
        let owned: String = inputs.iter().map(|input| if input.is_owned() { 'o' } else { 'b' }).collect();
        self.log.push(format!("plus {owned}"));
        let mut sum = ZSet::new();
        for input in inputs {
            sum = sum.plus(&zset(input.as_changes()?));
        }
        Ok(from_zset(&sum).into())
    }
}

impl Operator for Plus {
    fn name(&self) -> &'static str {
        "plus"
    }
}

impl BinaryOperator for Plus {
    fn eval(&mut self, left: Input<'_>, right: Input<'_>, _: &Context<'_>) -> Result<Value, OperatorError> {
        self.sum(&[left, right])
    }

    fn fresh(&self) -> Box<dyn BinaryOperator> {
        Box::new(self.clone())
    }
}

impl TernaryOperator for Plus {
    fn eval(
        &mut self,
        first: Input<'_>,
        second: Input<'_>,
        third: Input<'_>,
        _: &Context<'_>,
    ) -> Result<Value, OperatorError> {
        self.sum(&[first, second, third])
    }

    fn fresh(&self) -> Box<dyn TernaryOperator> {
        Box::new(self.clone())
    }
}

impl NaryOperator for Plus {
    fn eval(&mut self, inputs: Vec<Input<'_>>, _: &Context<'_>) -> Result<Value, OperatorError> {
        self.sum(&inputs)
    }

    fn fresh(&self) -> Box<dyn NaryOperator> {
        Box::new(self.clone())
    }
}

/// Any function of the whole input, made incremental by recomputing it: `D(op(I(x)))` to the letter.
#[derive(Clone)]
pub struct Whole {
    pub label: &'static str,
    pub function: fn(&ZSet<i64>) -> ZSet<i64>,
    pub log: Log,
    committed: ZSet<i64>,
    staged: ZSet<i64>,
    sent: bool,
}

impl Whole {
    pub fn new(label: &'static str, function: fn(&ZSet<i64>) -> ZSet<i64>, log: &Log) -> Box<Self> {
        Box::new(Whole {
            label,
            function,
            log: log.clone(),
            committed: ZSet::new(),
            staged: ZSet::new(),
            sent: false,
        })
    }

    pub fn distinct(log: &Log) -> Box<Self> {
        Whole::new("distinct", ZSet::distinct, log)
    }

    /// One row, the number of rows: not empty even if there are none.
    pub fn count(log: &Log) -> Box<Self> {
        Whole::new("count", |rows| ZSet::from_rows([rows.total_weight() as i64]), log)
    }
}

impl Operator for Whole {
    fn name(&self) -> &'static str {
        "whole"
    }

    fn label(&self) -> String {
        self.label.to_owned()
    }

    fn commit(&mut self) {
        self.log.push(format!("{} commit", self.label));
        self.committed = self.committed.plus(&std::mem::take(&mut self.staged));
        self.sent = true;
    }

    fn rollback(&mut self) {
        self.log.push(format!("{} rollback", self.label));
        self.staged = ZSet::new();
    }

    fn state(&self) -> StateSize {
        StateSize { rows: self.committed.len(), bytes: 16 * self.committed.len(), batches: 1 }
    }
}

impl UnaryOperator for Whole {
    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<Value, OperatorError> {
        self.log.push(self.label);
        let before = if self.sent { (self.function)(&self.committed) } else { ZSet::new() };
        self.staged = zset(input.as_changes()?);
        Ok(from_zset(&(self.function)(&self.committed.plus(&self.staged)).minus(&before)).into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Whole::new(self.label, self.function, &self.log)
    }
}

/// Fails, panics or raises the interrupt when it sees a given row.
#[derive(Clone)]
pub struct Trap {
    pub on: i64,
    pub act: fn(&Context<'_>) -> Result<(), OperatorError>,
}

impl Operator for Trap {
    fn name(&self) -> &'static str {
        "trap"
    }

    fn label(&self) -> String {
        format!("x = {}", self.on)
    }
}

impl UnaryOperator for Trap {
    fn eval(&mut self, input: Input<'_>, ctx: &Context<'_>) -> Result<Value, OperatorError> {
        if zset(input.as_changes()?).weight(&self.on) != 0 {
            (self.act)(ctx)?;
        }
        Ok(input.into_value())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(self.clone())
    }
}

/// Has a value on its output even if it does not run, as an index does.
pub struct Standing(pub ZSet<i64>);

impl Operator for Standing {
    fn name(&self) -> &'static str {
        "standing"
    }

    fn idle(&self) -> Option<Value> {
        Some(from_zset(&self.0).into())
    }
}

impl UnaryOperator for Standing {
    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<Value, OperatorError> {
        Ok(input.into_value())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Box::new(Standing(self.0.clone()))
    }
}

/// Sends at each step what it read at the step before, by itself, and tells when its clock started.
#[derive(Default)]
pub struct Delay {
    pub log: Log,
    held: ZSet<i64>,
    next: ZSet<i64>,
}

impl Delay {
    pub fn new(log: &Log) -> Box<Self> {
        Box::new(Delay { log: log.clone(), ..Delay::default() })
    }
}

impl Operator for Delay {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn clock_start(&mut self, now: Moment) {
        self.log.push(format!("clock starts at step {} depth {}", now.step.0, now.depth));
    }

    fn has_work(&self) -> bool {
        !self.held.is_empty()
    }

    fn integral(&self) -> Result<Option<Value>, OperatorError> {
        Err(OperatorError::NoIntegral)
    }

    fn commit(&mut self) {
        self.held = std::mem::take(&mut self.next);
    }

    fn rollback(&mut self) {
        self.next = ZSet::new();
    }
}

impl UnaryOperator for Delay {
    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<Value, OperatorError> {
        self.log.push("delay");
        self.next = zset(input.as_changes()?);
        Ok(from_zset(&self.held).into())
    }

    fn fresh(&self) -> Box<dyn UnaryOperator> {
        Delay::new(&self.log)
    }
}

/// Hands committed changes to a log.
pub struct Printer {
    pub log: Log,
    pub staged: Option<ZSet<i64>>,
}

impl Operator for Printer {
    fn name(&self) -> &'static str {
        "printer"
    }

    fn commit(&mut self) {
        if let Some(rows) = self.staged.take() {
            self.log.push(format!("{rows:?}"));
        }
    }

    fn rollback(&mut self) {
        self.staged = None;
    }
}

impl SinkOperator for Printer {
    fn eval(&mut self, input: Input<'_>, _: &Context<'_>) -> Result<(), OperatorError> {
        self.staged = Some(zset(input.as_changes()?));
        Ok(())
    }
}

/// A circuit with one table.
pub fn with_table() -> (Circuit, StreamId) {
    let mut circuit = Circuit::new();
    let table = circuit.add_source(Box::new(Table::default()), schema()).unwrap();
    (circuit, table)
}
