//! Nodes of a circuit, and the names they and their streams go by.
//!
//! **Promise.** A node reads only nodes with smaller names, since a stream must exist before it is read, and names are
//! never used twice. So *the order of names is a schedule*: it is static, survives adding and removing nodes, and lets a
//! node be evaluated while everything it reads lies in the part of the table before it. The one edge that leads back, from
//! a fed stream to its feedback variable, is crossed between two ticks and is not part of the order.

use std::fmt;

use arrow_schema::SchemaRef;
use tailrace_trace::ChangeBatch;

use crate::metrics::Metrics;
use crate::operation::Operation;
use crate::value::Value;

/// The name of a node within its scope. Names are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// The name of the stream that a node writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(crate) NodeId);

impl NodeId {
    /// The place of the node in the schedule.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl StreamId {
    /// The node that writes the stream.
    pub fn node(self) -> NodeId {
        self.0
    }

    pub(crate) fn index(self) -> usize {
        self.0.index()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One operator with its edges, its output of the current tick and its figures.
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) operation: Operation,
    /// Streams read, in the operator's order of inputs.
    pub(crate) inputs: Vec<StreamId>,
    /// Nodes that read this one, ascending; one that reads it twice is listed twice.
    pub(crate) readers: Vec<NodeId>,
    /// Behind a router: its outputs, ascending, each with the node that selects it.
    pub(crate) routes: Vec<(u32, NodeId)>,
    /// Readers outside the schedule: watchers of outputs and feedback variables.
    pub(crate) holds: u32,
    /// Whether the output is collected after each step; counts how often that was asked for.
    pub(crate) watched: u32,
    pub(crate) schema: SchemaRef,
    /// The output of this tick, until its last reader took it.
    pub(crate) value: Option<Value>,
    /// What readers see when the node was not evaluated and has no [`Operator::idle`](crate::Operator::idle) value.
    pub(crate) empty: Value,
    /// Evaluated since the last commit.
    pub(crate) touched: bool,
    /// On the list of nodes that run at the next step without input.
    pub(crate) waking: bool,
    /// Evaluated on the whole contents of what it reads, so that what it keeps is the sum of the past.
    pub(crate) complete: bool,
    pub(crate) metrics: Metrics,
}

impl Node {
    pub(crate) fn new(id: NodeId, operation: Operation, inputs: Vec<StreamId>, schema: SchemaRef) -> Self {
        let empty = Value::Changes(ChangeBatch::empty(schema.clone()));
        Node {
            id,
            operation,
            inputs,
            readers: Vec::new(),
            routes: Vec::new(),
            holds: 0,
            watched: 0,
            schema,
            value: None,
            empty,
            touched: false,
            waking: false,
            complete: false,
            metrics: Metrics::default(),
        }
    }

    /// The same node with empty state, if its operator can be copied.
    pub(crate) fn fresh(&self) -> Option<Self> {
        let mut node = Node::new(self.id, self.operation.fresh()?, self.inputs.clone(), self.schema.clone());
        node.readers.clone_from(&self.readers);
        node.routes.clone_from(&self.routes);
        node.holds = self.holds;
        Some(node)
    }

    /// Takes a reader off the list, and closes its output if this is a router.
    pub(crate) fn forget_reader(&mut self, gone: NodeId) {
        self.readers.retain(|reader| *reader != gone);
        if let Operation::Router(router) = &mut self.operation {
            self.routes
                .iter()
                .filter(|(_, reader)| *reader == gone)
                .for_each(|(output, _)| router.close(*output));
            self.routes.retain(|(_, reader)| *reader != gone);
        }
    }

    /// Whether anybody reads the output.
    pub(crate) fn is_read(&self) -> bool {
        self.holds > 0 || !self.readers.is_empty()
    }

    /// Whether `reader` is the last one in the schedule and may own the output. A node that reads the stream twice may
    /// not: one of its inputs would be gone.
    pub(crate) fn is_last_read_by(&self, reader: NodeId) -> bool {
        self.holds == 0
            && match self.readers.as_slice() {
                [.., before, last] => *last == reader && *before != reader,
                [only] => *only == reader,
                [] => false,
            }
    }

    /// The output of this tick as readers see it.
    pub(crate) fn output(&self) -> &Value {
        self.value.as_ref().unwrap_or(&self.empty)
    }
}
