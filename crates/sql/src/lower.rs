//! Lowering: a plan becomes nodes of a circuit. Equal sub-plans and equal indexes are built once, over all views. What depends on history (a delay, an
//! integral) is shared within one view alone: its content depends on when it was made, and a later view could not be filled from it.
//!
//! One method a plan node; filters, joins and recursion have files of their own. What differs inside a recursive scope (traces carry iterations) is
//! decided in the small methods at the end: `arrange`, `join_streams`, `distinct`, `per_key`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use tailrace_circuit::{Circuit, NodeId, Scope, StreamId, UnaryOperator};
use tailrace_operators::{
    Aggregate, Arrange, Constant, Delay, Differentiate, Distinct, Framed, Inspect, Integrate, Join, JoinSpec,
    Map, MapRows, Minus, Negate, Plus, Positive, Scalar, Sum, TimedArrange, TimedDistinct, TimedJoin,
    TimedPositive, TimedReduce, TopK, Unnest, Window,
};
use tailrace_trace::{ChangeBatch, Layout, external_type};

use crate::lower_filter::{Family, ROUTE, Siblings};
use crate::{Plan, PlanError, PlanKind, RelationId};

/// The streams that exist already, by what they compute. A copy serves a fork of their circuit.
#[derive(Clone, Default)]
pub struct Lowering {
    memo: Memo,
}

/// What was built for a plan.
pub struct Lowered {
    /// The changes of the plan.
    pub stream: StreamId,
    /// Nodes that did not exist before, in the order in which they were made.
    pub added: Vec<NodeId>,
}

#[derive(Clone, Default)]
pub(crate) struct Memo {
    pub(crate) streams: HashMap<String, StreamId>,
    pub(crate) arrangements: HashMap<Arrangement, StreamId>,
    pub(crate) siblings: HashMap<Family, Siblings>,
}

/// An index: of which columns of which stream, and how many of them are the key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Arrangement {
    pub(crate) stream: StreamId,
    pub(crate) columns: Vec<usize>,
    pub(crate) key_len: usize,
}

impl Lowering {
    /// Adds to `circuit` what `plan` needs and does not find there.
    pub fn lower(
        &mut self,
        circuit: &mut Circuit,
        tables: &HashMap<String, StreamId>,
        plan: &Plan,
    ) -> Result<Lowered, PlanError> {
        self.lower_over(circuit, tables, HashMap::new(), plan)
    }

    /// The same where streams that depend on history are known, by the fingerprints of their plans.
    pub fn lower_over(
        &mut self,
        circuit: &mut Circuit,
        tables: &HashMap<String, StreamId>,
        historic: HashMap<String, StreamId>,
        plan: &Plan,
    ) -> Result<Lowered, PlanError> {
        self.build(circuit, tables, |builder| {
            builder.historic = historic;
            builder.lower(plan)
        })
    }

    /// An index of all columns of a stream: the content of a materialised view.
    pub fn materialise(&mut self, circuit: &mut Circuit, stream: StreamId) -> Result<Lowered, PlanError> {
        self.build(circuit, &HashMap::new(), |builder| Ok(builder.arrange_rows(stream)?.0))
    }

    /// An index of some columns of a stream, the first `key_len` of which are its key.
    pub fn index(
        &mut self,
        circuit: &mut Circuit,
        stream: StreamId,
        columns: Vec<usize>,
        key_len: usize,
    ) -> Result<Lowered, PlanError> {
        self.build(circuit, &HashMap::new(), |builder| builder.arrange(stream, columns, key_len))
    }

    /// Forgets streams whose nodes are gone.
    pub fn forget(&mut self, removed: &[NodeId]) {
        self.memo.streams.retain(|_, stream| !removed.contains(&stream.node()));
        self.memo.arrangements.retain(|_, stream| !removed.contains(&stream.node()));
        self.memo.siblings.retain(|_, siblings| siblings.forget(removed));
    }

    /// The streams that two lowerings know by one name: equal plans, and equal indexes of them.
    pub fn twins(&self, other: &Lowering) -> Vec<(StreamId, StreamId)> {
        // The outputs of a dispatch are named after a node, which another circuit does not have.
        let plans = self.memo.streams.iter().filter(|(name, _)| !name.starts_with(ROUTE));
        let streams: HashMap<StreamId, StreamId> =
            plans.filter_map(|(name, own)| Some((*own, *other.memo.streams.get(name)?))).collect();
        let indexes = self.memo.arrangements.iter().filter_map(|(index, own)| {
            let twin = Arrangement { stream: *streams.get(&index.stream)?, ..index.clone() };
            Some((*own, *other.memo.arrangements.get(&twin)?))
        });
        let mut twins: Vec<_> = indexes.collect();
        twins.extend(streams);
        twins.sort_unstable();
        twins
    }

    /// The stream of a plan, if it exists and does not depend on history.
    pub fn stream_of(&self, plan: &Plan) -> Option<StreamId> {
        self.memo.streams.get(plan.fingerprint()).copied()
    }

    fn build(
        &mut self,
        circuit: &mut Circuit,
        tables: &HashMap<String, StreamId>,
        work: impl FnOnce(&mut Builder<'_>) -> Result<StreamId, PlanError>,
    ) -> Result<Lowered, PlanError> {
        let mut builder = Builder::new(circuit, &mut self.memo, tables, None);
        let built = work(&mut builder);
        let added = std::mem::take(&mut builder.added);
        match built {
            Ok(stream) => Ok(Lowered { stream, added }),
            Err(error) => {
                for node in added.iter().rev() {
                    circuit.prune(*node);
                }
                self.forget(&added);
                Err(error)
            }
        }
    }
}

/// Adds nodes to one scope.
pub(crate) struct Builder<'a> {
    pub(crate) scope: &'a mut Scope,
    pub(crate) memo: &'a mut Memo,
    /// The streams of this plan that depend on history.
    historic: HashMap<String, StreamId>,
    pub(crate) added: Vec<NodeId>,
    pub(crate) tables: &'a HashMap<String, StreamId>,
    /// The recursive relations, inside a recursive scope.
    pub(crate) relations: Option<HashMap<RelationId, StreamId>>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(
        scope: &'a mut Scope,
        memo: &'a mut Memo,
        tables: &'a HashMap<String, StreamId>,
        relations: Option<HashMap<RelationId, StreamId>>,
    ) -> Self {
        Self { scope, memo, historic: HashMap::new(), added: Vec::new(), tables, relations }
    }
}

impl Builder<'_> {
    /// The stream of a plan, built if it does not exist.
    pub(crate) fn lower(&mut self, plan: &Plan) -> Result<StreamId, PlanError> {
        let historic = plan.depends_on_history();
        if let Some(stream) = self.known(historic).get(plan.fingerprint()) {
            return Ok(*stream);
        }
        let stream = self.lower_kind(plan)?;
        self.known(historic).insert(plan.fingerprint().to_owned(), stream);
        Ok(stream)
    }

    /// The streams among which one of this kind is looked for. A nested scope belongs to one recursion, which is shared or not as a whole.
    pub(crate) fn known(&mut self, historic: bool) -> &mut HashMap<String, StreamId> {
        if historic && !self.is_nested() { &mut self.historic } else { &mut self.memo.streams }
    }

    fn lower_kind(&mut self, plan: &Plan) -> Result<StreamId, PlanError> {
        let schema = Arc::clone(plan.schema());
        match plan.kind() {
            PlanKind::Table(name) => self.table(name, &schema),
            PlanKind::Relation(id) => self.relation(*id),
            PlanKind::Filter { input, predicates } => self.filter(input, predicates, schema),
            PlanKind::Project { input, columns } => self.project(input, columns, schema),
            PlanKind::Unnest { input, column } => {
                self.unary(input, Unnest::new(*column, Arc::clone(&schema)), schema)
            }
            PlanKind::Aggregate { input, spec } => {
                let keys = spec.keys.clone();
                self.per_key(input, keys, Box::new(Aggregate::new(spec.clone())?), schema)
            }
            PlanKind::TopK { input, spec } => {
                let keys = spec.partition.clone();
                self.per_key(input, keys, Box::new(TopK::new(spec.clone())?), schema)
            }
            PlanKind::Window { input, spec } => {
                let keys = spec.partition.clone();
                self.per_key(input, keys, Box::new(Window::new(spec.clone())?), schema)
            }
            PlanKind::Framed { input, spec } => {
                let keys = spec.partition.clone();
                self.per_key(input, keys, Box::new(Framed::new(spec.clone())?), schema)
            }
            PlanKind::Join { .. } => self.lower_join(plan),
            PlanKind::Constant(rows) => {
                let stream =
                    self.scope.add_nary(Box::new(Constant::new(ChangeBatch::clone(rows))?), &[], schema)?;
                Ok(self.note(stream))
            }
            PlanKind::Union(inputs) => self.union(inputs, schema),
            PlanKind::Minus(left, right) => self.minus(left, right, schema),
            PlanKind::Negate(input) => self.unary(input, Negate, schema),
            PlanKind::Positive(input) => self.positive(input, schema),
            PlanKind::Distinct(input) => {
                let input = self.lower(input)?;
                self.distinct(input)
            }
            PlanKind::Integrate(input) => {
                self.historic(input, |schema| Ok(Box::new(Integrate::new(schema)?)), schema)
            }
            PlanKind::Differentiate(input) => {
                self.historic(input, |schema| Ok(Box::new(Differentiate::new(schema)?)), schema)
            }
            PlanKind::Delay(input) => {
                self.historic(input, |schema| Ok(Box::new(Delay::new(schema)?)), schema)
            }
            PlanKind::MapRows { input, function } => {
                self.unary(input, MapRows::new(Arc::clone(function), Arc::clone(&schema)), schema)
            }
            PlanKind::Inspect { input, observer } => {
                self.unary(input, Inspect::new(Arc::clone(observer)), schema)
            }
            PlanKind::Fixpoint { recursion, index } => self.lower_fixpoint(recursion, *index),
        }
    }

    /// A table is bound by its name, so it may be another one than the plan was made for: of another database, or made again with other columns.
    fn table(&self, name: &str, planned: &SchemaRef) -> Result<StreamId, PlanError> {
        let Some(stream) = self.tables.get(name).copied() else {
            return Err(PlanError::Invalid(format!("table '{name}' does not exist in this database")));
        };
        let found = self.schema(stream)?;
        if found.fields() != planned.fields() {
            let context = format!(
                "table '{name}' of this database is not the one that the stream reads; make the stream again from db.table"
            );
            let (expected, found) = (columns_of(planned), columns_of(&found));
            return Err(PlanError::TypeMismatch { context, expected, found });
        }
        Ok(stream)
    }

    fn relation(&self, id: RelationId) -> Result<StreamId, PlanError> {
        let bound = self.relations.as_ref().and_then(|relations| relations.get(&id));
        bound
            .copied()
            .ok_or_else(|| PlanError::Invalid("a recursive relation is read outside of its recursion".into()))
    }

    fn union(&mut self, inputs: &[Plan], schema: SchemaRef) -> Result<StreamId, PlanError> {
        let streams = inputs.iter().map(|input| self.lower(input)).collect::<Result<Vec<_>, _>>()?;
        self.sum(&streams, schema)
    }

    fn minus(&mut self, left: &Plan, right: &Plan, schema: SchemaRef) -> Result<StreamId, PlanError> {
        let (left, right) = (self.lower(left)?, self.lower(right)?);
        self.subtract(left, right, schema)
    }

    fn positive(&mut self, input: &Plan, schema: SchemaRef) -> Result<StreamId, PlanError> {
        let input = self.lower(input)?;
        if self.is_nested() {
            return self.add_unary(Box::new(TimedPositive::new(&schema)?), input, schema);
        }
        let (indexed, output) = self.arrange_rows(input)?;
        self.add_unary(Box::new(Positive::new(output, Arc::clone(&schema))), indexed, schema)
    }

    fn historic(
        &mut self,
        input: &Plan,
        operator: impl FnOnce(SchemaRef) -> Result<Box<dyn UnaryOperator>, PlanError>,
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        if self.is_nested() {
            return Err(PlanError::Invalid("integrate, differentiate and delay follow the clock of steps and cannot stand inside a recursion".into()));
        }
        let input = self.lower(input)?;
        self.add_unary(operator(Arc::clone(&schema))?, input, schema)
    }

    pub(crate) fn unary(
        &mut self,
        input: &Plan,
        operator: impl UnaryOperator + 'static,
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        let input = self.lower(input)?;
        self.add_unary(Box::new(operator), input, schema)
    }

    pub(crate) fn is_nested(&self) -> bool {
        self.relations.is_some()
    }

    pub(crate) fn add_unary(
        &mut self,
        operator: Box<dyn UnaryOperator>,
        input: StreamId,
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        let stream = self.scope.add_unary(operator, input, schema)?;
        Ok(self.note(stream))
    }

    pub(crate) fn note(&mut self, stream: StreamId) -> StreamId {
        self.added.push(stream.node());
        stream
    }

    pub(crate) fn map(
        &mut self,
        input: StreamId,
        columns: Vec<Scalar>,
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        self.add_unary(Box::new(Map::new(columns, Arc::clone(&schema))), input, schema)
    }

    pub(crate) fn sum(&mut self, inputs: &[StreamId], schema: SchemaRef) -> Result<StreamId, PlanError> {
        let stream = match *inputs {
            [left, right] => {
                self.scope.add_binary(Box::new(Plus::new(Arc::clone(&schema))), left, right, schema)?
            }
            _ => self.scope.add_nary(Box::new(Sum::new(Arc::clone(&schema))), inputs, schema)?,
        };
        Ok(self.note(stream))
    }

    pub(crate) fn subtract(
        &mut self,
        left: StreamId,
        right: StreamId,
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        let stream = self.scope.add_binary(Box::new(Minus::new(Arc::clone(&schema))), left, right, schema)?;
        Ok(self.note(stream))
    }

    pub(crate) fn schema(&self, stream: StreamId) -> Result<SchemaRef, PlanError> {
        Ok(Arc::clone(self.scope.schema(stream)?))
    }

    /// An index of `columns` of a stream, the first `key_len` of which are the key.
    pub(crate) fn arrange(
        &mut self,
        stream: StreamId,
        columns: Vec<usize>,
        key_len: usize,
    ) -> Result<StreamId, PlanError> {
        let arrangement = Arrangement { stream, columns, key_len };
        if let Some(indexed) = self.memo.arrangements.get(&arrangement) {
            return Ok(*indexed);
        }
        let source = self.schema(stream)?;
        let fields: Vec<FieldRef> =
            arrangement.columns.iter().map(|column| Arc::clone(&source.fields()[*column])).collect();
        let schema = Arc::new(Schema::new(fields));
        let layout = Layout::rows(Arc::clone(&schema), key_len)?;
        let columns = arrangement.columns.clone();
        let operator: Box<dyn UnaryOperator> = if self.is_nested() {
            Box::new(TimedArrange::new(columns, layout))
        } else {
            Box::new(Arrange::new(columns, layout))
        };
        let indexed = self.add_unary(operator, stream, schema)?;
        self.memo.arrangements.insert(arrangement, indexed);
        Ok(indexed)
    }

    /// An index of whole rows, cheap columns first, and the places of the stream's columns in it.
    fn arrange_rows(&mut self, stream: StreamId) -> Result<(StreamId, Vec<usize>), PlanError> {
        let schema = self.schema(stream)?;
        let columns = row_index_order(&schema);
        let mut places = vec![0; columns.len()];
        columns.iter().enumerate().for_each(|(place, column)| places[*column] = place);
        let key_len = columns.len();
        Ok((self.arrange(stream, columns, key_len)?, places))
    }

    pub(crate) fn distinct(&mut self, stream: StreamId) -> Result<StreamId, PlanError> {
        let schema = self.schema(stream)?;
        if self.is_nested() {
            return self.add_unary(Box::new(TimedDistinct::new(&schema)?), stream, schema);
        }
        let (indexed, output) = self.arrange_rows(stream)?;
        self.add_unary(Box::new(Distinct::new(output, Arc::clone(&schema))), indexed, schema)
    }

    pub(crate) fn join_streams(
        &mut self,
        left: StreamId,
        right: StreamId,
        spec: JoinSpec,
    ) -> Result<StreamId, PlanError> {
        let schema = Arc::clone(&spec.schema);
        let stream = if self.is_nested() {
            self.scope.add_binary(Box::new(TimedJoin::new(spec)), left, right, schema)?
        } else {
            self.scope.add_binary(Box::new(Join::new(spec)), left, right, schema)?
        };
        Ok(self.note(stream))
    }

    /// An operator whose groups do not touch each other. Inside a recursion it is run on the history of the touched groups.
    fn per_key(
        &mut self,
        input: &Plan,
        keys: Vec<Scalar>,
        operator: Box<dyn UnaryOperator>,
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        let stream = self.lower(input)?;
        if !self.is_nested() {
            return self.add_unary(operator, stream, schema);
        }
        let reduce = TimedReduce::new(operator, keys, Arc::clone(input.schema()), Arc::clone(&schema))?;
        self.add_unary(Box::new(reduce), stream, schema)
    }
}

/// Columns with their types, for errors.
fn columns_of(schema: &Schema) -> String {
    let column = |field: &FieldRef| {
        let null = if field.is_nullable() { "" } else { " NOT NULL" };
        format!("{} {}{null}", field.name(), external_type(field.data_type()))
    };
    let columns: Vec<String> = schema.fields().iter().map(column).collect();
    format!("({})", columns.join(", "))
}

/// The order of columns in an index of whole rows of this schema.
pub fn row_index_order(schema: &Schema) -> Vec<usize> {
    cheap_first(schema, (0..schema.fields().len()).collect())
}

/// Columns of fixed width before strings, and those before nested ones: ties are then settled by the cheapest comparisons.
pub(crate) fn cheap_first(schema: &Schema, mut columns: Vec<usize>) -> Vec<usize> {
    columns.sort_by_key(|column| match schema.field(*column).data_type() {
        data_type if data_type.is_primitive() => 0,
        DataType::Boolean => 1,
        DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_) => 2,
        _ => 3,
    });
    columns
}
