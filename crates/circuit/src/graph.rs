//! Pictures of a circuit: Mermaid and Graphviz.
//!
//! **Promise.** Same circuit, same text: nodes and edges come in the order of the schedule. A nested scope is a box; edges enter
//! it at the import and leave it at the exported stream, so that a path can be followed by eye. Feedback is dashed.

use std::fmt::Write;

use crate::node::{NodeId, StreamId};
use crate::scope::Scope;
use crate::view::NodeView;

/// What a picture shows besides names and edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct GraphOptions {
    /// Evaluations, rows, time and state of each node.
    pub metrics: bool,
}

impl Scope {
    /// The circuit as a Mermaid flowchart.
    pub fn to_mermaid(&self, options: GraphOptions) -> String {
        let mut picture = Picture::new(Language::Mermaid, options);
        picture.text.push_str("flowchart TD\n");
        picture.scope(self, "n", 1);
        picture.finish()
    }

    /// The circuit in Graphviz's DOT language.
    pub fn to_dot(&self, options: GraphOptions) -> String {
        let mut picture = Picture::new(Language::Dot, options);
        picture.text.push_str("digraph circuit {\n  node [shape=box];\n");
        picture.scope(self, "n", 1);
        let mut text = picture.finish();
        text.push_str("}\n");
        text
    }
}

#[derive(Clone, Copy)]
enum Language {
    Mermaid,
    Dot,
}

/// A picture being drawn. Edges are kept apart, since boxes must be closed before they are crossed.
struct Picture {
    language: Language,
    options: GraphOptions,
    text: String,
    edges: String,
}

impl Picture {
    fn new(language: Language, options: GraphOptions) -> Self {
        Picture { language, options, text: String::new(), edges: String::new() }
    }

    fn finish(mut self) -> String {
        self.text.push_str(&self.edges);
        self.text
    }

    /// Draws all nodes of a scope; `prefix` makes their names unique among scopes.
    fn scope(&mut self, scope: &Scope, prefix: &str, depth: usize) {
        for node in scope.nodes() {
            self.node(&node, prefix, depth);
            let inputs = node.inputs().iter().enumerate();
            inputs.for_each(|(place, input)| {
                self.edge(&leaving(scope, *input, &node, prefix), &entering(&node, place, prefix), false)
            });
        }
        for (variable, stream) in scope.feedbacks() {
            self.edge(&name(prefix, stream.node()), &name(prefix, variable.node()), true);
        }
    }

    fn node(&mut self, node: &NodeView<'_>, prefix: &str, depth: usize) {
        let (name, title, indent) = (name(prefix, node.id()), title(node, self.options), "  ".repeat(depth));
        let Some(inner) = node.subcircuit() else {
            return self.line(&indent, &self.language.node(&name, &title));
        };
        self.line(&indent, &self.language.open_box(&name, &title));
        self.scope(inner, &format!("{name}_"), depth + 1);
        self.line(&indent, self.language.close_box());
    }

    fn edge(&mut self, from: &str, to: &str, dashed: bool) {
        let edge = self.language.edge(from, to, dashed);
        let _ = writeln!(self.edges, "  {edge}");
    }

    fn line(&mut self, indent: &str, line: &str) {
        let _ = writeln!(self.text, "{indent}{line}");
    }
}

impl Language {
    fn node(self, name: &str, title: &str) -> String {
        match self {
            Language::Mermaid => format!("{name}[\"{}\"]", self.escape(title)),
            Language::Dot => format!("{name} [label=\"{}\"];", self.escape(title)),
        }
    }

    fn open_box(self, name: &str, title: &str) -> String {
        match self {
            Language::Mermaid => format!("subgraph {name}[\"{}\"]", self.escape(title)),
            Language::Dot => format!("subgraph cluster_{name} {{ label=\"{}\";", self.escape(title)),
        }
    }

    fn close_box(self) -> &'static str {
        match self {
            Language::Mermaid => "end",
            Language::Dot => "}",
        }
    }

    fn edge(self, from: &str, to: &str, dashed: bool) -> String {
        match (self, dashed) {
            (Language::Mermaid, false) => format!("{from} --> {to}"),
            (Language::Mermaid, true) => format!("{from} -.-> {to}"),
            (Language::Dot, false) => format!("{from} -> {to};"),
            (Language::Dot, true) => format!("{from} -> {to} [style=dashed, constraint=false];"),
        }
    }

    /// Labels are users' text: nothing in them may end the string or be taken for markup.
    fn escape(self, text: &str) -> String {
        match self {
            Language::Dot => text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"),
            Language::Mermaid => ["&", "\"", "<", ">"]
                .into_iter()
                .zip(["#amp;", "#quot;", "#lt;", "#gt;"])
                .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
                .replace('\n', "<br/>"),
        }
    }
}

/// What stands in a node.
pub(crate) fn title(node: &NodeView<'_>, options: GraphOptions) -> String {
    let mut title = node.name().to_owned();
    let label = node.label();
    if !label.is_empty() {
        let _ = write!(title, ": {label}");
    }
    if options.metrics {
        title.push('\n');
        title.push_str(&figures(node));
    }
    title
}

/// What a node is called in a picture.
pub(crate) fn name(prefix: &str, id: NodeId) -> String {
    format!("{prefix}{id}")
}

/// Where an edge to `reader` starts: at the node, or at the stream inside it that `reader` selects.
pub(crate) fn leaving(scope: &Scope, stream: StreamId, reader: &NodeView<'_>, prefix: &str) -> String {
    let outer = name(prefix, stream.node());
    let inner = scope.view(stream.node()).and_then(|node| node.subcircuit());
    let export = inner.and_then(|inner| inner.exports().get(reader.selected().unwrap_or(0)));
    export.map_or(outer.clone(), |export| name(&format!("{outer}_"), export.node()))
}

/// Where an edge to input `place` of a node ends: at the node, or at the import inside it.
pub(crate) fn entering(node: &NodeView<'_>, place: usize, prefix: &str) -> String {
    let outer = name(prefix, node.id());
    let import = node.subcircuit().and_then(|inner| inner.imports().get(place));
    import.map_or(outer.clone(), |import| name(&format!("{outer}_"), import.node()))
}

fn figures(node: &NodeView<'_>) -> String {
    let (metrics, state) = (node.metrics(), node.state());
    format!(
        "{} runs, {} rows in, {} rows out, {:.1} ms, state {} rows {} bytes",
        metrics.evaluations,
        metrics.rows_in,
        metrics.rows_out,
        metrics.time.as_secs_f64() * 1e3,
        state.rows,
        state.bytes
    )
}
