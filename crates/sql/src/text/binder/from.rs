//! FROM: relations and joins, and the names that they make visible.
//!
//! A column that USING or NATURAL merges is the left one of an inner or left join, the right one of a right join, and the first that is not NULL of a full
//! join. The columns it was merged from are found by their relation only.

use std::sync::Arc;

use datafusion_common::{Column, JoinType, NullEquality, Result, TableReference};
use datafusion_expr::logical_plan::{
    Join, JoinConstraint as Constraint, Projection, Subquery, SubqueryAlias,
};
use datafusion_expr::planner::ContextProvider;
use datafusion_expr::utils::conjunction;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion_sql::sqlparser::ast::{
    Join as SqlJoin, JoinConstraint, JoinOperator, ObjectName, TableAlias, TableFactor, TableWithJoins,
};

use super::expression::{as_subquery, outer_references};
use super::grouping::computes_group;
use super::query::one_row;
use super::scope::{Names, Scope, Visible};
use super::with::renamed;
use super::{Binder, normal, refused};
use crate::PlanError;
use crate::scalar_function;
use crate::text::planner::external;

/// A relation of FROM: its rows and the names of its columns.
pub(super) struct Source {
    pub(super) plan: LogicalPlan,
    pub(super) scope: Scope,
}

impl Binder<'_> {
    /// All relations of FROM; without one there is one row.
    pub(super) fn from(&mut self, tables: &[TableWithJoins]) -> Result<Source> {
        let mut all: Option<Source> = None;
        for table in tables {
            all = Some(match all {
                None => self.joins(table, None)?,
                // The relations of a join may read those before it: then it is joined to all of them, one by one.
                Some(before) if is_left_deep(table) => self.joins(table, Some(before))?,
                Some(before) => {
                    let next = self.joins(table, None)?;
                    joined(before, next, JoinType::Inner, None)?
                }
            });
        }
        Ok(all.unwrap_or_else(|| Source { plan: one_row(), scope: Scope::default() }))
    }

    fn joins(&mut self, table: &TableWithJoins, before: Option<Source>) -> Result<Source> {
        let mut left = match before {
            None => self.factor(&table.relation, None)?,
            Some(before) => {
                let next = self.factor(&table.relation, Some(&before.scope))?;
                joined(before, next, JoinType::Inner, None)?
            }
        };
        for join in &table.joins {
            left = self.join(left, join)?;
        }
        Ok(left)
    }

    fn join(&mut self, left: Source, join: &SqlJoin) -> Result<Source> {
        use JoinOperator::{
            Anti, CrossApply, CrossJoin, FullOuter, Inner, Join, Left, LeftAnti, LeftOuter, LeftSemi,
            OuterApply, Right, RightAnti, RightOuter, RightSemi, Semi, StraightJoin,
        };
        let none = JoinConstraint::None;
        let (kind, constraint) = match &join.join_operator {
            Join(on) | Inner(on) | StraightJoin(on) | CrossJoin(on) => (JoinType::Inner, on),
            Left(on) | LeftOuter(on) => (JoinType::Left, on),
            Right(on) | RightOuter(on) => (JoinType::Right, on),
            FullOuter(on) => (JoinType::Full, on),
            Semi(on) | LeftSemi(on) => (JoinType::LeftSemi, on),
            Anti(on) | LeftAnti(on) => (JoinType::LeftAnti, on),
            RightSemi(on) => (JoinType::RightSemi, on),
            RightAnti(on) => (JoinType::RightAnti, on),
            CrossApply => (JoinType::Inner, &none),
            OuterApply => (JoinType::Left, &none),
            other => {
                return Err(refused("join", format!("this kind of join is not supported: {}", named(other))));
            }
        };
        let right = self.factor(&join.relation, Some(&left.scope))?;
        match constraint {
            JoinConstraint::None => joined(left, right, kind, None),
            JoinConstraint::On(condition) => {
                let both = left.scope.clone().and(right.scope.clone())?;
                let condition = self.condition(condition, &Names::of(&both))?;
                if computes_group(&condition) {
                    return Err(refused("on", "ON cannot hold an aggregate or a window function"));
                }
                joined(left, right, kind, Some(condition))
            }
            JoinConstraint::Using(columns) => {
                let names = columns.iter().map(column_name).collect::<Result<Vec<_>>>()?;
                self.merged(left, right, kind, &names)
            }
            JoinConstraint::Natural => {
                let theirs: Vec<String> = right.scope.choices();
                let shared: Vec<String> =
                    left.scope.choices().into_iter().filter(|name| theirs.contains(name)).collect();
                self.merged(left, right, kind, &shared)
            }
        }
    }

    /// One relation. It may read the columns of `before`, if it is one that can.
    fn factor(&mut self, factor: &TableFactor, before: Option<&Scope>) -> Result<Source> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                check_table(factor)?;
                let reference = reference(name)?;
                let plan = self.named_relation(&reference)?;
                self.source(plan, alias.as_ref(), reference.table())
            }
            TableFactor::Derived { lateral, subquery, alias, sample } => {
                if sample.is_some() {
                    return Err(refused("tablesample", SAMPLE));
                }
                let plan = match (lateral, before) {
                    (true, Some(before)) => self.subquery(subquery, &Names::of(before))?,
                    _ => self.query(subquery)?,
                };
                let plan = dependent(plan, before)?;
                self.source(plan, alias.as_ref(), "")
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let source = self.joins(table_with_joins, None)?;
                match alias {
                    None => Ok(source),
                    Some(_) => self.source(starred(source)?, alias.as_ref(), ""),
                }
            }
            function => {
                let (plan, alias, name) = self.table_function(function, before)?;
                let plan = dependent(plan, before)?;
                let mut source = self.source(plan, alias, &name)?;
                also_by_alias(&mut source.scope, alias);
                Ok(source)
            }
        }
    }

    /// A table, a view or a common table expression. Its columns have no qualifiers.
    pub(super) fn named_relation(&mut self, name: &TableReference) -> Result<LogicalPlan> {
        if let TableReference::Bare { table } = name
            && let Some(known) = self.with.iter().rev().find(|known| *known.name == **table)
        {
            return Ok(known.plan.clone());
        }
        let source = self.provider.get_table_source(name.clone())?;
        let scan = LogicalPlanBuilder::scan(TableReference::bare(name.table()), source, None)?;
        scan.build()
    }

    fn source(&mut self, plan: LogicalPlan, alias: Option<&TableAlias>, name: &str) -> Result<Source> {
        let table = alias.map_or_else(|| name.to_owned(), |alias| normal(&alias.name));
        let plan = match alias {
            Some(alias) if !alias.columns.is_empty() => match plan {
                LogicalPlan::Subquery(subquery) => LogicalPlan::Subquery(Subquery {
                    subquery: Arc::new(renamed(Arc::unwrap_or_clone(subquery.subquery), alias)?),
                    ..subquery
                }),
                plan => renamed(plan, alias)?,
            },
            _ => plan,
        };
        let plan = self.aliased(plan, &table)?;
        let scope = Scope::of(&plan, &table, &[]);
        Ok(Source { plan, scope })
    }
}

impl Binder<'_> {
    /// A join on columns of one name, each of which is one column of the result.
    fn merged(&mut self, left: Source, right: Source, kind: JoinType, names: &[String]) -> Result<Source> {
        let mut pairs: Vec<(Visible, Visible)> = Vec::with_capacity(names.len());
        for name in names {
            pairs.push((wanted(&left, name)?, wanted(&right, name)?));
        }
        let column = |visible: &Visible| Expr::Column(visible.column.clone());
        let condition = conjunction(pairs.iter().map(|(left, right)| column(left).eq(column(right))));
        let mut source = joined(left, right, kind, condition)?;
        let values = match kind {
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::RightSemi | JoinType::RightAnti => {
                return Ok(source);
            }
            JoinType::Full => {
                let (plan, values) = self.with_first_values(source.plan, &pairs)?;
                source.plan = plan;
                values
            }
            JoinType::Right => pairs.iter().map(|(_, right)| right.clone()).collect(),
            _ => pairs.iter().map(|(left, _)| left.clone()).collect(),
        };
        source.scope = merged_scope(source.scope, &pairs, values);
        Ok(source)
    }

    /// The rows with one more column for each pair: the first value that is not NULL.
    fn with_first_values(
        &mut self,
        plan: LogicalPlan,
        pairs: &[(Visible, Visible)],
    ) -> Result<(LogicalPlan, Vec<Visible>)> {
        let coalesce = scalar_function("coalesce").map_err(external)?;
        let mut columns: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let mut values = Vec::with_capacity(pairs.len());
        for (left, right) in pairs {
            self.made += 1;
            let name = format!("#merged{}", self.made);
            let sides = vec![Expr::Column(left.column.clone()), Expr::Column(right.column.clone())];
            columns.push(coalesce.call(sides).alias(&name));
            values.push(Visible { column: Column::new_unqualified(name), ..left.clone() });
        }
        let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
        for value in &mut values {
            value.field = Arc::clone(plan.schema().qualified_field_from_column(&value.column)?.1);
        }
        Ok((plan, values))
    }
}

fn wanted(source: &Source, name: &str) -> Result<Visible> {
    let unknown =
        || external(PlanError::UnknownColumn { name: name.to_owned(), choices: source.scope.choices() });
    source.scope.plain(name)?.cloned().ok_or_else(unknown)
}

/// Why a sample is refused.
const SAMPLE: &str = "TABLESAMPLE is not supported: a sample cannot be kept up to date";

/// A relation that reads columns of those before it is applied to each of their rows.
fn dependent(plan: LogicalPlan, before: Option<&Scope>) -> Result<LogicalPlan> {
    let Some(before) = before else { return Ok(plan) };
    let reads = outer_references(&plan)?
        .iter()
        .any(|outer| matches!(outer, Expr::OuterReferenceColumn(_, column) if before.has(column)));
    if reads { Ok(LogicalPlan::Subquery(as_subquery(plan)?)) } else { Ok(plan) }
}

/// The only column of a function is also called by its alias.
fn also_by_alias(scope: &mut Scope, alias: Option<&TableAlias>) {
    if let (Some(TableAlias { name, columns, .. }), [only]) = (alias, &scope.columns[..])
        && columns.is_empty()
        && only.name != normal(name)
    {
        let other = Visible { name: normal(name), starred: false, ..only.clone() };
        scope.columns.push(other);
    }
}

/// Whether a join has a relation that may read those before it, and only kinds that allow to join it to them one by one.
fn is_left_deep(table: &TableWithJoins) -> bool {
    let reads = |factor: &TableFactor| {
        matches!(
            factor,
            TableFactor::Derived { lateral: true, .. }
                | TableFactor::UNNEST { .. }
                | TableFactor::Function { .. }
                | TableFactor::Table { args: Some(_), .. }
        )
    };
    let keeps_left = |join: &SqlJoin| {
        !matches!(
            join.join_operator,
            JoinOperator::Right(_)
                | JoinOperator::RightOuter(_)
                | JoinOperator::FullOuter(_)
                | JoinOperator::RightSemi(_)
                | JoinOperator::RightAnti(_)
        )
    };
    (reads(&table.relation) || table.joins.iter().any(|join| reads(&join.relation)))
        && table.joins.iter().all(keeps_left)
}

/// The rows of two relations that belong together.
fn joined(left: Source, right: Source, kind: JoinType, condition: Option<Expr>) -> Result<Source> {
    if is_dependent(&right.plan) && !matches!(kind, JoinType::Inner | JoinType::Left) {
        let reason = format!("{kind} JOIN with a relation that reads the ones before it is not supported");
        return Err(refused("lateral", reason));
    }
    let scope = match kind {
        JoinType::LeftSemi | JoinType::LeftAnti => left.scope,
        JoinType::RightSemi | JoinType::RightAnti => right.scope,
        _ => left.scope.and(right.scope)?,
    };
    let join = Join::try_new(
        Arc::new(left.plan),
        Arc::new(right.plan),
        Vec::new(),
        condition,
        kind,
        Constraint::On,
        NullEquality::NullEqualsNothing,
        false,
    )?;
    Ok(Source { plan: LogicalPlan::Join(join), scope })
}

/// The merged column stands where the left one stood.
fn merged_scope(scope: Scope, pairs: &[(Visible, Visible)], values: Vec<Visible>) -> Scope {
    let mut columns = Vec::with_capacity(scope.columns.len() + values.len());
    for mut visible in scope.columns {
        let is = |other: &Visible| visible.plain && other.column == visible.column;
        let left = pairs.iter().position(|(left, _)| is(left));
        if let Some(place) = left {
            columns.push(Visible { table: None, plain: true, starred: true, ..values[place].clone() });
        }
        if left.is_some() || pairs.iter().any(|(_, right)| is(right)) {
            (visible.plain, visible.starred) = (false, false);
        }
        columns.push(visible);
    }
    Scope { columns }
}

/// All columns of `*`, each under a name of its own.
fn starred(source: Source) -> Result<LogicalPlan> {
    let names = super::named_apart(source.scope.choices());
    let columns = source.scope.starred().zip(names);
    let columns: Vec<Expr> =
        columns.map(|(visible, name)| Expr::Column(visible.column.clone()).alias(name)).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(source.plan))?))
}

fn is_dependent(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Subquery(_) => true,
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => is_dependent(input),
        _ => false,
    }
}

/// Parts of a relation that would be forgotten are refused.
fn check_table(factor: &TableFactor) -> Result<()> {
    let TableFactor::Table {
        with_hints,
        version,
        with_ordinality,
        partitions,
        json_path,
        sample,
        index_hints,
        ..
    } = factor
    else {
        return Ok(());
    };
    let parts = [
        ("tablesample", sample.is_some(), SAMPLE),
        ("with", !with_hints.is_empty(), "hints for a table are not supported"),
        ("use", !index_hints.is_empty(), "hints for an index are not supported"),
        ("partition", !partitions.is_empty(), "tables have no partitions to choose"),
        ("for", version.is_some(), "a table cannot be read as of another time"),
        ("ordinality", *with_ordinality, "WITH ORDINALITY is for functions in FROM"),
        ("from", json_path.is_some(), "a path behind a table is not supported"),
    ];
    match parts.into_iter().find(|(_, found, _)| *found) {
        Some((name, _, reason)) => Err(refused(name, reason)),
        None => Ok(()),
    }
}

fn reference(name: &ObjectName) -> Result<TableReference> {
    let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(normal)).collect();
    match parts.as_deref() {
        Some([table]) => Ok(TableReference::bare(table.clone())),
        Some([schema, table]) => Ok(TableReference::partial(schema.clone(), table.clone())),
        Some([catalog, schema, table]) => {
            Ok(TableReference::full(catalog.clone(), schema.clone(), table.clone()))
        }
        _ => Err(refused(name.to_string(), format!("'{name}' is no name of a table"))),
    }
}

fn column_name(name: &ObjectName) -> Result<String> {
    match &name.0[..] {
        [part] if part.as_ident().is_some() => Ok(part.as_ident().map(normal).unwrap_or_default()),
        _ => Err(refused("using", format!("USING takes names of columns, got {name}"))),
    }
}

fn named(operator: &JoinOperator) -> &'static str {
    match operator {
        JoinOperator::AsOf { .. } => {
            "ASOF JOIN (join on an inequality and keep the last row with row_number())"
        }
        _ => "ARRAY JOIN (use unnest)",
    }
}
