//! The chosen rules of DataFusion's optimizer, and a driver for them.
//!
//! The rules remove subqueries, find join keys and push filters and projections down. Left out are rules that only a batch engine wants (limits pushed
//! down, joins turned into semi-joins, distinct aggregates turned into two aggregates, projections of leaves). The driver is ours because DataFusion's
//! own refuses plans that still hold a subquery between two rules.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::utils::split_conjunction;
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_optimizer::analyzer::AnalyzerRule;
use datafusion_optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion_optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion_optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion_optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion_optimizer::eliminate_filter::EliminateFilter;
use datafusion_optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion_optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::optimize_unions::OptimizeUnions;
use datafusion_optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion_optimizer::push_down_filter::PushDownFilter;
use datafusion_optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion_optimizer::simplify_expressions::SimplifyExpressions;
use datafusion_optimizer::{ApplyOrder, OptimizerContext, OptimizerRule};

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// Settings that the planner and the rules share.
pub(crate) fn options() -> ConfigOptions {
    let mut options = ConfigOptions::default();
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.default_null_ordering = "nulls_max".to_owned();
    options.optimizer.enable_physical_uncorrelated_scalar_subquery = false;
    options.optimizer.filter_null_join_keys = false;
    options
}

/// Resolves `grouping()` and coerces types.
pub(crate) fn analyze(plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
    let plan = ResolveGroupingFunction::new().analyze(plan, options)?;
    TypeCoercion::new().analyze(plan, options)
}

/// Simplifies expressions while subqueries still stand in them, so that comparisons with ALL and ANY become EXISTS. `frozen` tells whether
/// `now()` may be replaced by the time of the statement.
pub(crate) fn simplify(plan: LogicalPlan, options: &ConfigOptions, frozen: bool) -> Result<LogicalPlan> {
    let context = context(options, frozen);
    let rules: [Rule; 2] = [Arc::new(RewriteSetComparison::new()), Arc::new(SimplifyExpressions::new())];
    rules.iter().try_fold(plan, |plan, rule| Ok(apply(rule, plan, &context)?.data))
}

/// Finds join keys and pushes filters and projections down.
pub(crate) fn shape(plan: LogicalPlan, options: &ConfigOptions, frozen: bool) -> Result<LogicalPlan> {
    let context = context(options, frozen);
    let mut plan = plan;
    for _ in 0..PASSES {
        let mut changed = false;
        for rule in shaping() {
            let applied = apply(&rule, plan, &context)?;
            changed |= applied.transformed;
            plan = applied.data;
        }
        if !changed {
            break;
        }
    }
    Ok(plan)
}

fn context(options: &ConfigOptions, frozen: bool) -> OptimizerContext {
    let context = OptimizerContext::new_with_config_options(Arc::new(options.clone()));
    if frozen { context } else { context.without_query_execution_start_time() }
}

/// More passes change nothing in practice: what a pass pushes down, the next one merges.
const PASSES: usize = 3;

fn shaping() -> Vec<Rule> {
    vec![
        Arc::new(OptimizeUnions::new()),
        Arc::new(SimplifyExpressions::new()),
        Arc::new(ExtractEquijoinPredicate::new()),
        Arc::new(EliminateDuplicatedExpr::new()),
        Arc::new(EliminateFilter::new()),
        Arc::new(EliminateCrossJoin::new()),
        Arc::new(PropagateEmptyRelation::new()),
        Arc::new(EliminateOuterJoin::new()),
        Arc::new(PushDownFilter::new()),
        Arc::new(OptimizeProjections::new()),
    ]
}

fn apply(rule: &Rule, plan: LogicalPlan, context: &OptimizerContext) -> Result<Transformed<LogicalPlan>> {
    match rule.apply_order() {
        Some(ApplyOrder::TopDown) => plan.transform_down_with_subqueries(|node| {
            if holds_filter(&node) { Ok(Transformed::no(node)) } else { rule.rewrite(node, context) }
        }),
        Some(ApplyOrder::BottomUp) => plan.transform_up_with_subqueries(|node| rule.rewrite(node, context)),
        None => rule.rewrite(plan, context),
    }
}

/// Whether a node is a filter over groups that are there also without rows. A condition that reads no column would be pushed down below them, where it empties the input
/// and leaves the row of the empty group.
fn holds_filter(node: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = node else { return false };
    let LogicalPlan::Aggregate(aggregate) = filter.input.as_ref() else { return false };
    let sets = matches!(aggregate.group_expr[..], [Expr::GroupingSet(_)]);
    let constant = split_conjunction(&filter.predicate).iter().any(|conjunct| !conjunct.any_column_refs());
    (aggregate.group_expr.is_empty() || sets) && constant
}
