//! `Aggregate`: one call of an aggregate function.

use pyo3::prelude::*;
use tailrace_engine::sql::{AggregateExpr, OrderExpr};

use crate::expr::{Expr, logical};

/// An expression to order by, as Python gives it: expression, descending, nulls first.
pub(crate) type PyOrder = (Py<Expr>, bool, bool);

/// The order of Python's terms.
pub(crate) fn order(terms: &[PyOrder]) -> Vec<OrderExpr> {
    let term = |(expr, descending, nulls_first): &PyOrder| OrderExpr {
        expr: expr.get().logical(),
        descending: *descending,
        nulls_first: *nulls_first,
    };
    terms.iter().map(term).collect()
}

/// One aggregate call.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
#[derive(Clone)]
pub(crate) struct Aggregate(pub(crate) AggregateExpr);

#[pymethods]
impl Aggregate {
    #[new]
    #[pyo3(signature = (function, args = Vec::new(), *, distinct = false, filter = None, order_by = Vec::new()))]
    fn new(
        function: String,
        args: Vec<Py<Expr>>,
        distinct: bool,
        filter: Option<Py<Expr>>,
        order_by: Vec<PyOrder>,
    ) -> Self {
        let filter = filter.map(|filter| filter.get().logical());
        Self(AggregateExpr { function, args: logical(&args), distinct, filter, order: order(&order_by) })
    }
}
