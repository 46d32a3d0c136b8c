//! `Expr`: a scalar expression.

use datafusion_common::{Column, TableReference};
use datafusion_expr::expr::{Case, InList};
use datafusion_expr::{Cast, Expr as Logical, Like, Operator, TryCast};
use pyo3::prelude::*;
use tailrace_engine::sql::{Expression, PlanError, UserFunction, scalar_function, user_function};

use crate::callback::array_function;
use crate::error::{Kind, from_plan, raise};
use crate::literal::scalar;
use crate::types::Type;

/// A scalar expression over the columns of a plan.
#[pyclass(frozen, skip_from_py_object, module = "tailrace._tailrace")]
#[derive(Clone)]
pub(crate) struct Expr(Expression);

/// The logical expressions of Python ones.
pub(crate) fn logical(exprs: &[Py<Expr>]) -> Vec<Logical> {
    exprs.iter().map(|expr| expr.get().logical()).collect()
}

/// Named expressions.
pub(crate) fn named(columns: &[(String, Py<Expr>)]) -> Vec<(String, Logical)> {
    columns.iter().map(|(name, expr)| (name.clone(), expr.get().logical())).collect()
}

impl Expr {
    /// The expression as the planner knows it.
    pub(crate) fn logical(&self) -> Logical {
        self.0.logical()
    }

    /// An operation over others; too large an expression is refused.
    fn over(
        py: Python<'_>,
        operands: &[&Self],
        build: impl FnOnce(Vec<Logical>) -> Logical,
    ) -> PyResult<Self> {
        let operands: Vec<&Expression> = operands.iter().map(|operand| &operand.0).collect();
        made(py, Expression::over(&operands, build))
    }
}

fn made(py: Python<'_>, expression: Result<Expression, PlanError>) -> PyResult<Expr> {
    expression.map(Expr).map_err(|error| from_plan(py, &error))
}

fn borrowed(exprs: &[Py<Expr>]) -> Vec<&Expr> {
    exprs.iter().map(|expr| expr.get()).collect()
}

/// The first operand, boxed; there is one wherever this is used.
fn only(operands: Vec<Logical>) -> Box<Logical> {
    Box::new(operands.into_iter().next().unwrap_or_default())
}

#[pymethods]
impl Expr {
    #[staticmethod]
    #[pyo3(signature = (name, relation = None))]
    fn column(name: String, relation: Option<String>) -> Self {
        Self(Expression::leaf(Logical::Column(Column::new(relation.map(TableReference::bare), name))))
    }

    #[staticmethod]
    #[pyo3(signature = (value, r#type = None))]
    fn literal(value: &Bound<'_, PyAny>, r#type: Option<Py<Type>>) -> PyResult<Self> {
        let value = scalar(value, r#type.as_ref().map(|data_type| &data_type.get().0))?;
        Ok(Self(Expression::leaf(Logical::Literal(value, None))))
    }

    #[staticmethod]
    fn binary(py: Python<'_>, op: &str, left: &Self, right: &Self) -> PyResult<Self> {
        if op == "like" || op == "ilike" {
            return Self::over(py, &[left, right], |mut sides| {
                let pattern = Box::new(sides.pop().unwrap_or_default());
                Logical::Like(Like::new(false, only(sides), pattern, None, op == "ilike"))
            });
        }
        let op =
            operator(op).ok_or_else(|| raise(py, Kind::Plan, format!("operator '{op}' does not exist")))?;
        made(py, Expression::binary(op, &left.0, &right.0))
    }

    #[staticmethod]
    fn unary(py: Python<'_>, op: &str, operand: &Self) -> PyResult<Self> {
        let build = match op {
            "not" => Logical::Not,
            "-" => Logical::Negative,
            "is null" => Logical::IsNull,
            "is not null" => Logical::IsNotNull,
            other => {
                return Err(raise(
                    py,
                    Kind::Plan,
                    format!("operator '{other}' does not exist. Operators: not, -, is null, is not null"),
                ));
            }
        };
        Self::over(py, &[operand], |operands| build(only(operands)))
    }

    #[staticmethod]
    fn call(py: Python<'_>, name: &str, args: Vec<Py<Self>>) -> PyResult<Self> {
        let function = scalar_function(name).map_err(|error| from_plan(py, &error))?;
        Self::over(py, &borrowed(&args), |args| function.call(args))
    }

    #[staticmethod]
    #[pyo3(signature = (operand, r#type, on_error = "raise"))]
    fn cast(py: Python<'_>, operand: &Self, r#type: &Type, on_error: &str) -> PyResult<Self> {
        let data_type = tailrace_engine::trace::normal_type(&r#type.0);
        match on_error {
            "raise" => Self::over(py, &[operand], |value| Logical::Cast(Cast::new(only(value), data_type))),
            "null" => {
                Self::over(py, &[operand], |value| Logical::TryCast(TryCast::new(only(value), data_type)))
            }
            other => Err(raise(py, Kind::Plan, format!("on_error is 'raise' or 'null', got '{other}'"))),
        }
    }

    #[staticmethod]
    fn case(
        py: Python<'_>,
        branches: Vec<(Py<Self>, Py<Self>)>,
        otherwise: Option<Py<Self>>,
    ) -> PyResult<Self> {
        let mut operands: Vec<&Self> =
            branches.iter().flat_map(|(when, then)| [when.get(), then.get()]).collect();
        operands.extend(otherwise.as_ref().map(|otherwise| otherwise.get()));
        Self::over(py, &operands, |operands| {
            let mut operands = operands.into_iter().map(Box::new);
            let mut branch = |_| Some((operands.next()?, operands.next()?));
            let branches = (0..branches.len()).map_while(&mut branch).collect();
            Logical::Case(Case::new(None, branches, operands.next()))
        })
    }

    #[staticmethod]
    #[pyo3(signature = (operand, values, negated = false))]
    fn in_list(py: Python<'_>, operand: &Self, values: Vec<Py<Self>>, negated: bool) -> PyResult<Self> {
        let mut operands = borrowed(&values);
        operands.push(operand);
        Self::over(py, &operands, |mut values| {
            let operand = Box::new(values.pop().unwrap_or_default());
            Logical::InList(InList::new(operand, values, negated))
        })
    }

    #[staticmethod]
    #[pyo3(signature = (name, function, args, returns, nullable = true))]
    fn udf(
        py: Python<'_>,
        name: String,
        function: Py<PyAny>,
        args: Vec<Py<Self>>,
        returns: &Type,
        nullable: bool,
    ) -> PyResult<Self> {
        let function = UserFunction {
            identity: function.as_ptr() as usize,
            function: array_function(&name, function, &returns.0),
            name,
            returns: returns.0.clone(),
            nullable,
        };
        Self::over(py, &borrowed(&args), |args| user_function(function, args))
    }

    fn __repr__(&self) -> String {
        format!("Expr({})", self.logical())
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
