//! Conditions on outer columns alone, kept where they stand.
//!
//! A condition that reads no column of its input (`HAVING $least > 1`, or a column of an outer query there) is a constant to the optimizer, which pushes it down as far as it can: also below
//! an aggregate without GROUP BY, which has a row although nothing is left to aggregate. So such a condition is made to read a column of the
//! rows that it is asked of.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_common::tree_node::Transformed;
use datafusion_expr::logical_plan::Filter;
use datafusion_expr::utils::{conjunction, split_conjunction};
use datafusion_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Pins the conditions of a plan that read outer columns alone.
pub(crate) fn pin(plan: LogicalPlan) -> Result<LogicalPlan> {
    let pinned = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Filter(filter) if split_conjunction(&filter.predicate).into_iter().any(floats) => {
            let Some(column) = filter.input.schema().columns().into_iter().next() else {
                return Ok(Transformed::no(LogicalPlan::Filter(filter)));
            };
            let pin = |conjunct: &Expr| {
                let args = vec![conjunct.clone(), Expr::Column(column.clone())];
                if floats(conjunct) { PINNED.call(args) } else { conjunct.clone() }
            };
            let conjuncts = split_conjunction(&filter.predicate).into_iter().map(pin);
            let predicate = conjunction(conjuncts).unwrap_or_else(|| filter.predicate.clone());
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(pinned.data)
}

/// Whether a condition reads outer columns and no others.
fn floats(conjunct: &Expr) -> bool {
    conjunct.contains_outer() && !conjunct.any_column_refs()
}

static PINNED: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    Arc::new(ScalarUDF::new_from_impl(Pinned { signature: Signature::any(2, Volatility::Immutable) }))
});

/// The first argument; the second says where.
#[derive(Debug)]
struct Pinned {
    signature: Signature,
}

impl ScalarUDFImpl for Pinned {
    fn name(&self) -> &str {
        "pinned"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        Ok(args[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[0].clone())
    }
}

impl PartialEq for Pinned {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Pinned {}

impl Hash for Pinned {
    fn hash<H: Hasher>(&self, state: &mut H) {
        "pinned".hash(state);
    }
}
