//! Measures the join: a load of two large tables, the kernel alone, then steps of one row and of a thousand.
//!
//! Times are those that the thread was on a CPU, as Linux accounts them, so that a busy machine does not blur them; elsewhere they read zero.
//! The clock is coarse: figures of few calls that are short mean little. Compare variants by the least of several runs that alternate.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tailrace_algebra::Step;
use tailrace_circuit::{BinaryOperator, Circuit, Context, Input, Interrupt, StreamId, Value};
use tailrace_operators::{Arrange, Distinct, Join, JoinColumn, JoinSpec, SemiJoin, SemiSpec, Source};
use tailrace_trace::{Arranged, ChangeBatch, IndexedBatch, Layout, Snapshot, TraceError, meet};

type Failure = Box<dyn std::error::Error>;

fn table(names: [&str; 2]) -> SchemaRef {
    Arc::new(Schema::new(names.map(|name| Field::new(name, DataType::Int64, false)).to_vec()))
}

/// Rows `(k, v)` with keys out of `keys`, scattered.
fn rows(schema: &SchemaRef, from: usize, count: usize, keys: u64) -> Result<ChangeBatch, Failure> {
    let scatter = |i: usize| {
        (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xd6e8_feb8_6659_fd93)
    };
    let k: Int64Array = (from..from + count).map(|i| (scatter(i) % keys) as i64).collect();
    let v: Int64Array = (from..from + count).map(|i| i as i64).collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(k), Arc::new(v)];
    Ok(ChangeBatch::try_new(Arc::clone(schema), columns, vec![1; count].into())?)
}

fn arrange(
    circuit: &mut Circuit,
    input: StreamId,
    schema: &SchemaRef,
    columns: Vec<usize>,
    key: usize,
) -> Result<StreamId, Failure> {
    let fields: Vec<Field> = columns.iter().map(|c| schema.field(*c).clone()).collect();
    let schema = Arc::new(Schema::new(fields));
    let layout = Layout::rows(schema.clone(), key)?;
    Ok(circuit.add_unary(Box::new(Arrange::new(columns, layout)), input, schema)?)
}

fn main() -> Result<(), Failure> {
    let n: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let (a, b) = (table(["k", "v"]), table(["k", "w"]));
    let out = Arc::new(Schema::new(vec![a.field(0).clone(), a.field(1).clone(), b.field(1).clone()]));
    let mut circuit = Circuit::new();
    let left = circuit.add_source(Box::new(Source::new(a.clone())), a.clone())?;
    let right = circuit.add_source(Box::new(Source::new(b.clone())), b.clone())?;
    let left_index = arrange(&mut circuit, left, &a, vec![0, 1], 1)?;
    let right_index = arrange(&mut circuit, right, &b, vec![0, 1], 1)?;
    let spec =
        JoinSpec::new(vec![JoinColumn::Left(0), JoinColumn::Left(1), JoinColumn::Right(1)], out.clone());
    let join = circuit.add_binary(Box::new(Join::new(spec)), left_index, right_index, out)?;
    circuit.watch(join)?;
    let keys = arrange(&mut circuit, right, &b, vec![0], 1)?;
    let semi = SemiSpec { anti: false, output: vec![0, 1], schema: a.clone(), null_matches: false };
    let semi = circuit.add_binary(Box::new(SemiJoin::new(semi)), left_index, keys, a.clone())?;
    circuit.watch(semi)?;
    let whole = arrange(&mut circuit, left, &a, vec![0, 1], 2)?;
    let distinct = circuit.add_unary(Box::new(Distinct::new(vec![0, 1], a.clone())), whole, a.clone())?;
    circuit.watch(distinct)?;
    let (l, r) = (rows(&a, 0, n, n as u64)?, rows(&b, n, n, n as u64)?);
    let start = cpu();
    let output = circuit.step([(left, l), (right, r)])?;
    println!(
        "load {n} x {n}: {:.1} ms on CPU, {} rows",
        (cpu() - start) / 1e6,
        output.get(join).map_or(0, |value| value.rows())
    );
    drop(output);
    kernels(n)?;
    for count in [1, 1000] {
        let steps = 1000;
        let changes: Vec<ChangeBatch> =
            (0..steps).map(|i| rows(&a, 3 * n + i * count, count, n as u64)).collect::<Result<_, _>>()?;
        let before = cpu();
        for change in changes {
            circuit.step([(left, change)])?;
        }
        println!("step of {count}: {:.2} us on CPU", (cpu() - before) / steps as f64 / 1e3);
    }
    Ok(())
}

/// Nanoseconds that this thread has been on a CPU.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

fn timed<T>(name: &str, times: usize, mut work: impl FnMut() -> Result<T, Failure>) -> Result<(), Failure> {
    work()?;
    let start = cpu();
    for _ in 0..times {
        std::hint::black_box(work()?);
    }
    println!("  {name}: {:.2} us", (cpu() - start) / times as f64 / 1e3);
    Ok(())
}

/// The operators alone, over indexes that are ready.
fn kernels(n: usize) -> Result<(), Failure> {
    let (a, b) = (table(["k", "v"]), table(["k", "w"]));
    let layout = Layout::rows(a.clone(), 1)?;
    let index = |from: usize, count: usize| -> Result<Arc<IndexedBatch>, Failure> {
        Ok(Arc::new(IndexedBatch::from_changes(&layout, &rows(&a, from, count, n as u64)?, &[0, 1])?))
    };
    let (left, right) = (index(0, n)?, index(n, n)?);
    let (one, thousand) = (index(5 * n, 1)?, index(6 * n, 1000)?);
    let empty = Arc::new(IndexedBatch::empty(&layout));
    let trace = Snapshot::new(layout.clone(), vec![right.clone()]);
    let none = Snapshot::empty(&layout);
    let out = Arc::new(Schema::new(vec![a.field(0).clone(), a.field(1).clone(), b.field(1).clone()]));
    let spec = JoinSpec::new(vec![JoinColumn::Left(0), JoinColumn::Left(1), JoinColumn::Right(1)], out);
    let mut join = Join::new(spec);
    let interrupt = Interrupt::default();
    let ctx = Context::at_step(Step(1), &interrupt);
    let mut eval =
        |delta: &Arc<IndexedBatch>, other: Arc<IndexedBatch>, before: &Snapshot| -> Result<Value, Failure> {
            let left = Value::Indexed(Arranged { delta: delta.clone(), before: none.clone() });
            let right = Value::Indexed(Arranged { delta: other, before: before.clone() });
            Ok(join.eval(Input::Borrowed(&left), Input::Borrowed(&right), &ctx)?)
        };
    timed("runs of 1 M", 5, || Ok(left.runs()?))?;
    timed("index 1 M", 3, || index(0, n))?;
    timed("index 1", 2000, || index(5 * n, 1))?;
    let starts = left.runs()?;
    timed("meet 1 M x 1 M", 5, || {
        let mut found = 0u64;
        meet(left.key(), &starts, &right, false, |_, rows| {
            found += u64::from(rows.end - rows.start);
            Ok::<_, TraceError>(())
        })?;
        Ok(found)
    })?;
    timed("join 1 M x 1 M", 5, || eval(&left, right.clone(), &none))?;
    timed("join 1000 x 1 M", 200, || eval(&thousand, empty.clone(), &trace))?;
    timed("join 1 x 1 M", 5000, || eval(&one, empty.clone(), &trace))?;
    Ok(())
}
