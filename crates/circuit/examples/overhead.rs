//! temp
use std::sync::Arc; use std::time::Instant;
use arrow_schema::*; use arrow_array::*; use tailrace_circuit::*; use tailrace_trace::ChangeBatch;
struct T(Option<ChangeBatch>, ChangeBatch);
impl Operator for T { fn name(&self) -> &'static str { "t" } fn rollback(&mut self) { self.0 = None } }
impl SourceOperator for T { fn accept(&mut self, c: ChangeBatch) -> Result<(), OperatorError> { self.0 = Some(c); Ok(()) }
 fn eval(&mut self, _: &Context<'_>) -> Result<Value, OperatorError> { Ok(self.0.take().unwrap_or_else(|| self.1.clone()).into()) }
 fn contents(&self) -> Result<Value, OperatorError> { Ok(self.1.clone().into()) } }
struct P; impl Operator for P { fn name(&self) -> &'static str { "p" } }
impl UnaryOperator for P { fn eval(&mut self, i: Input<'_>, _: &Context<'_>) -> Result<Value, OperatorError> { Ok(i.into_value()) } fn fresh(&self) -> Box<dyn UnaryOperator> { Box::new(P) } }
fn main() {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
    let b = ChangeBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![1]))], vec![1i64].into()).unwrap();
    for (tables, depth) in [(1, 4), (600, 4), (1, 1000), (1, 3000)] {
        let mut c = Circuit::new(); let mut ts = vec![];
        for _ in 0..tables { let t = c.add_source(Box::new(T(None, b.clone())), schema.clone()).unwrap(); let mut s = t; for _ in 0..depth { s = c.add_unary(Box::new(P), s, schema.clone()).unwrap(); } c.watch(s).unwrap(); ts.push(t); }
        let n = 2_000; let mut times = vec![];
        for i in 0..n { let t = ts[(i * 7) % ts.len()]; let bb = b.clone(); let s = Instant::now(); let o = c.step([(t, bb)]).unwrap(); times.push(s.elapsed()); assert_eq!(o.changes.len(), 1); }
        times.sort(); println!("{tables} x {depth}: p50 {:?} p10 {:?} per node {:?}", times[n / 2], times[n / 10], times[n / 2] / (depth + 1));
    }
}
