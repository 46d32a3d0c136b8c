//! Common table expressions that read each other: the least sets that satisfy all their definitions at once.
//!
//! The types of such a relation are those of its first term whose relations are known already; a group in which no term is such cannot be typed and is refused.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion_common::{Result, TableReference};
use datafusion_expr::planner::ContextProvider;
use datafusion_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion_sql::sqlparser::ast::{Cte, SetExpr, SetOperator, SetQuantifier};

use super::query::{combined, conformed};
use super::with::{Named, reads_body, renamed, unqualified};
use super::{Binder, normal, refused};
use crate::text::catalog::RelationSource;
use crate::text::recursion::{MutualRecursion, Relation};

impl Binder<'_> {
    /// Binds a group of expressions, each of which leads back to itself through the others.
    pub(super) fn mutual(&mut self, group: &[&Cte]) -> Result<Vec<Named>> {
        let names: Vec<String> = group.iter().map(|cte| normal(&cte.alias.name)).collect();
        let mut terms: Vec<Vec<&SetExpr>> = Vec::with_capacity(group.len());
        for (cte, name) in group.iter().zip(&names) {
            terms.push(terms_of(cte, name)?);
        }
        let known = self.with.len();
        let bound = self.bound_group(group, &names, &terms);
        self.with.truncate(known);
        let (relations, bodies) = bound?;
        let named = names.iter().enumerate().map(|(index, name)| Named {
            name: name.clone(),
            plan: MutualRecursion::plan(name, relations.clone(), bodies.clone(), index),
        });
        Ok(named.collect())
    }

    fn bound_group(
        &mut self,
        group: &[&Cte],
        names: &[String],
        terms: &[Vec<&SetExpr>],
    ) -> Result<(Vec<Relation>, Vec<LogicalPlan>)> {
        let mut relations: Vec<Option<Relation>> = vec![None; group.len()];
        while let Some(next) = typable(&relations, names, terms) {
            let (index, term) = next;
            let first = renamed(self.body(term)?, &group[index].alias)?;
            relations[index] = Some(self.relation_like(&names[index], &first)?);
        }
        let Some(relations) = relations.into_iter().collect::<Option<Vec<Relation>>>() else {
            let reason = format!("the queries {} read nothing but each other", names.join(", "));
            return Err(refused(&names[0], reason));
        };
        let mut bodies = Vec::with_capacity(group.len());
        for (terms, relation) in terms.iter().zip(&relations) {
            bodies.push(self.union_like(terms, relation)?);
        }
        Ok((relations, bodies))
    }

    /// A relation with the columns of a plan, in sight from now on.
    fn relation_like(&mut self, name: &str, first: &LogicalPlan) -> Result<Relation> {
        let fields = first.schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let source = self.provider.create_cte_work_table(name, schema)?;
        let Some(relation) =
            source.downcast_ref::<RelationSource>().map(|source| Relation(source.plan.clone()))
        else {
            return Err(refused(name, format!("internal: '{name}' is no relation")));
        };
        let scan = LogicalPlanBuilder::scan(TableReference::bare(name), source, None)?.build()?;
        self.with.push(Named { name: name.to_owned(), plan: unqualified(scan)? });
        Ok(relation)
    }

    /// The union of the terms, under the names and types of the relation.
    fn union_like(&mut self, terms: &[&SetExpr], relation: &Relation) -> Result<LogicalPlan> {
        let fields = relation.0.schema().fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let types: Vec<DataType> = fields.iter().map(|field| field.data_type().clone()).collect();
        let mut union: Option<LogicalPlan> = None;
        for term in terms {
            let plan = self.body(term)?;
            if plan.schema().fields().len() != names.len() {
                let reason = "the terms of a recursive query need as many columns each";
                return Err(refused("recursive", reason));
            }
            let plan = conformed(plan, &types, &names)?;
            union = Some(match union {
                Some(rows) => combined(rows, SetOperator::Union, SetQuantifier::All, plan)?,
                None => plan,
            });
        }
        union.ok_or_else(|| refused("recursive", "a recursive query has no term"))
    }
}

/// The first term whose relations are all known, of a relation that is not.
fn typable<'t>(
    relations: &[Option<Relation>],
    names: &[String],
    terms: &[Vec<&'t SetExpr>],
) -> Option<(usize, &'t SetExpr)> {
    let known = |term: &SetExpr| {
        names.iter().zip(relations).all(|(name, relation)| relation.is_some() || !reads_body(term, name))
    };
    let unknown = relations.iter().enumerate().filter(|(_, relation)| relation.is_none());
    unknown
        .into_iter()
        .find_map(|(index, _)| terms[index].iter().find(|term| known(term)).map(|term| (index, *term)))
}

/// The operands of a chain of UNIONs, or the only one.
fn terms_of<'q>(cte: &'q Cte, name: &str) -> Result<Vec<&'q SetExpr>> {
    let query = &cte.query;
    if query.with.is_some()
        || query.order_by.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some()
    {
        let reason =
            format!("the recursive query '{name}' cannot have a WITH, an order or a limit of its own");
        return Err(refused(name, reason));
    }
    let mut terms = Vec::new();
    let mut rest = vec![query.body.as_ref()];
    while let Some(body) = rest.pop() {
        match body {
            SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::None | SetQuantifier::Distinct,
                left,
                right,
            } => rest.extend([right.as_ref(), left.as_ref()]),
            SetExpr::SetOperation { .. } => {
                let reason = format!(
                    "'{name}' is defined together with others that read it: such queries are UNIONs without ALL"
                );
                return Err(refused(name, reason));
            }
            term => terms.push(term),
        }
    }
    Ok(terms)
}
