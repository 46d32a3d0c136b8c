//! The pictures, letter by letter.

use tailrace_circuit::{Circuit, GraphOptions, Subcircuit};

use crate::mock::{FlatMap, Log, Plus, Printer, batch, schema, with_table};

fn circuit() -> Circuit {
    let log = Log::default();
    let mut inner = Subcircuit::new("recursive", "reach");
    let seeds = inner.import(schema()).unwrap();
    let before = inner.feedback(schema()).unwrap();
    let sum = inner.add_binary(Plus::new(&log), seeds, before, schema()).unwrap();
    inner.connect(before, sum).unwrap();
    inner.export(sum).unwrap();
    let (mut circuit, table) = with_table();
    let filter = circuit.add_unary(FlatMap::identity("a < \"b\\c\"", &log), table, schema()).unwrap();
    let nested = circuit.add_nary(Box::new(inner), &[filter], schema()).unwrap();
    let output = circuit.select(nested, 0, schema()).unwrap();
    circuit.add_sink(Box::new(Printer { log, staged: None }), output).unwrap();
    circuit
}

#[test]
fn mermaid() {
    let expected = r#"flowchart TD
  n0["table"]
  n1["flat_map: a #lt; #quot;b\c#quot;"]
  subgraph n2["recursive: reach"]
    n2_0["import"]
    n2_1["feedback"]
    n2_2["plus"]
  end
  n3["select: output 0"]
  n4["printer"]
  n0 --> n1
  n2_0 --> n2_2
  n2_1 --> n2_2
  n2_2 -.-> n2_1
  n1 --> n2_0
  n2_2 --> n3
  n3 --> n4
"#;
    assert_eq!(circuit().to_mermaid(GraphOptions::default()), expected);
}

#[test]
fn dot() {
    let expected = r#"digraph circuit {
  node [shape=box];
  n0 [label="table"];
  n1 [label="flat_map: a < \"b\\c\""];
  subgraph cluster_n2 { label="recursive: reach";
    n2_0 [label="import"];
    n2_1 [label="feedback"];
    n2_2 [label="plus"];
  }
  n3 [label="select: output 0"];
  n4 [label="printer"];
  n0 -> n1;
  n2_0 -> n2_2;
  n2_1 -> n2_2;
  n2_2 -> n2_1 [style=dashed, constraint=false];
  n1 -> n2_0;
  n2_2 -> n3;
  n3 -> n4;
}
"#;
    assert_eq!(circuit().to_dot(GraphOptions::default()), expected);
}

#[test]
fn the_drawing_has_a_box_for_every_node_and_a_line_for_every_edge() {
    let text = circuit().to_svg(GraphOptions::default());
    let dot = circuit().to_dot(GraphOptions::default());
    let count = |text: &str, what: &str| text.matches(what).count();
    assert_eq!(count(&text, "<rect"), count(&dot, "label="), "{text}");
    assert_eq!(count(&text, "<path"), count(&dot, "->"), "{text}");
    assert_eq!(count(&text, "class=\"feedback\""), count(&dot, "dashed"), "{text}");
}

#[test]
fn figures_are_shown_on_request() {
    let (mut circuit, table) = with_table();
    circuit.step([(table, batch(&[(1, 1)]))]).unwrap();
    let text = circuit.to_mermaid(GraphOptions { metrics: true });
    assert!(text.contains("n0[\"table<br/>1 runs, 0 rows in, 1 rows out, "), "{text}");
    assert!(text.contains("state 0 rows 0 bytes"), "{text}");
}

#[test]
fn nodes_can_be_looked_at() {
    let circuit = circuit();
    let names: Vec<&str> = circuit.nodes().map(|node| node.name()).collect();
    assert_eq!(names, ["table", "flat_map", "recursive", "select", "printer"]);
    let nested = circuit.nodes().find_map(|node| node.subcircuit()).unwrap();
    assert_eq!(nested.nodes().count(), 3);
    let select = circuit.nodes().nth(3).unwrap();
    assert_eq!((select.inputs().len(), select.readers().len(), select.selected()), (1, 1, Some(0)));
    assert_eq!((select.schema(), select.is_watched()), (&schema(), false));
}
