//! Joins: keys, residual conditions, and the kinds that our plan does not know.
//!
//! A right semi- or anti-join is the left one with its sides exchanged. A mark join is the rows with a match, marked true, and those without, marked false.
//! Sides that depend on the same outer columns are joined on these too, where NULL equals NULL: a NULL outer value is a value like any other.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion_common::{Column, DFSchema, JoinType, NullEquality, ScalarValue};
use datafusion_expr::Expr;
use datafusion_expr::logical_plan::Join;
use datafusion_expr::utils::split_conjunction;
use datafusion_physical_expr::expressions::{IsNotNullExpr, Literal};
use tailrace_operators::Scalar;

use super::relation::{Relation, named, numbered_beyond};
use super::translate::{Translator, outer_of};
use crate::bind::bind_columns;
use crate::connective::may_fail;
use crate::plan_builder::join_schema;
use crate::{JoinKind, Plan, PlanError, PlanKind};

/// Both sides of a join and its condition.
pub(crate) struct Sides {
    pub(crate) left: Relation,
    pub(crate) right: Relation,
    pub(crate) on: Vec<(Scalar, Scalar)>,
    pub(crate) residual: Vec<Scalar>,
    pub(crate) null_matches: bool,
}

impl Translator {
    pub(crate) fn join(&self, join: &Join) -> Result<Relation, PlanError> {
        if join.null_aware {
            return Err(PlanError::Invalid("internal: a null-aware join is left over".into()));
        }
        let swapped =
            matches!(join.join_type, JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark);
        let sides = self.sides(join, swapped)?;
        match join.join_type {
            JoinType::Inner => sides.joined(JoinKind::Inner, &join.schema),
            JoinType::Left => sides.joined(JoinKind::Left, &join.schema),
            JoinType::Right => sides.joined(JoinKind::Right, &join.schema),
            JoinType::Full => sides.joined(JoinKind::Full, &join.schema),
            JoinType::LeftSemi | JoinType::RightSemi => sides.joined(JoinKind::Semi, &join.schema),
            JoinType::LeftAnti | JoinType::RightAnti => sides.joined(JoinKind::Anti, &join.schema),
            JoinType::LeftMark | JoinType::RightMark => sides.marked(&join.schema),
        }
    }

    fn sides(&self, join: &Join, swapped: bool) -> Result<Sides, PlanError> {
        let (left, right) = (self.settled(&join.left)?, self.settled(&join.right)?);
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        let conditions = join.on.iter().flat_map(|(l, r)| [l, r]).chain(&join.filter);
        let asked = outer_of(conditions)?;
        // The side whose rows are kept must carry the outer columns that decide what it is joined with.
        let (mut left, mut right) = (left, right);
        if join.join_type == JoinType::Right {
            let needed: Vec<Column> =
                asked.into_iter().chain(left.outer().iter().map(|(column, _)| column.clone())).collect();
            right = self.attached(right, &needed)?;
        } else if join.join_type == JoinType::Full
            && !(asked.is_empty() && left.outer().is_empty() && right.outer().is_empty())
        {
            return Err(PlanError::Invalid(
                "a FULL JOIN inside a correlated subquery is not supported".into(),
            ));
        } else {
            let inner = join.join_type == JoinType::Inner;
            let theirs = right.outer().iter().filter(|_| !inner).map(|(column, _)| column.clone());
            let needed: Vec<Column> = asked
                .into_iter()
                .filter(|column| !inner || right.place_of(column).is_none())
                .chain(theirs)
                .collect();
            left = self.attached(left, &needed)?;
        }
        let bind_pair = |(l, r): &(Expr, Expr)| {
            if swapped { Ok((left.bind(r)?, right.bind(l)?)) } else { Ok((left.bind(l)?, right.bind(r)?)) }
        };
        let on = join.on.iter().map(bind_pair).collect::<Result<Vec<_>, PlanError>>()?;
        check_types(&on)?;
        let residual = match &join.filter {
            Some(filter) => bind_residual(filter, &left, &right)?,
            None => Vec::new(),
        };
        let null_matches = join.null_equality == NullEquality::NullEqualsNull;
        Sides { left, right, on, residual, null_matches }.on_outer_columns(join.join_type == JoinType::Right)
    }
}

impl Sides {
    /// Adds the outer columns that both sides carry to the keys. Keys of the query must not match NULL, so rows with such a key are taken from the
    /// side that is looked up.
    fn on_outer_columns(mut self, look_up_left: bool) -> Result<Self, PlanError> {
        let shared: Vec<(usize, usize)> = self
            .left
            .outer()
            .iter()
            .filter_map(|(column, place)| Some((*place, self.right.place_of_outer(column)?)))
            .collect();
        if shared.is_empty() {
            return Ok(self);
        }
        if !self.null_matches {
            let keys: Vec<Scalar> =
                self.on.iter().map(|(l, r)| if look_up_left { l.clone() } else { r.clone() }).collect();
            if look_up_left {
                self.left = not_null(&self.left, &keys)?
            } else {
                self.right = not_null(&self.right, &keys)?
            }
        }
        self.null_matches = true;
        let pair = |(l, r): (usize, usize)| {
            (Scalar::column(l, self.left.plan().schema()), Scalar::column(r, self.right.plan().schema()))
        };
        self.on.extend(shared.into_iter().map(pair).collect::<Vec<_>>());
        Ok(self)
    }

    /// A join whose output is all columns of its sides, or of its left side, and the outer columns.
    pub(crate) fn joined(&self, kind: JoinKind, names: &DFSchema) -> Result<Relation, PlanError> {
        self.joined_with(kind, names, Vec::new())
    }

    /// The same with more columns behind those of the sides.
    fn joined_with(
        &self,
        kind: JoinKind,
        names: &DFSchema,
        more: Vec<Scalar>,
    ) -> Result<Relation, PlanError> {
        let mut output = self.output(kind);
        output.extend(more);
        let width = output.len();
        let outer = self.outer(kind);
        let schema = join_schema(self.left.plan(), self.right.plan(), kind);
        output.extend(outer.iter().map(|(_, place)| Scalar::column(*place, &schema)));
        let schema = named(&output, &numbered_beyond(names, width, outer.len())?);
        let outer =
            outer.into_iter().enumerate().map(|(index, (column, _))| (column, width + index)).collect();
        Ok(Relation::chosen(Plan::new(self.node(kind, output), schema), (0..width).collect(), names)?
            .depending(outer))
    }

    fn output(&self, kind: JoinKind) -> Vec<Scalar> {
        let schema = join_schema(self.left.plan(), self.right.plan(), kind);
        let width = self.left.plan().schema().fields().len();
        let right = self.right.columns().iter().filter(|_| !is_one_sided(kind)).map(|column| column + width);
        self.left
            .columns()
            .iter()
            .copied()
            .chain(right)
            .map(|column| Scalar::column(column, &schema))
            .collect()
    }

    /// The outer columns of the output, from the side whose rows are kept.
    fn outer(&self, kind: JoinKind) -> Vec<(Column, usize)> {
        let width = self.left.plan().schema().fields().len();
        let left = self.left.outer().to_vec();
        let right: Vec<(Column, usize)> =
            self.right.outer().iter().map(|(column, place)| (column.clone(), place + width)).collect();
        if is_one_sided(kind) {
            return left;
        }
        let (first, second) = if kind == JoinKind::Right { (right, left) } else { (left, right) };
        let rest: Vec<(Column, usize)> =
            second.into_iter().filter(|(column, _)| first.iter().all(|(known, _)| known != column)).collect();
        first.into_iter().chain(rest).collect()
    }

    fn node(&self, kind: JoinKind, output: Vec<Scalar>) -> PlanKind {
        let (left, right) = (self.left.plan().clone(), self.right.plan().clone());
        let (left_keys, right_keys) = self.on.iter().cloned().unzip();
        PlanKind::Join {
            left,
            right,
            kind,
            left_keys,
            right_keys,
            residual: self.residual.clone(),
            output,
            null_matches: self.null_matches,
        }
    }

    /// All rows of the left with one more column: whether there is a match.
    pub(crate) fn marked(&self, names: &DFSchema) -> Result<Relation, PlanError> {
        let part = |kind: JoinKind, mark: bool| -> Result<Relation, PlanError> {
            let literal = Arc::new(Literal::new(ScalarValue::Boolean(Some(mark))));
            self.joined_with(kind, names, vec![Scalar::new(literal, self.left.plan().schema())?])
        };
        let (with, without) = (part(JoinKind::Semi, true)?, part(JoinKind::Anti, false)?);
        let rows = with.plan().union_all(&[without.plan().clone()])?;
        with.over(rows)
    }
}

fn is_one_sided(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Semi | JoinKind::Anti)
}

/// The rows whose keys are not NULL.
pub(crate) fn not_null(rows: &Relation, keys: &[Scalar]) -> Result<Relation, PlanError> {
    let schema = rows.plan().schema();
    let nullable = keys.iter().filter(|key| key.nullable());
    let test = |key: &Scalar| Ok(Scalar::new(Arc::new(IsNotNullExpr::new(Arc::clone(key.expr()))), schema)?);
    let predicates = nullable.map(test).collect::<Result<Vec<Scalar>, PlanError>>()?;
    if predicates.is_empty() {
        return Ok(rows.clone());
    }
    rows.over(Plan::new(PlanKind::Filter { input: rows.plan().clone(), predicates }, Arc::clone(schema)))
}

/// A condition over the columns of both sides and the outer ones.
fn bind_residual(filter: &Expr, left: &Relation, right: &Relation) -> Result<Vec<Scalar>, PlanError> {
    let scope = left.scope().join(right.scope())?;
    let schema = join_schema(left.plan(), right.plan(), JoinKind::Inner);
    let width = left.plan().schema().fields().len();
    let columns: Vec<usize> =
        left.columns().iter().copied().chain(right.columns().iter().map(|column| column + width)).collect();
    let literal_true = |expr: &&Expr| !matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(true)), _));
    let conjuncts = split_conjunction(filter).into_iter().filter(literal_true);
    if left.outer().is_empty() && right.outer().is_empty() {
        let bound = conjuncts.map(|conjunct| bind_columns(conjunct, &scope, &columns, &schema));
        return Ok(failing_last(bound.collect::<Result<_, _>>()?, &schema));
    }
    let pairs = Plan::new(PlanKind::Union(Vec::new()), Arc::clone(&schema));
    let right_outer = right.outer().iter().map(|(column, place)| (column.clone(), place + width));
    let both = Relation::chosen(pairs, columns, &scope)?
        .depending(left.outer().iter().cloned().chain(right_outer).fold(Vec::new(), first_of_each));
    Ok(failing_last(both.bind_all(conjuncts)?, &schema))
}

/// Predicates are tested one after the other: those that may fail see the fewest rows at the end.
fn failing_last(mut predicates: Vec<Scalar>, schema: &Schema) -> Vec<Scalar> {
    predicates.sort_by_key(|predicate| may_fail(predicate.expr(), schema));
    predicates
}

fn first_of_each(mut known: Vec<(Column, usize)>, next: (Column, usize)) -> Vec<(Column, usize)> {
    if known.iter().all(|(column, _)| *column != next.0) {
        known.push(next);
    }
    known
}

fn check_types(on: &[(Scalar, Scalar)]) -> Result<(), PlanError> {
    match on.iter().find(|(l, r)| !l.data_type().equals_datatype(r.data_type())) {
        None => Ok(()),
        Some((l, r)) => Err(PlanError::types(format!("join key {l} = {r}"), l.data_type(), r.data_type())),
    }
}
