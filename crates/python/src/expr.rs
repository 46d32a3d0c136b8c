//! `Expr`: a scalar expression.

use datafusion_common::{Column, TableReference};
use datafusion_expr::expr::{Case, InList};
use datafusion_expr::{BinaryExpr, Cast, Expr as Logical, Like, Operator, TryCast};
use pyo3::prelude::*;
use tailrace_engine::sql::{UserFunction, scalar_function, user_function};

use crate::callback::array_function;
use crate::error::{Kind, from_plan, raise};
use crate::literal::scalar;
use crate::types::Type;

/// A scalar expression over the columns of a plan.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
#[derive(Clone)]
pub(crate) struct Expr(pub(crate) Logical);

/// The logical expressions of Python ones.
pub(crate) fn logical(exprs: &[Py<Expr>]) -> Vec<Logical> {
    exprs.iter().map(|expr| expr.get().0.clone()).collect()
}

/// Named expressions.
pub(crate) fn named(columns: &[(String, Py<Expr>)]) -> Vec<(String, Logical)> {
    columns.iter().map(|(name, expr)| (name.clone(), expr.get().0.clone())).collect()
}

#[pymethods]
impl Expr {
    #[staticmethod]
    #[pyo3(signature = (name, relation = None))]
    fn column(name: String, relation: Option<String>) -> Self {
        Self(Logical::Column(Column::new(relation.map(TableReference::bare), name)))
    }

    #[staticmethod]
    #[pyo3(signature = (value, r#type = None))]
    fn literal(value: &Bound<'_, PyAny>, r#type: Option<Py<Type>>) -> PyResult<Self> {
        Ok(Self(Logical::Literal(scalar(value, r#type.as_ref().map(|data_type| &data_type.get().0))?, None)))
    }

    #[staticmethod]
    fn binary(py: Python<'_>, op: &str, left: &Self, right: &Self) -> PyResult<Self> {
        let (left, right) = (Box::new(left.0.clone()), Box::new(right.0.clone()));
        if op == "like" || op == "ilike" {
            return Ok(Self(Logical::Like(Like::new(false, left, right, None, op == "ilike"))));
        }
        let op = operator(op).ok_or_else(|| raise(py, Kind::Plan, format!("operator '{op}' does not exist")))?;
        Ok(Self(Logical::BinaryExpr(BinaryExpr::new(left, op, right))))
    }

    #[staticmethod]
    fn unary(py: Python<'_>, op: &str, operand: &Self) -> PyResult<Self> {
        let operand = Box::new(operand.0.clone());
        Ok(Self(match op {
            "not" => Logical::Not(operand),
            "-" => Logical::Negative(operand),
            "is null" => Logical::IsNull(operand),
            "is not null" => Logical::IsNotNull(operand),
            other => return Err(raise(py, Kind::Plan, format!("operator '{other}' does not exist. Operators: not, -, is null, is not null"))),
        }))
    }

    #[staticmethod]
    fn call(py: Python<'_>, name: &str, args: Vec<Py<Self>>) -> PyResult<Self> {
        let function = scalar_function(name).map_err(|error| from_plan(py, &error))?;
        Ok(Self(function.call(logical(&args))))
    }

    #[staticmethod]
    #[pyo3(signature = (operand, r#type, on_error = "raise"))]
    fn cast(py: Python<'_>, operand: &Self, r#type: &Type, on_error: &str) -> PyResult<Self> {
        let (operand, data_type) = (Box::new(operand.0.clone()), tailrace_engine::trace::normal_type(&r#type.0));
        match on_error {
            "raise" => Ok(Self(Logical::Cast(Cast::new(operand, data_type)))),
            "null" => Ok(Self(Logical::TryCast(TryCast::new(operand, data_type)))),
            other => Err(raise(py, Kind::Plan, format!("on_error is 'raise' or 'null', got '{other}'"))),
        }
    }

    #[staticmethod]
    fn case(branches: Vec<(Py<Self>, Py<Self>)>, otherwise: Option<Py<Self>>) -> Self {
        let branch = |(when, then): &(Py<Self>, Py<Self>)| (Box::new(when.get().0.clone()), Box::new(then.get().0.clone()));
        let otherwise = otherwise.map(|otherwise| Box::new(otherwise.get().0.clone()));
        Self(Logical::Case(Case::new(None, branches.iter().map(branch).collect(), otherwise)))
    }

    #[staticmethod]
    #[pyo3(signature = (operand, values, negated = false))]
    fn in_list(operand: &Self, values: Vec<Py<Self>>, negated: bool) -> Self {
        Self(Logical::InList(InList::new(Box::new(operand.0.clone()), logical(&values), negated)))
    }

    #[staticmethod]
    #[pyo3(signature = (name, function, args, returns, nullable = true))]
    fn udf(name: String, function: Py<PyAny>, args: Vec<Py<Self>>, returns: &Type, nullable: bool) -> Self {
        let function = UserFunction { function: array_function(&name, function, &returns.0), name, returns: returns.0.clone(), nullable };
        Self(user_function(function, logical(&args)))
    }

    fn __repr__(&self) -> String {
        format!("Expr({})", self.0)
    }
}

fn operator(op: &str) -> Option<Operator> {
    Some(match op.to_lowercase().as_str() {
        "+" => Operator::Plus,
        "-" => Operator::Minus,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "%" => Operator::Modulo,
        "=" => Operator::Eq,
        "<>" => Operator::NotEq,
        "<" => Operator::Lt,
        "<=" => Operator::LtEq,
        ">" => Operator::Gt,
        ">=" => Operator::GtEq,
        "and" => Operator::And,
        "or" => Operator::Or,
        "&" => Operator::BitwiseAnd,
        "|" => Operator::BitwiseOr,
        "^" => Operator::BitwiseXor,
        "<<" => Operator::BitwiseShiftLeft,
        ">>" => Operator::BitwiseShiftRight,
        "||" => Operator::StringConcat,
        "is distinct from" => Operator::IsDistinctFrom,
        "is not distinct from" => Operator::IsNotDistinctFrom,
        _ => return None,
    })
}

