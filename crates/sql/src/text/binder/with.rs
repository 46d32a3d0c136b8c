//! WITH: names for queries, which may read themselves if it says RECURSIVE.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_common::{Column, Result};
use datafusion_expr::logical_plan::Projection;
use datafusion_expr::planner::ContextProvider;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion_sql::sqlparser::ast::{
    Cte, ObjectName, Query, SetExpr, SetOperator, SetQuantifier, TableAlias, Visit, Visitor, With,
};

use super::query::combined;
use super::{Binder, normal, refused};

/// A query with a name.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) plan: LogicalPlan,
}

impl Binder<'_> {
    pub(super) fn with_clause(&mut self, with: &With) -> Result<()> {
        let mut seen = HashSet::new();
        for cte in &with.cte_tables {
            let name = normal(&cte.alias.name);
            if !seen.insert(name.clone()) {
                return Err(refused(&name, format!("WITH defines '{name}' twice")));
            }
        }
        if !with.recursive {
            for cte in &with.cte_tables {
                let plan = renamed(self.query(&cte.query)?, &cte.alias)?;
                self.with.push(Named { name: normal(&cte.alias.name), plan });
            }
            return Ok(());
        }
        for group in in_order_of_use(&with.cte_tables) {
            match group[..] {
                [cte] => {
                    let name = normal(&cte.alias.name);
                    let plan = if reads(&cte.query, &name) {
                        self.recursive(cte, &name)?
                    } else {
                        renamed(self.query(&cte.query)?, &cte.alias)?
                    };
                    self.with.push(Named { name, plan });
                }
                _ => {
                    let named = self.mutual(&group)?;
                    self.with.extend(named);
                }
            }
        }
        Ok(())
    }

    /// The terms of the union that do not read it are the start, the others the step.
    fn recursive(&mut self, cte: &Cte, name: &str) -> Result<LogicalPlan> {
        let known = self.with.len();
        if let Some(with) = &cte.query.with {
            self.with_clause(with)?;
        }
        let plan = self.fixpoint(cte, name);
        self.with.truncate(known);
        plan
    }

    fn fixpoint(&mut self, cte: &Cte, name: &str) -> Result<LogicalPlan> {
        let query = &cte.query;
        if query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some() {
            let reason = format!(
                "the recursive query '{name}' cannot be ordered or limited: order and limit the query that reads it"
            );
            return Err(refused(name, reason));
        }
        let (terms, distinct) = terms_of(&query.body, name)?;
        let (steps, starts): (Vec<&SetExpr>, Vec<&SetExpr>) =
            terms.into_iter().partition(|term| reads_body(term, name));
        let Some(start) = self.union_of(&starts)? else {
            return Err(refused(
                name,
                format!("the recursive query '{name}' has no term that does not read it"),
            ));
        };
        let start = renamed(start, &cte.alias)?;
        let fields = start.schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(arrow_schema::Schema::new(fields.collect::<Vec<_>>()));
        let source = self.provider.create_cte_work_table(name, schema)?;
        let scan =
            LogicalPlanBuilder::scan(datafusion_common::TableReference::bare(name), source, None)?.build()?;
        self.with.push(Named { name: name.to_owned(), plan: unqualified(scan)? });
        let step = self.union_of(&steps);
        self.with.pop();
        let Some(step) = step? else { return Ok(start) };
        LogicalPlanBuilder::from(start).to_recursive_query(name.to_owned(), step, distinct)?.build()
    }

    fn union_of(&mut self, terms: &[&SetExpr]) -> Result<Option<LogicalPlan>> {
        let mut union: Option<LogicalPlan> = None;
        for term in terms {
            let plan = self.body(term)?;
            union = Some(match union {
                // The fixed point of a set has each row once, however often a term gives it.
                Some(rows) => combined(rows, SetOperator::Union, SetQuantifier::All, plan)?,
                None => plan,
            });
        }
        Ok(union)
    }
}

/// The expressions in groups: those that lead back to each other together, and each group behind those that it reads.
fn in_order_of_use(all: &[Cte]) -> Vec<Vec<&Cte>> {
    let names: Vec<String> = all.iter().map(|cte| normal(&cte.alias.name)).collect();
    // What each reaches in one step, and then in any number of steps.
    let mut reaches: Vec<Vec<bool>> =
        all.iter().map(|cte| names.iter().map(|name| reads(&cte.query, name)).collect()).collect();
    for middle in 0..all.len() {
        for from in 0..all.len() {
            if reaches[from][middle] {
                let beyond = reaches[middle].clone();
                reaches[from].iter_mut().zip(beyond).for_each(|(reached, more)| *reached |= more);
            }
        }
    }
    let mut left: Vec<usize> = (0..all.len()).collect();
    let mut groups = Vec::new();
    while !left.is_empty() {
        let together = |a: usize, b: usize| a == b || (reaches[a][b] && reaches[b][a]);
        let ready = |one: usize| left.iter().all(|other| !reaches[one][*other] || together(one, *other));
        let Some(first) = left.iter().copied().find(|one| ready(*one)) else { break };
        let (group, rest): (Vec<usize>, Vec<usize>) = left.iter().partition(|other| together(first, **other));
        groups.push(group.into_iter().map(|index| &all[index]).collect());
        left = rest;
    }
    groups
}

/// The operands of a chain of UNIONs of one kind, and whether they remove copies.
fn terms_of<'q>(body: &'q SetExpr, name: &str) -> Result<(Vec<&'q SetExpr>, bool)> {
    let refuse = || {
        let reason =
            format!("the recursive query '{name}' must be a UNION or UNION ALL of a start and a step");
        refused(name, reason)
    };
    let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, .. } = body else {
        return Err(refuse());
    };
    let distinct = match set_quantifier {
        SetQuantifier::All => false,
        SetQuantifier::None | SetQuantifier::Distinct => true,
        _ => return Err(refuse()),
    };
    let mut terms = Vec::new();
    flatten(body, distinct, name, &mut terms);
    Ok((terms, distinct))
}

/// A union that does not read the relation stays whole: it is a start whatever its kind.
fn flatten<'q>(body: &'q SetExpr, distinct: bool, name: &str, terms: &mut Vec<&'q SetExpr>) {
    if let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } = body
        && reads_body(body, name)
        && distinct == matches!(set_quantifier, SetQuantifier::None | SetQuantifier::Distinct)
        && matches!(set_quantifier, SetQuantifier::None | SetQuantifier::Distinct | SetQuantifier::All)
    {
        flatten(left, distinct, name, terms);
        flatten(right, distinct, name, terms);
        return;
    }
    match body {
        SetExpr::Query(inner) if is_bare(inner) && reads_body(&inner.body, name) => {
            flatten(&inner.body, distinct, name, terms)
        }
        _ => terms.push(body),
    }
}

/// Whether a query is nothing but its body in parentheses.
fn is_bare(query: &Query) -> bool {
    query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none()
}

/// The columns under the names that stand behind the alias; those without one keep theirs.
pub(super) fn renamed(plan: LogicalPlan, alias: &TableAlias) -> Result<LogicalPlan> {
    if alias.columns.is_empty() {
        return Ok(plan);
    }
    let width = plan.schema().fields().len();
    if alias.columns.len() > width {
        let name = normal(&alias.name);
        let reason = format!("'{name}' has {width} column(s), {} names are given", alias.columns.len());
        return Err(refused(&name, reason));
    }
    let given = alias.columns.iter().map(|column| normal(&column.name));
    let kept = plan.schema().fields().iter().skip(alias.columns.len()).map(|field| field.name().clone());
    let names = super::named_apart(given.chain(kept));
    let columns = plan.schema().columns().into_iter().zip(names);
    let columns: Vec<Expr> = columns.map(|(column, name)| Expr::Column(column).alias(name)).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// The columns without the qualifier of a scan.
pub(super) fn unqualified(plan: LogicalPlan) -> Result<LogicalPlan> {
    let columns = plan.schema().columns().into_iter().map(|column: Column| {
        let name = column.name.clone();
        Expr::Column(column).alias(name)
    });
    let columns: Vec<Expr> = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

struct Reader<'n> {
    name: &'n str,
}

impl Visitor for Reader<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let is_it = matches!(&relation.0[..], [part] if part.as_ident().is_some_and(|ident| normal(ident) == self.name));
        if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Whether a query names a relation. One that it defines itself under that name hides the other, but then the name is not recursive in any sense.
fn reads(query: &Query, name: &str) -> bool {
    query.visit(&mut Reader { name }).is_break()
}

pub(super) fn reads_body(body: &SetExpr, name: &str) -> bool {
    body.visit(&mut Reader { name }).is_break()
}
