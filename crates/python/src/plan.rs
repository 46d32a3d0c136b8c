//! `Plan`: a relational plan.

use pyo3::prelude::*;
use tailrace_engine::sql::{self, JoinKind, PlanError, WindowExpr};

use crate::aggregate::{Aggregate, PyOrder};
use crate::callback::{observer, row_function};
use crate::error::{Kind, from_plan, raise};
use crate::expr::{Expr, logical, named};
use crate::types::{PyField, Type, describe, schema_of};

/// A relational plan.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
#[derive(Clone)]
pub(crate) struct Plan(pub(crate) sql::Plan);

fn made(py: Python<'_>, plan: Result<sql::Plan, PlanError>) -> PyResult<Plan> {
    plan.map(Plan).map_err(|error| from_plan(py, &error))
}

fn plans(plans: &[Py<Plan>]) -> Vec<sql::Plan> {
    plans.iter().map(|plan| plan.get().0.clone()).collect()
}

#[pymethods]
impl Plan {
    #[getter]
    fn schema(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<Type>, bool)>> {
        describe(py, self.0.schema())
    }

    fn type_of(&self, py: Python<'_>, expr: &Expr) -> PyResult<(Type, bool)> {
        let (data_type, nullable) =
            sql::type_of(&expr.logical(), self.0.schema()).map_err(|error| from_plan(py, &error))?;
        Ok((Type(tailrace_engine::trace::external_type(&data_type)), nullable))
    }

    fn filter(&self, py: Python<'_>, predicate: &Expr) -> PyResult<Self> {
        made(py, self.0.filter(&predicate.logical()))
    }

    fn project(&self, py: Python<'_>, columns: Vec<(String, Py<Expr>)>) -> PyResult<Self> {
        made(py, self.0.project(&named(&columns)))
    }

    fn unnest(&self, py: Python<'_>, column: &str, output: &str) -> PyResult<Self> {
        made(py, self.0.unnest(column, output))
    }

    fn aggregate(
        &self,
        py: Python<'_>,
        keys: Vec<(String, Py<Expr>)>,
        aggregates: Vec<(String, Py<Aggregate>)>,
    ) -> PyResult<Self> {
        let calls: Vec<_> =
            aggregates.iter().map(|(name, call)| (name.clone(), call.get().0.clone())).collect();
        made(py, self.0.aggregate(&named(&keys), &calls))
    }

    #[expect(clippy::too_many_arguments, reason = "a join has that many parts")]
    fn join(
        &self,
        py: Python<'_>,
        right: &Self,
        kind: &str,
        left_keys: Vec<Py<Expr>>,
        right_keys: Vec<Py<Expr>>,
        residual: Option<Py<Expr>>,
        output: Vec<(String, Py<Expr>)>,
    ) -> PyResult<Self> {
        let kind = join_kind(kind).ok_or_else(|| {
            raise(
                py,
                Kind::Plan,
                format!(
                    "join kind '{kind}' does not exist. Kinds: inner, left, right, full, semi, anti, cross"
                ),
            )
        })?;
        let residual = residual.map(|residual| residual.get().logical());
        let keys = (&logical(&left_keys)[..], &logical(&right_keys)[..]);
        made(py, self.0.join(&right.0, kind, keys, residual.as_ref(), &named(&output)))
    }

    fn union_all(&self, py: Python<'_>, others: Vec<Py<Self>>) -> PyResult<Self> {
        made(py, self.0.union_all(&plans(&others)))
    }

    fn minus(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        made(py, self.0.minus(&other.0))
    }

    fn negate(&self) -> Self {
        Self(self.0.negate())
    }

    fn positive(&self) -> Self {
        Self(self.0.positive())
    }

    fn distinct(&self) -> Self {
        Self(self.0.distinct())
    }

    #[pyo3(signature = (partition, order, k, offset = 0))]
    fn top_k(
        &self,
        py: Python<'_>,
        partition: Vec<Py<Expr>>,
        order: Vec<PyOrder>,
        k: Option<usize>,
        offset: usize,
    ) -> PyResult<Self> {
        made(py, self.0.top_k(&logical(&partition), &crate::aggregate::order(&order), k, offset))
    }

    fn window(
        &self,
        py: Python<'_>,
        partition: Vec<Py<Expr>>,
        order: Vec<PyOrder>,
        functions: Vec<(String, String, Vec<Py<Expr>>)>,
    ) -> PyResult<Self> {
        let call = |(name, function, args): (String, String, Vec<Py<Expr>>)| WindowExpr {
            name,
            function,
            args: logical(&args),
        };
        let functions: Vec<WindowExpr> = functions.into_iter().map(call).collect();
        made(py, self.0.window(&logical(&partition), &crate::aggregate::order(&order), &functions))
    }

    fn integrate(&self) -> Self {
        Self(self.0.integrate())
    }

    fn differentiate(&self) -> Self {
        Self(self.0.differentiate())
    }

    fn delay(&self) -> Self {
        Self(self.0.delay())
    }

    #[pyo3(signature = (function, fields, flat = false))]
    fn map_rows(
        &self,
        py: Python<'_>,
        function: Py<PyAny>,
        fields: Vec<PyField>,
        flat: bool,
    ) -> PyResult<Self> {
        let schema = schema_of(&fields);
        made(py, self.0.map_rows(row_function(function, schema.clone(), flat), &schema))
    }

    fn inspect(&self, function: Py<PyAny>) -> Self {
        Self(self.0.inspect(observer(function)))
    }

    #[staticmethod]
    fn relation(fields: Vec<PyField>) -> Self {
        Self(sql::Plan::relation(&schema_of(&fields)))
    }

    #[staticmethod]
    #[pyo3(signature = (name, relations, limit = 10_000))]
    fn fixpoint(
        py: Python<'_>,
        name: &str,
        relations: Vec<(Py<Self>, Py<Self>)>,
        limit: u32,
    ) -> PyResult<Vec<Self>> {
        let pairs: Vec<_> = relations
            .iter()
            .map(|(relation, body)| (relation.get().0.clone(), body.get().0.clone()))
            .collect();
        let plans = sql::Plan::fixpoint(name, &pairs, limit).map_err(|error| from_plan(py, &error))?;
        Ok(plans.into_iter().map(Self).collect())
    }

    fn explain(&self) -> String {
        self.0.explain()
    }
}

fn join_kind(name: &str) -> Option<JoinKind> {
    Some(match name {
        "inner" | "cross" => JoinKind::Inner,
        "left" => JoinKind::Left,
        "right" => JoinKind::Right,
        "full" => JoinKind::Full,
        "semi" => JoinKind::Semi,
        "anti" => JoinKind::Anti,
        _ => return None,
    })
}
