//! INTERSECT and EXCEPT: DataFusion plans them as joins, which count copies wrongly. Here they keep the multiset semantics of SQL.
//!
//! In the syntax tree `a EXCEPT ALL b` becomes `a UNION ALL (SELECT * FROM b AS marker)`, which DataFusion names, counts and coerces as it must; after that the
//! marked union becomes a [`SetOperation`], which the optimizer leaves alone and the translation computes with weights.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow_schema::FieldRef;
use datafusion_common::tree_node::Transformed;
use datafusion_common::{DFSchema, DFSchemaRef, Result, TableReference, internal_err};
use datafusion_expr::logical_plan::{Extension, Union};
use datafusion_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion_sql::sqlparser::ast::{SetExpr, SetOperator, SetQuantifier, Statement, TableFactor, Values};
use datafusion_sql::sqlparser::dialect::GenericDialect;
use datafusion_sql::sqlparser::parser::Parser;

/// Which rows stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd)]
pub(crate) enum SetKind {
    ExceptAll,
    Except,
    IntersectAll,
    Intersect,
}

/// INTERSECT or EXCEPT of two inputs with the same types.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetOperation {
    pub(crate) kind: SetKind,
    pub(crate) left: LogicalPlan,
    pub(crate) right: LogicalPlan,
    schema: DFSchemaRef,
}

const KINDS: [SetKind; 4] = [SetKind::ExceptAll, SetKind::Except, SetKind::IntersectAll, SetKind::Intersect];

impl SetKind {
    fn marker(self) -> &'static str {
        match self {
            Self::ExceptAll => "__except_all",
            Self::Except => "__except",
            Self::IntersectAll => "__intersect_all",
            Self::Intersect => "__intersect",
        }
    }

    fn of(op: SetOperator, quantifier: SetQuantifier) -> Option<Self> {
        match (op, quantifier) {
            (SetOperator::Except | SetOperator::Minus, SetQuantifier::All) => Some(Self::ExceptAll),
            (SetOperator::Except | SetOperator::Minus, SetQuantifier::Distinct | SetQuantifier::None) => {
                Some(Self::Except)
            }
            (SetOperator::Intersect, SetQuantifier::All) => Some(Self::IntersectAll),
            (SetOperator::Intersect, SetQuantifier::Distinct | SetQuantifier::None) => Some(Self::Intersect),
            _ => None,
        }
    }
}

/// Marks the set operations of one query body.
pub(crate) fn mark(body: &mut SetExpr) {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return };
    mark(left);
    mark(right);
    if let Some(kind) = SetKind::of(*op, *set_quantifier) {
        *op = SetOperator::Union;
        *set_quantifier = SetQuantifier::All;
        let inner = std::mem::replace(right.as_mut(), nothing());
        **right = select_all(inner, kind.marker());
    }
}

/// A set operation of inputs with the same types; it has the names of the left.
pub(crate) fn set_operation(kind: SetKind, left: LogicalPlan, right: LogicalPlan) -> Result<LogicalPlan> {
    let nullable = |(mine, theirs): ((Option<&TableReference>, &FieldRef), &FieldRef)| {
        let nullable = mine.1.is_nullable() || theirs.is_nullable();
        (None, Arc::new(mine.1.as_ref().clone().with_nullable(nullable)))
    };
    let fields = left.schema().iter().zip(right.schema().fields()).map(nullable).collect();
    let schema = Arc::new(DFSchema::new_with_metadata(fields, Default::default())?);
    let operation = SetOperation { kind, left, right, schema };
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(operation) }))
}

/// Turns marked unions into set operations.
pub(crate) fn resolve(plan: LogicalPlan) -> Result<LogicalPlan> {
    let resolved = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::Union(Union { inputs, schema }) = &node else { return Ok(Transformed::no(node)) };
        let [left, right] = &inputs[..] else { return Ok(Transformed::no(node)) };
        let Some(kind) = marked(right) else { return Ok(Transformed::no(node)) };
        let operation = SetOperation {
            kind,
            left: left.as_ref().clone(),
            right: right.as_ref().clone(),
            schema: Arc::clone(schema),
        };
        Ok(Transformed::yes(LogicalPlan::Extension(Extension { node: Arc::new(operation) })))
    })?;
    Ok(resolved.data)
}

impl UserDefinedLogicalNodeCore for SetOperation {
    fn name(&self) -> &str {
        "SetOperation"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SetOperation: {:?}", self.kind)
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let [left, right] = <[LogicalPlan; 2]>::try_from(inputs)
            .or_else(|_| internal_err!("a set operation has two inputs"))?;
        Ok(Self { kind: self.kind, left, right, schema: Arc::clone(&self.schema) })
    }
}

impl PartialOrd for SetOperation {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.kind.partial_cmp(&other.kind)
    }
}

fn nothing() -> SetExpr {
    SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows: Vec::new() })
}

/// The kind that the right side of a union is marked with.
fn marked(plan: &LogicalPlan) -> Option<SetKind> {
    match plan {
        LogicalPlan::Projection(projection) => marked(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => {
            KINDS.into_iter().find(|kind| kind.marker() == alias.alias.table())
        }
        _ => None,
    }
}

/// `SELECT * FROM (body) AS name`. The frame is parsed, so that it is what the parser makes of it.
fn select_all(body: SetExpr, name: &str) -> SetExpr {
    let frame = format!("SELECT * FROM (SELECT 1) AS \"{name}\"");
    let parsed = Parser::parse_sql(&GenericDialect {}, &frame)
        .ok()
        .and_then(|statements| statements.into_iter().next());
    let Some(Statement::Query(query)) = parsed else { return body };
    let mut frame = *query.body;
    if let SetExpr::Select(select) = &mut frame
        && let Some(TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        *subquery.body = body;
    }
    frame
}
