//! From a query's syntax tree to DataFusion's optimized plan, and on to ours.
//!
//! Planning recurses as deeply as the query nests, so it runs on a thread with a large stack: a deep query is an error or an answer, never an abort.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use arrow_schema::Schema;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, DataFusionError, ParamValues, Result, ScalarValue};
use datafusion_expr::{Expr, LogicalPlan, Volatility};
use datafusion_sql::planner::{ParserOptions, SqlToRel};
use datafusion_sql::sqlparser::ast::{Query, Statement, VisitMut};

use tailrace_operators::Scalar;

use super::binder::Binder;
use super::catalog::{Catalog, Provider};
use super::error::SqlError;
use super::parameters::{Parameters, PlannedView, refuse_named};
use super::parse::Preparer;
use super::translate::Translator;
use super::{apply, array_subquery, guards, meaning, pinned, rules, set_operations};
use crate::constants::check_plan;
use crate::{Plan, PlanError, PlanKind};

/// The stack of a planning thread. Only what is used of it is ever committed.
const STACK: usize = 1 << 30;

/// How a query is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It is kept up to date: what depends on the time of the call is refused.
    View,
    /// It is answered once.
    Once,
}

/// A query in our own plan, with the order in which its rows are to be shown.
pub struct PlannedQuery {
    /// The rows. Columns from `visible` on are there to be ordered by.
    pub plan: Plan,
    /// How many columns are shown.
    pub visible: usize,
    /// The order of the rows: column, greatest first, NULL first.
    pub order: Vec<(usize, bool, bool)>,
}

impl PlannedQuery {
    /// The shown columns alone: what a view holds.
    pub fn shown(&self) -> std::result::Result<Plan, PlanError> {
        if self.visible == self.plan.schema().fields().len() {
            return Ok(self.plan.clone());
        }
        let schema = self.plan.schema();
        let columns = (0..self.visible).map(|place| Scalar::column(place, schema)).collect();
        let shown = Arc::new(Schema::new(schema.fields()[..self.visible].to_vec()));
        Ok(Plan::new(PlanKind::Project { input: self.plan.clone(), columns }, shown))
    }

    /// The same columns under other names.
    pub(crate) fn renamed(self, names: &[String]) -> std::result::Result<Self, PlanError> {
        if names.len() != self.visible {
            let found = format!("{} columns", self.visible);
            return Err(PlanError::TypeMismatch {
                context: "the columns of the view".into(),
                expected: format!("{} names", names.len()),
                found,
            });
        }
        let hidden = self.plan.schema().fields()[self.visible..].iter().map(|field| field.name());
        let all: Vec<String> = names.iter().chain(hidden).cloned().collect();
        Ok(Self { plan: self.plan.renamed(&all), ..self })
    }

    /// The columns under the names that the query gives them; a name that stands twice gets a number.
    pub(crate) fn named_apart(self, wanted: &DFSchema) -> std::result::Result<Self, PlanError> {
        let mut names: Vec<String> = Vec::with_capacity(self.visible);
        for field in wanted.fields() {
            let numbered = (1..).map(|number| format!("{}_{number}", field.name()));
            let fresh =
                std::iter::once(field.name().clone()).chain(numbered).find(|name| !names.contains(name));
            names.push(fresh.unwrap_or_default());
        }
        let same = self.plan.schema().fields().iter().zip(&names).all(|(field, name)| field.name() == name);
        if same { Ok(self) } else { self.renamed(&names) }
    }
}

/// What a statement is planned with.
pub(crate) struct Planner<'a> {
    pub(crate) catalog: &'a dyn Catalog,
    pub(crate) params: &'a [ScalarValue],
    pub(crate) purpose: Purpose,
}

impl Planner<'_> {
    /// Plans a query.
    pub(crate) fn query(&self, query: &Query) -> Result<PlannedQuery> {
        self.translate(self.optimize(self.filled(query)?)?)
    }

    /// DataFusion's plan of a query, with parameters filled in.
    pub(crate) fn filled(&self, query: &Query) -> Result<LogicalPlan> {
        self.fill_in(self.bound(query)?)
    }

    /// Plans a query that is kept up to date, with its parameters.
    pub(crate) fn view(&self, query: &Query) -> Result<PlannedView> {
        let logical = self.bound(query)?;
        let Some(parameters) = Parameters::of(&logical)? else {
            let plan = self.translate(self.optimize(self.fill_in(logical)?)?)?.shown().map_err(external)?;
            return Ok(PlannedView { plan, parameters: None });
        };
        let optimized = self.optimize(self.fill_in(parameters.as_outer(logical)?)?)?;
        let plan = parameters.translate(&optimized).map_err(external)?;
        Ok(PlannedView { plan, parameters: Some(parameters) })
    }

    /// DataFusion's plan of a statement, with parameters filled in.
    pub(crate) fn statement(&self, mut statement: Statement) -> Result<LogicalPlan> {
        array_subquery::rewrite(&mut statement, self.catalog)?;
        let _ = VisitMut::visit(&mut statement, &mut Preparer);
        let options = rules::options();
        let parser_options = ParserOptions::from(&options.sql_parser);
        let provider = Provider::new(self.catalog, options);
        self.fill_in(SqlToRel::new_with_options(&provider, parser_options).sql_statement_to_plan(statement)?)
    }

    /// The logical plan of a query, with its parameters left open.
    fn bound(&self, query: &Query) -> Result<LogicalPlan> {
        let mut query = query.clone();
        array_subquery::rewrite(&mut query, self.catalog)?;
        let provider = Provider::new(self.catalog, rules::options());
        Binder::new(&provider).bind(&query)
    }

    /// Coerces types, removes subqueries and pushes filters down.
    pub(crate) fn optimize(&self, logical: LogicalPlan) -> Result<LogicalPlan> {
        let options = rules::options();
        let analyzed = rules::analyze(logical, &options)?;
        let analyzed = meaning::settle(set_operations::resolve(analyzed)?)?;
        if self.purpose == Purpose::View {
            refuse_volatile(&analyzed)?;
        }
        check_plan(&analyzed)?;
        let frozen = self.purpose == Purpose::Once;
        let simplified = rules::simplify(pinned::pin(guards::protect(analyzed)?)?, &options, frozen)?;
        rules::shape(apply::resolve(simplified)?, &options, frozen)
    }

    /// Our plan.
    pub(crate) fn translate(&self, optimized: LogicalPlan) -> Result<PlannedQuery> {
        Translator::default()
            .query(&optimized)
            .and_then(|query| query.named_apart(optimized.schema()))
            .map_err(external)
    }

    fn fill_in(&self, logical: LogicalPlan) -> Result<LogicalPlan> {
        refuse_named(&logical)?;
        let known = logical.get_parameter_names()?;
        if known.is_empty() && self.params.is_empty() {
            return Ok(logical);
        }
        if self.purpose == Purpose::View {
            let reason =
                "a view has no parameters: write the value itself, or keep it in a table that the view reads";
            return Err(external(PlanError::Invalid(reason.to_owned())));
        }
        let values = self.params.iter().map(|value| value.clone().into()).collect();
        let needed = known
            .iter()
            .filter_map(|name| name.trim_start_matches('$').parse::<usize>().ok())
            .max()
            .unwrap_or(0);
        if needed > self.params.len() {
            let reason =
                format!("the statement has {needed} parameter(s), {} value(s) were given", self.params.len());
            return Err(external(PlanError::Invalid(reason)));
        }
        logical.replace_params_with_values(&ParamValues::List(values))
    }
}

/// Runs planning work on a large stack.
pub(crate) fn on_large_stack<T: Send>(
    work: impl FnOnce() -> std::result::Result<T, SqlError> + Send,
) -> std::result::Result<T, SqlError> {
    thread::scope(|scope| {
        let spawned =
            thread::Builder::new().name("planning".into()).stack_size(STACK).spawn_scoped(scope, work);
        let handle = spawned.map_err(|error| SqlError::new(format!("no thread for planning: {error}")))?;
        handle.join().unwrap_or_else(|panic| {
            Err(SqlError::new(format!("planning failed unexpectedly: {}", words(&*panic))))
        })
    })
}

/// Carries an error of ours through DataFusion's results.
pub(crate) fn external(error: PlanError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// A row is taken back by computing it again, so every function must give the same value then.
fn refuse_volatile(plan: &LogicalPlan) -> Result<()> {
    let mut found: HashMap<String, ()> = HashMap::new();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::ScalarFunction(call) = part
                    && call.func.signature().volatility != Volatility::Immutable
                {
                    found.insert(call.func.name().to_owned(), ());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    match found.into_keys().next() {
        None => Ok(()),
        Some(name) => {
            let reason = format!(
                "function '{name}' cannot be used in a view: its value depends on when it is called, so a row could not be taken back. Keep the time in a table and join it"
            );
            Err(external(PlanError::Refused { name, reason }))
        }
    }
}
