//! Subqueries without correlation: a subquery is computed once, for all values of the outer columns that it depends on, and joined to the rows that asked.
//!
//! The *domain* is the distinct values of the outer columns. A relation inside the subquery carries the outer columns it depends on; where an expression asks for one
//! that is not carried, the relation is joined with the domain. Aggregates, distinct, limits and windows then work for each outer value apart, by having
//! the carried columns among their keys. So any subquery can be kept up to date: none is run row by row.
//!
//! The common case needs no domain: a filter `inner = outer` says that the outer column *is* the inner one, for all rows that can matter.
//!
//! An aggregate without GROUP BY has a row also for outer values without rows. The relation remembers that row (`missing`), and whoever needs it joins
//! the domain; a scalar subquery, which is left-joined anyhow, puts the value of the missing row instead of NULL.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use datafusion_common::{Column, DFSchema, ScalarValue};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, LogicalPlan, Operator, col, lit, when};
use datafusion_physical_expr::expressions::{CaseExpr, IsNotNullExpr, IsNullExpr, Literal};
use tailrace_operators::Scalar;
use tailrace_trace::ChangeBatch;

use super::apply_node::{Apply, ApplyKind, outer_columns};
use super::relation::{Relation, computed, named, numbered_beyond};
use super::translate::{Translator, outer_of};
use super::translate_join::{Sides, not_null};
use crate::plan_builder::join_schema;
use crate::{JoinKind, Plan, PlanError, PlanKind};

/// The outer columns of a subquery and their distinct values.
pub(crate) struct Domain {
    columns: Vec<Column>,
    values: Plan,
}

impl Translator {
    /// A relation that has all its rows: groups that are empty included.
    pub(crate) fn settled(&self, plan: &LogicalPlan) -> Result<Relation, PlanError> {
        self.filled(self.relation(plan)?)
    }

    /// Adds the row of empty groups for the outer values that have none.
    pub(crate) fn filled(&self, rows: Relation) -> Result<Relation, PlanError> {
        let Some(missing) = rows.missing() else { return Ok(rows) };
        let domain = self.known_domain()?;
        let pair = |(column, place): &(Column, usize)| Ok((domain.position(column)?, *place));
        let pairs = rows.outer().iter().map(pair).collect::<Result<Vec<_>, PlanError>>()?;
        left_or_missing(&self.domain_relation()?, &rows, &pairs, missing, rows.scope())
    }

    /// The relation with these outer columns carried.
    pub(crate) fn attached(&self, rows: Relation, needed: &[Column]) -> Result<Relation, PlanError> {
        if needed.iter().all(|column| rows.place_of_outer(column).is_some()) {
            return Ok(rows);
        }
        self.with_domain(rows, Vec::new())
    }

    /// The outer columns, in the order of the domain.
    pub(crate) fn domain_columns(&self) -> Vec<Column> {
        self.domain.as_ref().map(|domain| domain.columns.clone()).unwrap_or_default()
    }

    /// A filter whose conjuncts read outer columns: the relation with these carried, and the conjuncts that are left.
    pub(crate) fn correlated<'a>(
        &self,
        input: Relation,
        conjuncts: Vec<&'a Expr>,
    ) -> Result<(Relation, Vec<&'a Expr>), PlanError> {
        let mut missing = outer_of(conjuncts.iter().copied())?;
        missing.retain(|column| input.place_of_outer(column).is_none());
        if missing.is_empty() {
            return Ok((input, conjuncts));
        }
        if let Some(bound) = self.bound_by_equality(&input, &conjuncts, &missing)? {
            return Ok(bound);
        }
        let (keys, rest): (Vec<&Expr>, Vec<&Expr>) =
            conjuncts.into_iter().partition(|conjunct| equality(conjunct).is_some());
        let pairs = keys.iter().filter_map(|key| equality(key)).collect();
        Ok((self.with_domain(input, pairs)?, rest))
    }

    /// The case without a domain: every missing outer column equals an expression over the input.
    fn bound_by_equality<'a>(
        &self,
        input: &Relation,
        conjuncts: &[&'a Expr],
        missing: &[Column],
    ) -> Result<Option<(Relation, Vec<&'a Expr>)>, PlanError> {
        let domain = self.known_domain()?;
        let mut rest: Vec<&Expr> = conjuncts.to_vec();
        let mut places: Vec<(Column, Scalar)> = Vec::new();
        for column in missing {
            let wanted = domain.field(column)?;
            let found = rest.iter().enumerate().find_map(|(index, conjunct)| {
                let (inner, outer) = equality(conjunct)?;
                let is_it = matches!(outer, Expr::OuterReferenceColumn(_, outer) if outer == column);
                let scalar = is_it.then(|| input.bind(inner).ok()).flatten()?;
                scalar.data_type().equals_datatype(wanted.data_type()).then_some((index, scalar))
            });
            let Some((index, scalar)) = found else { return Ok(None) };
            rest.remove(index);
            places.push((column.clone(), scalar));
        }
        let keys: Vec<Scalar> = places.iter().map(|(_, scalar)| scalar.clone()).collect();
        let input = not_null(input, &keys)?;
        Ok(Some((carrying(&input, places)?, rest)))
    }

    /// Joins the domain, on the outer columns that are carried and on equal expressions of inner and outer columns.
    fn with_domain(&self, rows: Relation, pairs: Vec<(&Expr, &Expr)>) -> Result<Relation, PlanError> {
        let domain = self.known_domain()?;
        let values = self.domain_relation()?;
        let mut on = Vec::new();
        for (column, place) in rows.outer() {
            let index = domain.position(column)?;
            on.push((
                Scalar::column(*place, rows.plan().schema()),
                Scalar::column(index, domain.values.schema()),
            ));
        }
        let mut inner_keys = Vec::new();
        for (inner, outer) in pairs {
            inner_keys.push(rows.bind(inner)?);
            on.push((rows.bind(inner)?, values.bind(outer)?));
        }
        let left = not_null(&rows, &inner_keys)?;
        let sides = Sides { left, right: values, on, residual: Vec::new(), null_matches: true };
        sides.joined(JoinKind::Inner, rows.scope())
    }

    fn known_domain(&self) -> Result<&Domain, PlanError> {
        self.domain.as_ref().ok_or_else(|| {
            PlanError::Invalid("a column of an outer query is read where there is none".into())
        })
    }

    fn domain_relation(&self) -> Result<Relation, PlanError> {
        let domain = self.known_domain()?;
        let outer =
            domain.columns.iter().enumerate().map(|(index, column)| (column.clone(), index)).collect();
        Ok(Relation::chosen(domain.values.clone(), Vec::new(), &DFSchema::empty())?.depending(outer))
    }

    /// A subquery applied to the rows of an input.
    pub(crate) fn apply(&self, apply: &Apply, names: &DFSchema) -> Result<Relation, PlanError> {
        let asked = outer_columns(&apply.subquery)?;
        let mut input = self.settled(&apply.input)?;
        let beyond: Vec<Column> =
            asked.iter().filter(|column| input.place_of(column).is_none()).cloned().collect();
        if !beyond.is_empty() {
            input = self.attached(input, &beyond)?;
        }
        let domain = domain_of(&input, &asked)?;
        let inside = Translator { domain: Some(domain) };
        let answers = inside.relation(&apply.subquery)?;
        let answers = if apply.kind == ApplyKind::Scalar { answers } else { inside.filled(answers)? };
        match &apply.kind {
            ApplyKind::Scalar => scalar(&input, &answers, names),
            ApplyKind::Semi { key } => asking(&input, &answers, key.as_ref())?.joined(JoinKind::Semi, names),
            ApplyKind::Anti { key: None } => asking(&input, &answers, None)?.joined(JoinKind::Anti, names),
            ApplyKind::Anti { key: Some(key) } => not_in(&input, &answers, key)?.renamed(names),
            ApplyKind::Mark { key: None } => exists(&input, &answers, names),
            ApplyKind::Mark { key: Some(key) } => is_in(&input, &answers, key, names),
            ApplyKind::Lateral { keep } => asking(&input, &answers, None)?
                .joined(if *keep { JoinKind::Left } else { JoinKind::Inner }, names),
        }
    }
}

impl Domain {
    /// Outer columns and the plan of their values, which has them in this order.
    pub(crate) fn new(columns: Vec<Column>, values: Plan) -> Self {
        Self { columns, values }
    }

    fn position(&self, column: &Column) -> Result<usize, PlanError> {
        let place = self.columns.iter().position(|known| known == column);
        place.ok_or_else(|| PlanError::UnknownColumn {
            name: column.flat_name(),
            choices: self.columns.iter().map(Column::flat_name).collect(),
        })
    }

    fn field(&self, column: &Column) -> Result<&Field, PlanError> {
        Ok(self.values.schema().field(self.position(column)?))
    }
}

/// The distinct values of the columns that a subquery asks for.
fn domain_of(input: &Relation, asked: &[Column]) -> Result<Domain, PlanError> {
    let mut scalars = Vec::with_capacity(asked.len());
    for column in asked {
        let unknown =
            || PlanError::UnknownColumn { name: column.flat_name(), choices: input.scope().field_names() };
        scalars.push(Scalar::column(input.place_of(column).ok_or_else(unknown)?, input.plan().schema()));
    }
    let names = numbered_beyond(&DFSchema::empty(), 0, scalars.len())?;
    let values = computed(input.plan(), scalars, &names)?.distinct();
    Ok(Domain { columns: asked.to_vec(), values })
}

/// The relation with outer columns that are expressions over it.
fn carrying(rows: &Relation, places: Vec<(Column, Scalar)>) -> Result<Relation, PlanError> {
    let mut outer = rows.outer().to_vec();
    let width = rows.plan().schema().fields().len();
    let mut scalars: Vec<Scalar> =
        (0..width).map(|place| Scalar::column(place, rows.plan().schema())).collect();
    for (column, scalar) in places {
        let place = scalar.as_column().unwrap_or_else(|| {
            scalars.push(scalar);
            scalars.len() - 1
        });
        outer.push((column, place));
    }
    if scalars.len() == width {
        return Ok(rows.clone().depending(outer));
    }
    let names = numbered_beyond(&DFSchema::empty(), 0, scalars.len())?;
    let plan = computed(rows.plan(), scalars, &names)?;
    Ok(rows.over(plan)?.depending(outer))
}

/// An input and the answers of a subquery, joined on the outer columns and, for IN, on the key and the first column.
fn asking(input: &Relation, answers: &Relation, key: Option<&Column>) -> Result<Sides, PlanError> {
    let mut answers = answers.clone();
    let mut pairs = outer_pairs(input, &answers)?;
    if let Some(key) = key {
        let value = answers.columns()[0];
        answers = not_null(&answers, &[Scalar::column(value, answers.plan().schema())])?;
        pairs.push((place_of(input, key)?, value));
    }
    let scalars = |(l, r): (usize, usize)| {
        (Scalar::column(l, input.plan().schema()), Scalar::column(r, answers.plan().schema()))
    };
    let on = pairs.into_iter().map(scalars).collect();
    Ok(Sides {
        left: input.clone(),
        right: answers.clone().depending(Vec::new()),
        on,
        residual: Vec::new(),
        null_matches: true,
    })
}

fn outer_pairs(input: &Relation, answers: &Relation) -> Result<Vec<(usize, usize)>, PlanError> {
    answers.outer().iter().map(|(column, place)| Ok((place_of(input, column)?, *place))).collect()
}

fn place_of(input: &Relation, column: &Column) -> Result<usize, PlanError> {
    let unknown =
        || PlanError::UnknownColumn { name: column.flat_name(), choices: input.scope().field_names() };
    input.place_of(column).ok_or_else(unknown)
}

/// The value of the subquery, or that of an empty group where it has no row.
fn scalar(input: &Relation, answers: &Relation, names: &DFSchema) -> Result<Relation, PlanError> {
    let value =
        Relation::chosen(answers.plan().clone(), answers.columns()[..1].to_vec(), &first_name(answers)?)?
            .depending(answers.outer().to_vec());
    match answers.missing() {
        Some(missing) => left_or_missing(input, &value, &outer_pairs(input, answers)?, missing, names),
        None => {
            let kind = if answers.outer().is_empty() && has_one_row(answers.plan()) {
                JoinKind::Inner
            } else {
                JoinKind::Left
            };
            asking(input, &value, None)?.joined(kind, names)
        }
    }
}

fn first_name(answers: &Relation) -> Result<DFSchema, PlanError> {
    let (qualifier, field) = answers.scope().qualified_field(0);
    Ok(DFSchema::new_with_metadata(vec![(qualifier.cloned(), Arc::clone(field))], Default::default())?)
}

/// Whether a plan has one row whatever its input: an aggregate without keys.
fn has_one_row(plan: &Plan) -> bool {
    match plan.kind() {
        PlanKind::Aggregate { spec, .. } => spec.keys.is_empty(),
        PlanKind::Project { input, .. } => has_one_row(input),
        PlanKind::Constant(rows) => rows.weights().iter().sum::<i64>() == 1,
        _ => false,
    }
}

/// A left join whose rows without a match have the values of `missing` on the right.
fn left_or_missing(
    left: &Relation,
    right: &Relation,
    pairs: &[(usize, usize)],
    missing: &ChangeBatch,
    names: &DFSchema,
) -> Result<Relation, PlanError> {
    let instead = right
        .columns()
        .iter()
        .map(|place| Ok(ScalarValue::try_from_array(missing.column(*place), 0)?))
        .collect::<Result<Vec<_>, PlanError>>()?;
    let source = right.plan().schema();
    let mut scalars = right.scalars();
    scalars.extend(pairs.iter().map(|(_, place)| Scalar::column(*place, source)));
    scalars.push(Scalar::new(Arc::new(Literal::new(ScalarValue::Boolean(Some(true)))), source)?);
    let (width, marker) = (right.columns().len(), scalars.len() - 1);
    let answers = computed(right.plan(), scalars, &numbered_beyond(&DFSchema::empty(), 0, marker + 1)?)?;
    let schema = join_schema(left.plan(), &answers, JoinKind::Left);
    let beyond = left.plan().schema().fields().len();
    let mut output = left.scalars();
    for (place, value) in instead.into_iter().enumerate() {
        output.push(value_or(beyond + place, beyond + marker, value, &schema)?);
    }
    let shown = output.len();
    output.extend(left.outer_scalars());
    let outer =
        left.outer().iter().enumerate().map(|(index, (column, _))| (column.clone(), shown + index)).collect();
    let left_keys = pairs.iter().map(|(place, _)| Scalar::column(*place, left.plan().schema())).collect();
    let right_keys = (0..pairs.len()).map(|index| Scalar::column(width + index, answers.schema())).collect();
    let named = named(&output, &numbered_beyond(names, shown, left.outer().len())?);
    let kind = PlanKind::Join {
        left: left.plan().clone(),
        right: answers,
        kind: JoinKind::Left,
        left_keys,
        right_keys,
        residual: Vec::new(),
        output,
        null_matches: true,
    };
    Ok(Relation::chosen(Plan::new(kind, named), (0..shown).collect(), names)?.depending(outer))
}

/// A column where the marker is set, a constant where it is not.
fn value_or(column: usize, marker: usize, value: ScalarValue, schema: &Schema) -> Result<Scalar, PlanError> {
    let plain = Scalar::column(column, schema);
    if value.is_null() {
        return Ok(plain);
    }
    let absent = Arc::new(IsNullExpr::new(Arc::clone(Scalar::column(marker, schema).expr())));
    let case = CaseExpr::try_new(
        None,
        vec![(absent, Arc::new(Literal::new(value)))],
        Some(Arc::clone(plain.expr())),
    )?;
    Ok(Scalar::new(Arc::new(case), schema)?)
}

/// NOT IN: no equal value, no NULL among the values, and a NULL only where there are no values at all.
fn not_in(input: &Relation, answers: &Relation, key: &Column) -> Result<Relation, PlanError> {
    let without = |rows: &Relation, answers: &Relation, key: Option<&Column>| {
        asking(rows, answers, key)?.joined(JoinKind::Anti, rows.scope())
    };
    let mut rows = without(input, answers, Some(key))?;
    if first_column(answers).nullable() {
        rows = without(&rows, &nulls_of(answers)?, None)?;
    }
    let place = place_of(&rows, key)?;
    if !Scalar::column(place, rows.plan().schema()).nullable() {
        return Ok(rows);
    }
    let (marked, any) = with_mark(&rows, answers, None)?;
    let named = named_places(&marked, &[("key", place_of(&marked, key)?), ("any", any)])?;
    let predicates = vec![named.bind(&col("key").is_not_null().or(!col("any")))?];
    let schema = Arc::clone(marked.plan().schema());
    marked.over(Plan::new(PlanKind::Filter { input: marked.plan().clone(), predicates }, schema))
}

/// IN with its three values: a match is true, a possible match is NULL, none is false.
fn is_in(
    input: &Relation,
    answers: &Relation,
    key: &Column,
    names: &DFSchema,
) -> Result<Relation, PlanError> {
    let (mut rows, matched) = with_mark(input, answers, Some(key))?;
    let mut places = vec![("matched", matched)];
    let mut unknown: Option<Expr> = None;
    if first_column(answers).nullable() {
        let (marked, null) = with_mark(&rows, &nulls_of(answers)?, None)?;
        rows = marked;
        places.push(("null", null));
        unknown = Some(col("null"));
    }
    if Scalar::column(place_of(&rows, key)?, rows.plan().schema()).nullable() {
        let (marked, any) = with_mark(&rows, answers, None)?;
        rows = marked;
        places.extend([("any", any), ("key", place_of(&rows, key)?)]);
        let asked = col("key").is_null().and(col("any"));
        unknown = Some(unknown.map_or(asked.clone(), |other| other.or(asked)));
    }
    let value = match unknown {
        None => col("matched"),
        Some(unknown) => when(col("matched"), lit(true))
            .when(unknown, lit(ScalarValue::Boolean(None)))
            .otherwise(lit(false))?,
    };
    let mut scalars = rows.scalars();
    scalars.push(named_places(&rows, &places)?.bind(&value)?);
    rows.project(scalars, names)
}

/// EXISTS as a value.
fn exists(input: &Relation, answers: &Relation, names: &DFSchema) -> Result<Relation, PlanError> {
    let (rows, mark) = with_mark(input, answers, None)?;
    let mut scalars = rows.scalars();
    scalars.push(Scalar::column(mark, rows.plan().schema()));
    rows.project(scalars, names)
}

/// The rows with one more column behind those of their plan: whether there is an answer. The input is read once, however many marks there are.
fn with_mark(
    input: &Relation,
    answers: &Relation,
    key: Option<&Column>,
) -> Result<(Relation, usize), PlanError> {
    let input = input.narrow()?;
    let sides = asking(&input, answers, key)?;
    let (left_keys, right_keys): (Vec<Scalar>, Vec<Scalar>) = sides.on.iter().cloned().unzip();
    let count = right_keys.len();
    let source = sides.right.plan();
    let mut scalars = right_keys;
    scalars.push(Scalar::new(Arc::new(Literal::new(ScalarValue::Boolean(Some(true)))), source.schema())?);
    let keys = computed(source, scalars, &numbered_beyond(&DFSchema::empty(), 0, count + 1)?)?.distinct();
    let schema = join_schema(input.plan(), &keys, JoinKind::Left);
    let width = input.plan().schema().fields().len();
    let mut output: Vec<Scalar> = (0..width).map(|place| Scalar::column(place, &schema)).collect();
    let marker = Scalar::column(width + count, &schema);
    output.push(Scalar::new(Arc::new(IsNotNullExpr::new(Arc::clone(marker.expr()))), &schema)?);
    let right_keys = (0..count).map(|place| Scalar::column(place, keys.schema())).collect();
    let named = named(&output, &numbered_beyond(&DFSchema::empty(), 0, width + 1)?);
    let left = input.plan().clone();
    let kind = PlanKind::Join {
        left,
        right: keys,
        kind: JoinKind::Left,
        left_keys,
        right_keys,
        residual: Vec::new(),
        output,
        null_matches: true,
    };
    Ok((input.over(Plan::new(kind, named))?, width))
}

/// Some places of a relation under plain names, to write an expression over them.
fn named_places(rows: &Relation, places: &[(&str, usize)]) -> Result<Relation, PlanError> {
    let field = |(name, place): &(&str, usize)| rows.plan().schema().field(*place).clone().with_name(*name);
    let names = DFSchema::try_from(Arc::new(Schema::new(places.iter().map(field).collect::<Vec<_>>())))?;
    Relation::chosen(rows.plan().clone(), places.iter().map(|(_, place)| *place).collect(), &names)
}

fn first_column(answers: &Relation) -> Scalar {
    Scalar::column(answers.columns()[0], answers.plan().schema())
}

/// The answers whose value is NULL.
fn nulls_of(answers: &Relation) -> Result<Relation, PlanError> {
    let schema = answers.plan().schema();
    let test = Arc::new(IsNullExpr::new(Arc::clone(first_column(answers).expr())));
    let predicates = vec![Scalar::new(test, schema)?];
    answers
        .over(Plan::new(PlanKind::Filter { input: answers.plan().clone(), predicates }, Arc::clone(schema)))
}

/// The sides of `inner = outer`: one reads columns of the subquery alone, the other outer columns alone.
fn equality(conjunct: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = conjunct else { return None };
    let is_inner = |expr: &Expr| !expr.contains_outer() && expr.any_column_refs();
    let is_outer = |expr: &Expr| expr.contains_outer() && !expr.any_column_refs();
    match (left.as_ref(), right.as_ref()) {
        (inner, outer) if is_inner(inner) && is_outer(outer) => Some((inner, outer)),
        (outer, inner) if is_inner(inner) && is_outer(outer) => Some((inner, outer)),
        _ => None,
    }
}
