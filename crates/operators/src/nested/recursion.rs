//! Recursive relations: wires a nested scope in which relations are defined by themselves and by each other.
//!
//! **Computes** the fixed point of `R1 = distinct(body1(R1, .., Rn)), .., Rn = distinct(bodyn(R1, .., Rn))`, started from empty relations: one
//! recursive relation, or several that need each other. A relation of a *bag* leaves `distinct` out.
//!
//! **Why it works.** Each relation is a feedback variable: its body sees at iteration `i` what it gave at `i - 1`. Streams carry changes along
//! both axes, so the sum of what a relation sends over the iterations of a step is the change of its fixed point. If the bodies are monotone (no
//! difference, no aggregate between a relation and itself) the fixed point is the least one. Others are iterated in the same way; should
//! they not settle, the limit ends the step.
//!
//! **Bags.** `UNION ALL` as SQL defines it applies the body to the rows of the last iteration only. For a body that is linear in the relation this is
//! the same: what iteration `i + 1` adds is the body of what iteration `i` added. A body that reads the relation twice or through a non-linear
//! operator is no such body, and the planner must refuse it. Over a cycle a bag grows for ever and ends at the limit.

use arrow_schema::{DataType, SchemaRef};
use tailrace_circuit::{GraphError, OperatorError, Scope, StreamId, Subcircuit};

use super::row_weights::TimedDistinct;
use crate::{Map, Scalar};

/// One or several recursive relations.
#[derive(Clone, Debug)]
pub struct Recursion {
    label: Option<String>,
    relations: Vec<Relation>,
    limit: u32,
}

#[derive(Clone, Debug)]
struct Relation {
    name: String,
    schema: SchemaRef,
    bag: bool,
}

/// A stream of the outer scope that the bodies read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outer {
    /// Changes: inside, they come at iteration 0.
    Changes(StreamId),
    /// An index: inside, it can be an input of a [`TimedJoin`](super::TimedJoin) and of nothing else.
    Index(StreamId),
}

/// The streams that the bodies are built from.
#[derive(Clone, Debug)]
pub struct Inside {
    /// The streams of the outer scope, in the order in which they were named.
    pub outer: Vec<StreamId>,
    /// The relations as they were at the iteration before.
    pub relations: Vec<StreamId>,
}

/// Recursive relations in the outer scope.
#[derive(Clone, Debug)]
pub struct Recursive {
    /// The nested scope as a node of the outer one.
    pub scope: StreamId,
    /// The relations at their fixed point, as changes.
    pub relations: Vec<StreamId>,
}

/// Why a recursion could not be built.
#[derive(Debug, thiserror::Error)]
pub enum RecursionError {
    /// The graph refused.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// An operator could not be made.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The builder gave another number of bodies than there are relations.
    #[error("{expected} relations ({names}) need as many bodies, found {found}")]
    Bodies {
        /// Relations.
        expected: usize,
        /// Their names.
        names: String,
        /// Bodies.
        found: usize,
    },
    /// A body has another number of columns than its relation.
    #[error("the body of {relation} has {found} columns, expected {expected}")]
    Columns {
        /// The relation.
        relation: String,
        /// Columns of the relation.
        expected: usize,
        /// Columns of the body.
        found: usize,
    },
    /// A column of a body has another type than that of its relation.
    #[error("column '{column}' of {relation} has type {expected}, but its body gives {found}")]
    ColumnType {
        /// The relation.
        relation: String,
        /// The column.
        column: String,
        /// The type in the relation.
        expected: DataType,
        /// The type in the body.
        found: DataType,
    },
}

impl Recursion {
    /// No relations yet; a step that would take more than `limit` iterations fails.
    pub fn new(limit: u32) -> Self {
        Self { label: None, relations: Vec::new(), limit }
    }

    /// What errors and graphs call it, instead of the names of its relations.
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Adds a relation that is a set.
    pub fn set(self, name: impl Into<String>, schema: SchemaRef) -> Self {
        self.with(name.into(), schema, false)
    }

    /// Adds a relation that is a bag.
    pub fn bag(self, name: impl Into<String>, schema: SchemaRef) -> Self {
        self.with(name.into(), schema, true)
    }

    /// Builds the scope into `scope`. `body` is given the streams inside and returns for each relation the stream that defines it.
    pub fn build<E: From<RecursionError>>(
        &self,
        scope: &mut Scope,
        outer: &[Outer],
        body: impl FnOnce(&mut Subcircuit, &Inside) -> Result<Vec<StreamId>, E>,
    ) -> Result<Recursive, E> {
        let nested = self.nest(scope, outer, body)?;
        let relation = |index| self.select(scope, nested, index);
        let relations = (0..self.relations.len()).map(relation).collect::<Result<_, _>>()?;
        Ok(Recursive { scope: nested, relations })
    }

    /// Like [`build`](Self::build), but gives the nested scope alone: its relations are [selected](Self::select) as they are needed.
    pub fn nest<E: From<RecursionError>>(
        &self,
        scope: &mut Scope,
        outer: &[Outer],
        body: impl FnOnce(&mut Subcircuit, &Inside) -> Result<Vec<StreamId>, E>,
    ) -> Result<StreamId, E> {
        let label = self.label.clone().unwrap_or_else(|| self.names());
        let mut inner = Subcircuit::new("recursion", label).with_limit(self.limit);
        let inside = self.open(scope, outer, &mut inner)?;
        let bodies = body(&mut inner, &inside)?;
        self.close(&mut inner, &inside, &bodies)?;
        Ok(self.add(scope, outer, inner)?)
    }

    /// The changes of one relation of a nested scope.
    pub fn select(
        &self,
        scope: &mut Scope,
        nested: StreamId,
        index: usize,
    ) -> Result<StreamId, RecursionError> {
        Ok(scope.select(nested, index, self.relations[index].schema.clone())?)
    }

    fn with(mut self, name: String, schema: SchemaRef, bag: bool) -> Self {
        self.relations.push(Relation { name, schema, bag });
        self
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.relations.iter().map(|relation| relation.name.as_str()).collect();
        names.join(", ")
    }

    /// Makes the streams that the bodies read.
    fn open(&self, scope: &Scope, outer: &[Outer], inner: &mut Subcircuit) -> Result<Inside, RecursionError> {
        let mut inside = Inside { outer: Vec::new(), relations: Vec::new() };
        for outer in outer {
            let schema = scope.schema(outer.stream())?.clone();
            inside.outer.push(match outer {
                Outer::Changes(_) => inner.import(schema)?,
                Outer::Index(_) => inner.import_held(schema)?,
            });
        }
        for relation in &self.relations {
            inside.relations.push(inner.feedback(relation.schema.clone())?);
        }
        Ok(inside)
    }

    /// Feeds each body to its relation and lets it out.
    fn close(
        &self,
        inner: &mut Subcircuit,
        inside: &Inside,
        bodies: &[StreamId],
    ) -> Result<(), RecursionError> {
        let (expected, found) = (self.relations.len(), bodies.len());
        if expected != found {
            return Err(RecursionError::Bodies { expected, names: self.names(), found });
        }
        for ((relation, variable), body) in self.relations.iter().zip(&inside.relations).zip(bodies) {
            let defined = relation.define(inner, *body)?;
            inner.connect(*variable, defined)?;
            inner.export(defined)?;
        }
        Ok(())
    }

    fn add(&self, scope: &mut Scope, outer: &[Outer], inner: Subcircuit) -> Result<StreamId, RecursionError> {
        let inputs: Vec<StreamId> = outer.iter().map(|outer| outer.stream()).collect();
        let schema = self
            .relations
            .first()
            .map_or_else(|| SchemaRef::new(arrow_schema::Schema::empty()), |first| first.schema.clone());
        Ok(scope.add_nary(Box::new(inner), &inputs, schema)?)
    }
}

impl Relation {
    /// What the relation is at an iteration.
    fn define(&self, inner: &mut Subcircuit, body: StreamId) -> Result<StreamId, RecursionError> {
        let found = inner.schema(body)?.clone();
        self.check(&found)?;
        if !self.bag {
            let distinct = TimedDistinct::new(&self.schema).map_err(OperatorError::from)?;
            return Ok(inner.add_unary(Box::new(distinct), body, self.schema.clone())?);
        }
        // Even if the names agree a node of its own is needed: the body may be the relation itself or an import.
        let columns = (0..found.fields().len()).map(|column| Scalar::column(column, &found)).collect();
        Ok(inner.add_unary(Box::new(Map::new(columns, self.schema.clone())), body, self.schema.clone())?)
    }

    fn check(&self, found: &SchemaRef) -> Result<(), RecursionError> {
        let relation = || self.name.clone();
        let (expected, columns) = (self.schema.fields().len(), found.fields().len());
        if expected != columns {
            return Err(RecursionError::Columns { relation: relation(), expected, found: columns });
        }
        for (field, body) in self.schema.fields().iter().zip(found.fields()) {
            let (expected, found) = (field.data_type(), body.data_type());
            if !expected.equals_datatype(found) {
                let (column, expected, found) = (field.name().clone(), expected.clone(), found.clone());
                return Err(RecursionError::ColumnType { relation: relation(), column, expected, found });
            }
        }
        Ok(())
    }
}

impl Outer {
    /// The stream of the outer scope.
    pub fn stream(self) -> StreamId {
        match self {
            Outer::Changes(stream) | Outer::Index(stream) => stream,
        }
    }
}
