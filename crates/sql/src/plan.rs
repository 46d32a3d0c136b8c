//! The plan: a program as a tree of relational nodes over column positions.
//!
//! A plan is a cheap value. Its identity is a fingerprint of everything that decides its content, so that equal sub-plans of all views are built once.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use tailrace_operators::{AggregateSpec, FramedSpec, Scalar, TopKSpec, WindowSpec};
use tailrace_trace::ChangeBatch;

use crate::user_function::RowFunction;

/// A relational plan.
#[derive(Clone)]
pub struct Plan(Arc<Node>);

struct Node {
    kind: Arc<PlanKind>,
    schema: SchemaRef,
    fingerprint: String,
    historic: bool,
}

/// The kinds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs that match.
    Inner,
    /// And left rows without a match.
    Left,
    /// And right rows without a match.
    Right,
    /// And both.
    Full,
    /// Left rows with a match.
    Semi,
    /// Left rows without a match.
    Anti,
}

/// The identity of a recursive relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelationId(u64);

/// A callback that is shown the changes of each step.
pub type Observer = Arc<tailrace_operators::InspectFn>;

/// What a node does.
#[expect(
    missing_docs,
    reason = "each variant says what it does with its fields, whose names say what they are"
)]
pub enum PlanKind {
    /// A table of the database.
    Table(String),
    /// A recursive relation, bound by the nearest `Fixpoint` that names it.
    Relation(RelationId),
    /// Rows that satisfy all predicates, tested one after the other.
    Filter { input: Plan, predicates: Vec<Scalar> },
    /// Computed columns.
    Project { input: Plan, columns: Vec<Scalar> },
    /// One row per element of a list column.
    Unnest { input: Plan, column: usize },
    /// Groups.
    Aggregate { input: Plan, spec: AggregateSpec },
    /// A join. `residual` and `output` count positions through both inputs; `output` is over the left alone for semi and anti joins.
    /// With `null_matches` NULL equals NULL in the keys.
    Join {
        left: Plan,
        right: Plan,
        kind: JoinKind,
        left_keys: Vec<Scalar>,
        right_keys: Vec<Scalar>,
        residual: Vec<Scalar>,
        output: Vec<Scalar>,
        null_matches: bool,
    },
    /// Rows that never change.
    Constant(Arc<ChangeBatch>),
    /// All rows of all inputs.
    Union(Vec<Plan>),
    /// Weights of the left minus weights of the right.
    Minus(Plan, Plan),
    /// Opposite weights.
    Negate(Plan),
    /// Positive weights only.
    Positive(Plan),
    /// Each row once.
    Distinct(Plan),
    /// The first rows of each partition.
    TopK { input: Plan, spec: TopKSpec },
    /// Columns computed over ordered partitions.
    Window { input: Plan, spec: WindowSpec },
    /// Columns computed over frames of ordered partitions.
    Framed { input: Plan, spec: FramedSpec },
    /// The sum of all changes so far, sent every step.
    Integrate(Plan),
    /// The change of the change.
    Differentiate(Plan),
    /// The change of the step before.
    Delay(Plan),
    /// A function of the user over rows.
    MapRows { input: Plan, function: RowFunction },
    /// Shows the changes to an observer.
    Inspect { input: Plan, observer: Observer },
    /// One of several mutually recursive relations.
    Fixpoint { recursion: Arc<Recursion>, index: usize },
}

/// Mutually recursive relations: each is the least fixed point of its body, of the distinct rows or of all of them.
pub struct Recursion {
    /// What the user calls it, for errors.
    pub name: String,
    /// The relations and their bodies.
    pub relations: Vec<(RelationId, Plan)>,
    /// The most iterations that a step may take.
    pub limit: u32,
    /// Whether each row counts once; otherwise as often as it is derived.
    pub distinct: bool,
    pub(crate) fingerprint: String,
}

impl Recursion {
    /// Whether a relation's content depends on how changes were cut into steps.
    pub fn depends_on_history(&self) -> bool {
        self.relations.iter().any(|(_, body)| body.depends_on_history())
    }
}

impl RelationId {
    /// An identity that no other relation of this process has.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Plan {
    pub(crate) fn new(kind: PlanKind, schema: SchemaRef) -> Self {
        let fingerprint = fingerprint(&kind, &schema);
        let historic = is_historic(&kind);
        Self(Arc::new(Node { kind: Arc::new(kind), schema, fingerprint, historic }))
    }

    /// A table.
    pub fn table(name: impl Into<String>, schema: SchemaRef) -> Self {
        Self::new(PlanKind::Table(name.into()), schema)
    }

    /// The same plan under other names of its columns, which share its operators.
    pub(crate) fn renamed(&self, names: &[String]) -> Self {
        let renamed = |(field, name): (&FieldRef, &String)| field.as_ref().clone().with_name(name);
        let fields: Vec<Field> = self.0.schema.fields().iter().zip(names).map(renamed).collect();
        if matches!(*self.0.kind, PlanKind::Table(_)) {
            // A table is known by the names of its columns.
            let columns = (0..fields.len()).map(|place| Scalar::column(place, &self.0.schema)).collect();
            return Self::new(
                PlanKind::Project { input: self.clone(), columns },
                Arc::new(Schema::new(fields)),
            );
        }
        let (kind, fingerprint) = (Arc::clone(&self.0.kind), self.0.fingerprint.clone());
        let historic = self.0.historic;
        Self(Arc::new(Node { kind, schema: Arc::new(Schema::new(fields)), fingerprint, historic }))
    }

    /// What the root does.
    pub fn kind(&self) -> &PlanKind {
        &self.0.kind
    }

    /// The columns, in normal form.
    pub fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    /// Equal for plans with equal content.
    pub fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    /// The inputs of the root; for a recursive relation the bodies of all relations.
    pub fn inputs(&self) -> Vec<&Plan> {
        match self.kind() {
            PlanKind::Fixpoint { recursion, .. } => {
                recursion.relations.iter().map(|(_, body)| body).collect()
            }
            kind => inputs_of(kind),
        }
    }

    /// The recursive relations that the plan reads without binding them.
    pub fn free_relations(&self) -> Vec<RelationId> {
        let mut free: Vec<RelationId> =
            self.inputs().iter().flat_map(|input| input.free_relations()).collect();
        match self.kind() {
            PlanKind::Relation(id) => free.push(*id),
            PlanKind::Fixpoint { recursion, .. } => {
                free.retain(|id| recursion.relations.iter().all(|(bound, _)| bound != id))
            }
            _ => {}
        }
        free.sort_unstable();
        free.dedup();
        free
    }

    /// Whether the content depends on how changes were cut into steps, so that it cannot be computed from the tables alone.
    pub fn depends_on_history(&self) -> bool {
        self.0.historic
    }
}

fn is_historic(kind: &PlanKind) -> bool {
    match kind {
        PlanKind::Integrate(_) | PlanKind::Differentiate(_) | PlanKind::Delay(_) => true,
        PlanKind::Fixpoint { recursion, .. } => recursion.depends_on_history(),
        kind => inputs_of(kind).into_iter().any(Plan::depends_on_history),
    }
}

/// A text of everything that decides the content. Columns count by position and type, so names do not matter below the root.
fn fingerprint(kind: &PlanKind, schema: &SchemaRef) -> String {
    let mut text = String::new();
    let _ = match kind {
        // A table may be dropped and made again with other columns of the same types.
        PlanKind::Table(name) => write!(text, "table {name:?} {:?}", names(schema)),
        PlanKind::Relation(id) => write!(text, "relation {}", id.0),
        PlanKind::Filter { predicates, .. } => write!(text, "filter {}", exprs(predicates)),
        PlanKind::Project { columns, .. } => write!(text, "project {}", exprs(columns)),
        PlanKind::Unnest { column, .. } => write!(text, "unnest {column}"),
        PlanKind::Aggregate { spec, .. } => write!(text, "aggregate {spec:?}"),
        PlanKind::Join { kind, left_keys, right_keys, residual, output, null_matches, .. } => {
            let parts = [left_keys, right_keys, residual, output].map(|scalars| exprs(scalars));
            write!(text, "join {kind:?} {null_matches} {}", parts.join(" "))
        }
        PlanKind::Constant(rows) => write!(text, "constant {:?} {:?}", rows.columns(), rows.weights()),
        PlanKind::Union(_) => write!(text, "union"),
        PlanKind::Minus(..) => write!(text, "minus"),
        PlanKind::Negate(_) => write!(text, "negate"),
        PlanKind::Positive(_) => write!(text, "positive"),
        PlanKind::Distinct(_) => write!(text, "distinct"),
        PlanKind::TopK { spec, .. } => write!(text, "top_k {spec:?}"),
        PlanKind::Window { spec, .. } => write!(text, "window {spec:?}"),
        PlanKind::Framed { spec, .. } => write!(text, "framed {spec:?}"),
        PlanKind::Integrate(_) => write!(text, "integrate"),
        PlanKind::Differentiate(_) => write!(text, "differentiate"),
        PlanKind::Delay(_) => write!(text, "delay"),
        PlanKind::MapRows { function, .. } => write!(text, "map_rows {:p}", Arc::as_ptr(function)),
        PlanKind::Inspect { observer, .. } => write!(text, "inspect {:p}", Arc::as_ptr(observer)),
        PlanKind::Fixpoint { recursion, index } => write!(text, "fixpoint {index} {}", recursion.fingerprint),
    };
    let types: Vec<String> = schema
        .fields()
        .iter()
        .map(|field| format!("{}:{}", field.data_type(), field.is_nullable()))
        .collect();
    let _ = write!(text, " [{}]", types.join(","));
    for input in inputs_of(kind) {
        let _ = write!(text, " ({})", input.fingerprint());
    }
    digest(&text)
}

fn names(schema: &SchemaRef) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

pub(crate) fn inputs_of(kind: &PlanKind) -> Vec<&Plan> {
    match kind {
        PlanKind::Table(_) | PlanKind::Relation(_) | PlanKind::Constant(_) | PlanKind::Fixpoint { .. } => {
            Vec::new()
        }
        PlanKind::Filter { input, .. }
        | PlanKind::Project { input, .. }
        | PlanKind::Unnest { input, .. }
        | PlanKind::Aggregate { input, .. }
        | PlanKind::TopK { input, .. }
        | PlanKind::Window { input, .. }
        | PlanKind::Framed { input, .. }
        | PlanKind::MapRows { input, .. }
        | PlanKind::Inspect { input, .. }
        | PlanKind::Negate(input)
        | PlanKind::Positive(input)
        | PlanKind::Distinct(input)
        | PlanKind::Integrate(input)
        | PlanKind::Differentiate(input)
        | PlanKind::Delay(input) => vec![input],
        PlanKind::Join { left, right, .. } | PlanKind::Minus(left, right) => vec![left, right],
        PlanKind::Union(inputs) => inputs.iter().collect(),
    }
}

/// Expressions in their debug form, which tells literals of different types and user functions of one name apart.
fn exprs(scalars: &[Scalar]) -> String {
    let parts: Vec<String> = scalars.iter().map(|scalar| format!("{scalar:?}")).collect();
    format!("[{}]", parts.join("; "))
}

/// A short text that stands for a long one: two independent 64-bit hashes, so that equality of digests means equality of texts.
pub(crate) fn digest(text: &str) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let hash = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, text).hash(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", hash(1), hash(2))
}
