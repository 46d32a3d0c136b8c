//! How fast groups are: loads of a million rows and small changes against them, best and median of several runs.
//!
//! Run it in release mode: `cargo run --release -p tailrace-operators --example group_speed [part of a name]`.
#![expect(clippy::unwrap_used, reason = "an example that fails should say so and stop")]

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use tailrace_circuit::{Context, Input, Interrupt, UnaryOperator};
use tailrace_operators::{
    Aggregate, AggregateCall, AggregateFunction, AggregateSpec, OrderBy, Scalar, TopK, TopKSpec, Window,
    WindowCall, WindowFunction, WindowSpec,
};
use tailrace_trace::ChangeBatch;

const ROWS: usize = 1_000_000;
const GROUPS: u64 = 100_000;
const CHANGES: usize = 1_500;

fn main() {
    use AggregateFunction as F;
    let of_groups = |groups: u64| Load { groups };
    let usual = of_groups(GROUPS);
    usual.measure("count, sum(i64)", || aggregate(&[(F::Count, None), (F::Sum, Some(1))], &[0]));
    of_groups(100)
        .measure("count, sum(i64), 100 groups", || aggregate(&[(F::Count, None), (F::Sum, Some(1))], &[0]));
    of_groups(1_000_000)
        .measure("count, sum(i64), 1M groups", || aggregate(&[(F::Count, None), (F::Sum, Some(1))], &[0]));
    usual.measure("count, sum(i64), one group", || aggregate(&[(F::Count, None), (F::Sum, Some(1))], &[]));
    usual.measure("sum(f64)", || aggregate(&[(F::Sum, Some(2))], &[0]));
    usual
        .measure("avg(f64), stddev(f64)", || aggregate(&[(F::Avg, Some(2)), (F::StddevSamp, Some(2))], &[0]));
    usual.measure("min, max(i64)", || aggregate(&[(F::Min, Some(1)), (F::Max, Some(1))], &[0]));
    usual.measure("array_agg(i64)", || aggregate(&[(F::ArrayAgg, Some(1))], &[0]));
    usual.measure("count(distinct i64)", || distinct_count());
    usual.measure("top 3 per key", || top_k(&[0], 3));
    usual.measure("global top 10", || top_k(&[], 10));
    usual.measure("lag per key", || window(&[0], lag()));
    usual.measure("global lag", || window(&[], lag()));
    usual.measure("row_number per key", || window(&[0], WindowFunction::RowNumber));
}

fn lag() -> WindowFunction {
    WindowFunction::Lag { offset: 1, default: ScalarValue::Int64(None) }
}

/// Rows (key, integer, float).
struct Load {
    groups: u64,
}

impl Load {
    fn measure(&self, name: &str, make: impl Fn() -> Box<dyn UnaryOperator>) {
        if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
            return;
        }
        let mut random = Random(7);
        let rows = self.rows(ROWS, &mut random);
        let (mut best, mut operator) = (f64::MAX, make());
        for _ in 0..3 {
            operator = make();
            let start = Instant::now();
            step(&mut operator, rows.clone());
            best = best.min(start.elapsed().as_secs_f64());
        }
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..200 {
            let changes = self.changes(&rows, &mut random);
            let start = Instant::now();
            step(&mut operator, changes);
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        println!(
            "{name:32} load {:7.1} ms   change p50 {:8.3} ms  p99 {:8.3} ms",
            best * 1e3,
            times[100] * 1e3,
            times[198] * 1e3
        );
    }

    fn rows(&self, count: usize, random: &mut Random) -> ChangeBatch {
        let keys: Vec<i64> = (0..count).map(|_| (random.next() % self.groups) as i64).collect();
        let integers: Vec<i64> = (0..count).map(|_| (random.next() % 1_000_000) as i64).collect();
        let floats: Vec<f64> = (0..count).map(|_| random.next() as f64 / 1e15).collect();
        batch(keys, integers, floats, vec![1; count])
    }

    /// Half deletes of loaded rows, half inserts.
    fn changes(&self, loaded: &ChangeBatch, random: &mut Random) -> ChangeBatch {
        let rows: Vec<u32> = (0..CHANGES / 2).map(|_| (random.next() % ROWS as u64) as u32).collect();
        let gone = loaded.take(&rows.into()).unwrap().negate().unwrap();
        let come = self.rows(CHANGES / 2, random);
        ChangeBatch::concat(schema(), &[gone, come]).unwrap()
    }
}

fn step(operator: &mut Box<dyn UnaryOperator>, changes: ChangeBatch) {
    let interrupt = Interrupt::default();
    operator.eval(Input::Owned(changes.into()), &Context::at_step(Default::default(), &interrupt)).unwrap();
    operator.commit();
}

fn schema() -> SchemaRef {
    let field = |name: &str, data_type: DataType| Field::new(name, data_type, false);
    Arc::new(Schema::new(vec![
        field("k", DataType::Int64),
        field("x", DataType::Int64),
        field("f", DataType::Float64),
    ]))
}

fn batch(keys: Vec<i64>, integers: Vec<i64>, floats: Vec<f64>, weights: Vec<i64>) -> ChangeBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(keys)),
        Arc::new(Int64Array::from(integers)),
        Arc::new(Float64Array::from(floats)),
    ];
    ChangeBatch::try_new(schema(), columns, weights.into()).unwrap()
}

fn columns(indices: &[usize]) -> Vec<Scalar> {
    indices.iter().map(|index| Scalar::column(*index, &schema())).collect()
}

fn aggregate(calls: &[(AggregateFunction, Option<usize>)], keys: &[usize]) -> Box<dyn UnaryOperator> {
    let call = |(function, arg): &(AggregateFunction, Option<usize>)| AggregateCall {
        function: function.clone(),
        args: columns(arg.as_slice()),
        filter: None,
        distinct: false,
        order: vec![],
    };
    grouped(calls.iter().map(call).collect(), keys)
}

fn distinct_count() -> Box<dyn UnaryOperator> {
    let call = AggregateCall {
        function: AggregateFunction::Count,
        args: columns(&[1]),
        filter: None,
        distinct: true,
        order: vec![],
    };
    grouped(vec![call], &[0])
}

fn grouped(calls: Vec<AggregateCall>, keys: &[usize]) -> Box<dyn UnaryOperator> {
    let keys = columns(keys);
    let result = |call: &AggregateCall| {
        let args: Vec<DataType> = call.args.iter().map(|arg| arg.data_type().clone()).collect();
        call.function.return_type(&args).unwrap()
    };
    let types = keys.iter().map(|key| key.data_type().clone()).chain(calls.iter().map(result));
    let fields: Vec<Field> =
        types.enumerate().map(|(index, of)| Field::new(format!("c{index}"), of, true)).collect();
    Box::new(Aggregate::new(AggregateSpec { keys, calls, schema: Arc::new(Schema::new(fields)) }).unwrap())
}

fn order() -> Vec<OrderBy> {
    vec![OrderBy { scalar: Scalar::column(1, &schema()), descending: true, nulls_first: true }]
}

fn top_k(partition: &[usize], k: usize) -> Box<dyn UnaryOperator> {
    let spec =
        TopKSpec { partition: columns(partition), order: order(), k: Some(k), offset: 0, schema: schema() };
    Box::new(TopK::new(spec).unwrap())
}

fn window(partition: &[usize], function: WindowFunction) -> Box<dyn UnaryOperator> {
    let args = if function == WindowFunction::RowNumber { vec![] } else { columns(&[1]) };
    let mut fields: Vec<Field> = schema().fields().iter().map(|field| field.as_ref().clone()).collect();
    fields.push(Field::new("w", DataType::Int64, true));
    let (partition, functions) = (columns(partition), vec![WindowCall { function, args }]);
    Box::new(
        Window::new(WindowSpec {
            partition,
            order: order(),
            functions,
            schema: Arc::new(Schema::new(fields)),
        })
        .unwrap(),
    )
}

/// A small generator of numbers: xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
