//! Lowering of filters. Many views ask the same column of the same stream for one value each (`WHERE region = 17`); asked one by one, every change would
//! visit all of them. From the fifth such filter on they share a [`Dispatch`], which looks each row up once and wakes those views alone that asked for it.
//!
//! The test for equality is taken out of the conjunction, wherever it stands: it cannot fail, so asking it first spares the others rows and nothing else.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, CastExpr, Column, InListExpr, Literal};
use tailrace_circuit::{NodeId, StreamId};
use tailrace_operators::{Dispatch, Filter, FilterMap, Map, Scalar};
use tailrace_trace::normal_type;

use crate::lower::Builder;
use crate::user_function::calls_user_function;
use crate::{Plan, PlanError, PlanKind};

/// So many filters by one key are asked one by one: each is a comparison of a column with a constant, which is faster than a look-up.
const FEW: usize = 4;

/// How names of the outputs of a dispatch begin; those of plans are digests.
pub(crate) const ROUTE: &str = "route ";

/// What filters have in common that ask one column of one stream for values.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Family {
    stream: StreamId,
    column: usize,
    /// The wider integer that the column is compared as.
    cast: Option<DataType>,
}

/// The filters of a family: those that are asked one by one, and the node that knows the others.
#[derive(Clone, Default)]
pub(crate) struct Siblings {
    plain: Vec<NodeId>,
    router: Option<StreamId>,
}

/// A test of a column for one of several values.
struct Choice {
    column: usize,
    cast: Option<DataType>,
    key: Scalar,
    values: Vec<ScalarValue>,
}

/// Rows to be filtered: the stream, what is still to be asked of it, and the family that the filter will belong to.
struct Filtered {
    stream: StreamId,
    predicates: Vec<Scalar>,
    family: Option<Family>,
}

impl Siblings {
    /// Forgets nodes that are gone; whether any is left.
    pub(crate) fn forget(&mut self, removed: &[NodeId]) -> bool {
        self.plain.retain(|node| !removed.contains(node));
        self.router = self.router.filter(|router| !removed.contains(&router.node()));
        !self.plain.is_empty() || self.router.is_some()
    }
}

impl Builder<'_> {
    /// The rows that satisfy all predicates.
    pub(crate) fn filter(
        &mut self,
        input: &Plan,
        predicates: &[Scalar],
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        let Filtered { stream, predicates, family } = self.filtered(input, predicates)?;
        if predicates.is_empty() {
            return Ok(stream);
        }
        let filter = self.add_unary(Box::new(Filter::conjunction(predicates)), stream, schema)?;
        Ok(self.join_family(family, filter))
    }

    /// A projection, in one pass with the filter below it. A filter that exists already is shared instead; so is one that calls the user's code, which
    /// another view that asks for it should not have to call again.
    pub(crate) fn project(
        &mut self,
        input: &Plan,
        columns: &[Scalar],
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        let columns = columns.to_vec();
        match input.kind() {
            PlanKind::Filter { input: rows, predicates }
                if !self.memo.streams.contains_key(input.fingerprint())
                    && !predicates.iter().any(calls_user_function) =>
            {
                let Filtered { stream, predicates, family } = self.filtered(rows, predicates)?;
                if predicates.is_empty() {
                    return self.map(stream, columns, schema);
                }
                let both = FilterMap::new(predicates, columns, Arc::clone(&schema));
                let stream = self.add_unary(Box::new(both), stream, schema)?;
                Ok(self.join_family(family, stream))
            }
            _ => self.unary(input, Map::new(columns, Arc::clone(&schema)), schema),
        }
    }

    /// Where the rows come from: behind a dispatch, if there are many filters of the kind.
    fn filtered(&mut self, input: &Plan, predicates: &[Scalar]) -> Result<Filtered, PlanError> {
        let stream = self.lower(input)?;
        let whole = Filtered { stream, predicates: predicates.to_vec(), family: None };
        if self.is_nested() || input.depends_on_history() {
            return Ok(whole);
        }
        let choice = |(place, predicate)| Some((place, Choice::of(predicate, input.schema())?));
        let Some((place, choice)) = predicates.iter().enumerate().find_map(choice) else { return Ok(whole) };
        let family = Family { stream, column: choice.column, cast: choice.cast.clone() };
        let siblings = self.memo.siblings.entry(family.clone()).or_default();
        if siblings.router.is_none() && siblings.plain.len() < FEW {
            return Ok(Filtered { family: Some(family), ..whole });
        }
        let router = match siblings.router {
            Some(router) => router,
            None => self.router(family, &choice, Arc::clone(input.schema()))?,
        };
        let mut predicates = whole.predicates;
        predicates.remove(place);
        Ok(Filtered { stream: self.route(router, &choice)?, predicates, family: None })
    }

    /// Notes a filter that is asked for itself.
    fn join_family(&mut self, family: Option<Family>, filter: StreamId) -> StreamId {
        if let Some(family) = family {
            self.memo.siblings.entry(family).or_default().plain.push(filter.node());
        }
        filter
    }

    fn router(&mut self, family: Family, choice: &Choice, schema: SchemaRef) -> Result<StreamId, PlanError> {
        let dispatch = Dispatch::new(choice.key.clone())?;
        let router = self.scope.add_router(Box::new(dispatch), family.stream, schema)?;
        self.memo.siblings.entry(family).or_default().router = Some(router);
        Ok(self.note(router))
    }

    /// The output of a dispatch for these values.
    fn route(&mut self, router: StreamId, choice: &Choice) -> Result<StreamId, PlanError> {
        let name = format!("{ROUTE}{router} {:?}", choice.values);
        if let Some(stream) = self.memo.streams.get(&name) {
            return Ok(*stream);
        }
        let keys = ScalarValue::iter_to_array(choice.values.iter().cloned())?;
        let stream = self.scope.route(router, &keys)?;
        self.memo.streams.insert(name, stream);
        Ok(self.note(stream))
    }
}

impl Choice {
    /// The values that a predicate tests a column for.
    fn of(predicate: &Scalar, schema: &SchemaRef) -> Option<Self> {
        Self::of_expr(predicate.expr(), schema)
    }

    /// `column = value`, `value = column`, `column IN (values)`, or such tests of one column joined by OR, as short lists are written.
    fn of_expr(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Option<Self> {
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            let values = list.list().iter().map(literal).collect::<Option<Vec<_>>>()?;
            return if list.negated() { None } else { Self::new(list.expr(), values, schema) };
        }
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let (left, right) = (binary.left(), binary.right());
        match (binary.op(), literal(left), literal(right)) {
            (Operator::Or, _, _) => Self::of_expr(left, schema)?.or(Self::of_expr(right, schema)?),
            (Operator::Eq, None, Some(value)) => Self::new(left, vec![value], schema),
            (Operator::Eq, Some(value), None) => Self::new(right, vec![value], schema),
            _ => None,
        }
    }

    /// The test for the values of both, if they ask the same column.
    fn or(mut self, other: Self) -> Option<Self> {
        let same = self.column == other.column && self.cast == other.cast;
        self.values.extend(other.values);
        same.then_some(self)
    }

    /// Floats are left to comparison, which has a word to say about zero and NaN.
    fn new(key: &Arc<dyn PhysicalExpr>, values: Vec<ScalarValue>, schema: &SchemaRef) -> Option<Self> {
        let (column, cast) = match key.downcast_ref::<CastExpr>() {
            Some(cast) => (cast.expr(), Some(cast.cast_type().clone())),
            None => (key, None),
        };
        let column = column.downcast_ref::<Column>()?.index();
        let own = schema.field(column).data_type();
        let widened =
            |cast: &DataType| own.is_integer() && *cast == DataType::Int64 && *own != DataType::UInt64;
        let key = Scalar::new(Arc::clone(key), schema).ok()?;
        let of_key = |value: &ScalarValue| normal_type(&value.data_type()) == *key.data_type();
        let fits = !values.is_empty()
            && cast.as_ref().is_none_or(widened)
            && !key.data_type().is_floating()
            && !key.data_type().is_nested()
            && values.iter().all(of_key);
        fits.then_some(Self { column, cast, key, values })
    }
}

/// The value of a constant; NULL equals nothing.
fn literal(expr: &Arc<dyn PhysicalExpr>) -> Option<ScalarValue> {
    let value = expr.downcast_ref::<Literal>()?.value();
    (!value.is_null()).then(|| value.clone())
}
