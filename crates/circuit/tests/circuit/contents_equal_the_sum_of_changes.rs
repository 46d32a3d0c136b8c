//! For any circuit and any changes: the changes of a stream add up to its content, and the content is what the reference Z-set
//! computes; however the changes are split into steps, and whenever the upper half of the circuit was added and filled.

use proptest::collection::vec;
use proptest::prelude::*;
use tailrace_algebra::ZSet;
use tailrace_circuit::{Circuit, NodeId, StreamId};

use crate::mock::{FlatMap, Log, Plus, Whole, batch, change, schema, with_table, zset};

/// A node of a random circuit; numbers pick the streams it reads among those before it.
#[derive(Clone, Debug)]
enum Piece {
    Halve(usize),
    Drop(usize),
    Distinct(usize),
    Count(usize),
    Plus(usize, usize),
    Sum(usize, usize, usize),
}

fn piece() -> impl Strategy<Value = Piece> {
    let at = || 0usize..100;
    prop_oneof![
        at().prop_map(Piece::Halve),
        at().prop_map(Piece::Drop),
        at().prop_map(Piece::Distinct),
        at().prop_map(Piece::Count),
        (at(), at()).prop_map(|(a, b)| Piece::Plus(a, b)),
        (at(), at(), at()).prop_map(|(a, b, c)| Piece::Sum(a, b, c)),
    ]
}

fn drop_odd(x: &i64) -> Vec<i64> {
    if x % 2 == 0 { vec![*x] } else { vec![] }
}

fn add(circuit: &mut Circuit, piece: &Piece, streams: &[StreamId]) -> StreamId {
    let log = Log::default();
    let at = |place: &usize| streams[place % streams.len()];
    let stream = match piece {
        Piece::Halve(a) => circuit.add_unary(FlatMap::new("halve", |x| vec![x / 2], &log), at(a), schema()),
        Piece::Drop(a) => circuit.add_unary(FlatMap::new("drop", drop_odd, &log), at(a), schema()),
        Piece::Distinct(a) => circuit.add_unary(Whole::distinct(&log), at(a), schema()),
        Piece::Count(a) => circuit.add_unary(Whole::count(&log), at(a), schema()),
        Piece::Plus(a, b) => circuit.add_binary(Plus::new(&log), at(a), at(b), schema()),
        Piece::Sum(a, b, c) => circuit.add_nary(Plus::new(&log), &[at(a), at(b), at(c)], schema()),
    };
    let stream = stream.unwrap();
    circuit.watch(stream).unwrap();
    stream
}

/// The contents of all streams, from scratch.
fn reference(table: &ZSet<i64>, pieces: &[Piece]) -> Vec<ZSet<i64>> {
    let mut contents = vec![table.clone()];
    for piece in pieces {
        let at = |place: &usize| &contents[place % contents.len()];
        let content = match piece {
            Piece::Halve(a) => at(a).map(|x| x / 2),
            Piece::Drop(a) => at(a).filter(|x| x % 2 == 0),
            Piece::Distinct(a) => at(a).distinct(),
            Piece::Count(a) => ZSet::from_rows([at(a).total_weight() as i64]),
            Piece::Plus(a, b) => at(a).plus(at(b)),
            Piece::Sum(a, b, c) => at(a).plus(at(b)).plus(at(c)),
        };
        contents.push(content);
    }
    contents
}

/// A circuit under test with the sums of all changes it gave.
struct Run {
    circuit: Circuit,
    streams: Vec<StreamId>,
    sums: Vec<ZSet<i64>>,
}

impl Run {
    fn new() -> Self {
        let (mut circuit, table) = with_table();
        circuit.watch(table).unwrap();
        Run { circuit, streams: vec![table], sums: vec![ZSet::new()] }
    }

    fn extend(&mut self, pieces: &[Piece]) {
        let first = self.streams.len();
        for piece in pieces {
            let stream = add(&mut self.circuit, piece, &self.streams);
            self.streams.push(stream);
            self.sums.push(ZSet::new());
        }
        let nodes: Vec<NodeId> = self.streams[first..].iter().map(|stream| stream.node()).collect();
        let output = self.circuit.fill(&nodes).unwrap();
        self.note(&output);
    }

    fn step(&mut self, changes: &[(i64, i64)]) {
        let output = self.circuit.step([(self.streams[0], batch(changes))]).unwrap();
        self.note(&output);
    }

    fn note(&mut self, output: &tailrace_circuit::StepOutput) {
        for (stream, sum) in self.streams.iter().zip(&mut self.sums) {
            *sum = sum.plus(&change(output, *stream));
        }
    }

    fn contents(&self) -> Vec<ZSet<i64>> {
        let values = self.circuit.evaluate_integrals(&self.streams).unwrap();
        values.iter().map(|value| zset(value.as_changes().unwrap())).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(tailrace_tests::cases(300)))]

    #[test]
    fn oracle_contents_equal_the_sum_of_changes(
        below in vec(piece(), 0..6),
        above in vec(piece(), 0..6),
        before in vec(vec((-6i64..6, -2i64..3), 0..5), 0..5),
        after in vec(vec((-6i64..6, -2i64..3), 0..5), 0..5),
    ) {
        let mut run = Run::new();
        run.extend(&below);
        before.iter().for_each(|changes| run.step(changes));
        run.extend(&above);
        after.iter().for_each(|changes| run.step(changes));
        let table: ZSet<i64> = before.iter().chain(&after).flatten().copied().collect();
        let expected = reference(&table, &[below, above].concat());
        prop_assert_eq!(run.contents(), expected.clone());
        prop_assert_eq!(run.sums, expected);
        tailrace_tests::count_steps(before.len() + after.len());
    }
}
