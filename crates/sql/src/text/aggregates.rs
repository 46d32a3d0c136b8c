//! Aggregate functions as DataFusion's planner sees them: names, coercions and result types. They are never run there: the operators of this
//! project compute them, so result types are the operators' own.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue, internal_err, plan_err};
use datafusion_expr::expr::AggregateFunction as AggregateCallExpr;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr};
use datafusion_expr::utils::COUNT_STAR_EXPANSION;
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility, WindowFrame, WindowFrameBound,
    WindowFrameUnits,
};
use tailrace_operators::AggregateFunction;
use tailrace_trace::normal_type;

/// The value of a group of at most one row; more rows are an error. Scalar subqueries are wrapped in it.
pub(crate) const SINGLE_VALUE: &str = "single_value";

/// The function that tells grouping sets apart; the analyzer replaces it.
const GROUPING: &str = "grouping";

/// The names of all aggregate functions.
pub(crate) const NAMES: &[&str] = &[
    "count",
    "sum",
    "avg",
    "mean",
    "min",
    "max",
    "var",
    "var_samp",
    "var_pop",
    "variance",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "covar",
    "covar_samp",
    "covar_pop",
    "corr",
    "arg_min",
    "arg_max",
    "min_by",
    "max_by",
    "first",
    "last",
    "first_value",
    "last_value",
    "array_agg",
    "list",
    "string_agg",
    "group_concat",
    "listagg",
    "bool_and",
    "bool_or",
    "every",
    "bit_and",
    "bit_or",
    "bit_xor",
    "any_value",
    "arbitrary",
    "median",
    "quantile",
    "quantile_cont",
    "quantile_disc",
    "percentile_cont",
    "percentile_disc",
    "mode",
    "product",
    "regr_count",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
    "regr_slope",
    "regr_intercept",
    "regr_r2",
    "grouping",
];

/// The aggregate of that name, if there is one.
pub(crate) fn aggregate_stub(name: &str) -> Option<Arc<AggregateUDF>> {
    let name = name.to_ascii_lowercase();
    let known = name == GROUPING || name == SINGLE_VALUE || AggregateFunction::from_name(&name).is_some();
    known.then(|| {
        Arc::new(AggregateUDF::new_from_impl(Stub {
            name,
            signature: Signature::user_defined(Volatility::Immutable),
        }))
    })
}

/// Turns `count(*)` and `count()` into a count of rows, and frames into the form that the analyzer takes.
#[derive(Debug)]
pub(crate) struct AggregatePlanner;

impl ExprPlanner for AggregatePlanner {
    #[expect(deprecated, reason = "the planner still hands the star of count(*) over as a wildcard")]
    fn plan_aggregate(&self, call: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        let star = call.args.is_empty() || matches!(call.args[..], [Expr::Wildcard { .. }]);
        if call.func.name() != "count" || !star {
            return Ok(PlannerResult::Original(call));
        }
        let (filter, order, nulls) = (call.filter, call.order_by, call.null_treatment);
        let rows = vec![Expr::Literal(COUNT_STAR_EXPANSION, None)];
        let name = if call.args.is_empty() { "count()" } else { "count(*)" };
        let name = if filter.is_some() || call.distinct { None } else { Some(name) };
        let counted = Expr::AggregateFunction(AggregateCallExpr::new_udf(
            call.func,
            rows,
            call.distinct,
            filter,
            order,
            nulls,
        ));
        Ok(PlannerResult::Planned(match name {
            Some(name) => counted.alias(name),
            None => counted,
        }))
    }

    #[expect(deprecated, reason = "the planner still hands the star of count(*) over as a wildcard")]
    fn plan_window(&self, mut call: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        let star = call.args.is_empty() || matches!(call.args[..], [Expr::Wildcard { .. }]);
        if call.func_def.name() == "count" && star {
            call.args = vec![Expr::Literal(COUNT_STAR_EXPANSION, None)];
        }
        call.window_frame = in_groups(call.window_frame);
        Ok(PlannerResult::Original(call))
    }
}

/// A RANGE frame without an offset, told in groups of peers, which is the same: the analyzer refuses RANGE where values cannot be added, offset or not.
fn in_groups(frame: WindowFrame) -> WindowFrame {
    let plain = |bound: &WindowFrameBound| *bound == WindowFrameBound::CurrentRow || bound.is_unbounded();
    if frame.units != WindowFrameUnits::Range || !plain(&frame.start_bound) || !plain(&frame.end_bound) {
        return frame;
    }
    WindowFrame::new_bounds(WindowFrameUnits::Groups, frame.start_bound, frame.end_bound)
}

/// Whether the arguments behind the first are constants that belong to the function.
pub(crate) fn has_constant(function: &AggregateFunction) -> bool {
    use AggregateFunction::{QuantileCont, QuantileDisc, StringAgg};
    matches!(function, StringAgg(_) | QuantileCont(_) | QuantileDisc(_))
}

#[derive(Debug)]
struct Stub {
    name: String,
    signature: Signature,
}

impl Stub {
    fn function(&self) -> Option<AggregateFunction> {
        AggregateFunction::from_name(&self.name)
    }
}

impl AggregateUDFImpl for Stub {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match (self.name.as_str(), self.function()) {
            (GROUPING, _) => Ok(DataType::Int32),
            (SINGLE_VALUE, _) => Ok(args.first().map_or(DataType::Null, normal_type)),
            (_, Some(function)) => {
                let taken = if has_constant(&function) { &args[..args.len().min(1)] } else { args };
                let types: Vec<DataType> = taken.iter().map(normal_type).collect();
                function.return_type(&types).or_else(|message| plan_err!("{message}"))
            }
            (name, None) => plan_err!("'{name}' is not an aggregate"),
        }
    }

    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<DataType> = args.iter().map(|field| field.data_type().clone()).collect();
        Ok(Arc::new(Field::new(&self.name, self.return_type(&types)?, self.is_nullable())))
    }

    fn is_nullable(&self) -> bool {
        !matches!(self.name.as_str(), "count" | "regr_count" | GROUPING)
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        let untyped =
            |data_type: &DataType| if data_type.is_null() { DataType::Int64 } else { data_type.clone() };
        Ok(match self.function() {
            Some(AggregateFunction::StringAgg(_)) => vec![DataType::Utf8View; args.len()],
            Some(AggregateFunction::BoolAnd | AggregateFunction::BoolOr) => {
                vec![DataType::Boolean; args.len()]
            }
            Some(AggregateFunction::Sum | AggregateFunction::Avg | AggregateFunction::Product) => {
                let number = |found: &DataType| match found {
                    DataType::Boolean => DataType::Int64,
                    other => untyped(other),
                };
                args.iter().map(number).collect()
            }
            _ => args.iter().map(untyped).collect(),
        })
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        if matches!(self.name.as_str(), "count" | "regr_count") {
            Ok(ScalarValue::Int64(Some(0)))
        } else {
            ScalarValue::try_from(data_type)
        }
    }

    fn supports_null_handling_clause(&self) -> bool {
        matches!(
            self.function(),
            Some(AggregateFunction::First | AggregateFunction::Last | AggregateFunction::ArrayAgg)
        )
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        internal_err!("{} is computed by an operator", self.name)
    }

    fn state_fields(&self, _args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        internal_err!("{} is computed by an operator", self.name)
    }
}

impl PartialEq for Stub {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Stub {}

impl Hash for Stub {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
