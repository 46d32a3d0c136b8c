//! From a query's syntax tree to a logical plan: what every name means.
//!
//! DataFusion's planner resolves names late and by their printed form, so expressions that print alike clash, columns merged by USING come from one side,
//! and aliases hide columns. Here a name is resolved once, where it stands, by the rules of SQL. Every relation of FROM gets an alias of its own
//! (`a#3`), so that a column of the plan has one meaning everywhere, in subqueries too; computed columns get names that cannot be written in a text
//! (`#agg0`). Expressions themselves are DataFusion's: it gets them with their names replaced and their subqueries taken out.
//!
//! | file | what it binds |
//! |---|---|
//! | `query` | WITH, ORDER BY and LIMIT around a body, set operations, VALUES |
//! | `with`, `mutual` | common table expressions, recursion |
//! | `from`, `table_function`, `scope` | relations, joins, and the names that they make visible |
//! | `select`, `items`, `grouping`, `hoist`, `order` | the clauses of one SELECT |
//! | `expression`, `quantified` | expressions with the subqueries in them |

mod expression;
mod from;
mod grouping;
mod hoist;
mod items;
mod mutual;
mod order;
mod quantified;
mod query;
mod scope;
mod select;
mod table_function;
mod unfold;
mod window;
mod with;

use datafusion_common::{Column, DataFusionError, Result, TableReference};
use datafusion_expr::logical_plan::SubqueryAlias;
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_sql::planner::{ParserOptions, SqlToRel};
use datafusion_sql::sqlparser::ast::{Ident, Query};
use std::sync::Arc;

use self::scope::Scope;
use self::with::Named;
use super::catalog::Provider;
use super::planner::external;
use super::rules;
use crate::PlanError;

/// Binds queries against one catalog.
pub(crate) struct Binder<'a> {
    provider: &'a Provider<'a>,
    to_rel: SqlToRel<'a, Provider<'a>>,
    /// How many aliases were made.
    made: usize,
    /// The scopes of the queries around the one that is bound, the nearest last.
    outer: Vec<Scope>,
    /// The common table expressions in sight, the nearest last.
    with: Vec<Named>,
    /// Aggregates that subqueries left to a query around them, and the columns that stand for them.
    hoisted: Vec<(Column, Expr)>,
    /// How many there were.
    left: usize,
}

impl<'a> Binder<'a> {
    pub(crate) fn new(provider: &'a Provider<'a>) -> Self {
        let options = ParserOptions::from(&rules::options().sql_parser);
        let to_rel = SqlToRel::new_with_options(provider, options);
        Self { provider, to_rel, made: 0, outer: Vec::new(), with: Vec::new(), hoisted: Vec::new(), left: 0 }
    }

    /// The plan of a whole query. Its columns have no qualifiers, and each a name of its own.
    pub(crate) fn bind(&mut self, query: &Query) -> Result<LogicalPlan> {
        self.query(query)
    }

    /// The rows under an alias that nothing else has.
    fn aliased(&mut self, plan: LogicalPlan, name: &str) -> Result<LogicalPlan> {
        self.made += 1;
        let alias = TableReference::bare(format!("{name}#{}", self.made));
        Ok(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(plan), alias)?))
    }
}

/// A name as the text means it: in lower case unless it is quoted.
fn normal(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// A reason whose place is the first use of `name`.
fn refused(name: impl Into<String>, reason: impl Into<String>) -> DataFusionError {
    external(PlanError::Refused { name: name.into(), reason: reason.into() })
}

/// Names apart: one that stands twice gets a number.
fn named_apart(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut known: std::collections::HashSet<String> = std::collections::HashSet::new();
    let mut apart = Vec::new();
    for name in names {
        let numbered = (1..).map(|number| format!("{name}_{number}"));
        let fresh = std::iter::once(name.clone()).chain(numbered).find(|fresh| !known.contains(fresh));
        let fresh = fresh.unwrap_or(name);
        known.insert(fresh.clone());
        apart.push(fresh);
    }
    apart
}
