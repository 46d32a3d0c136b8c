//! Expressions as a program builds them, operation by operation, with a bound on their size.
//!
//! Everything that looks at an expression (coercion, planning, evaluation, even a copy) goes down its tree on the stack, so that a deep one would
//! end the process. [`measured`] bounds the depth, and the number of operations, since each of them is evaluated for every batch. Planning needs
//! tens of kilobytes for a level, more than the stack of a small thread has for the deepest expressions, so it gets a stack of its own
//! ([`with_stack`]); all the rest needs little.
//!
//! A long chain of `and` or `or`, which programs make in loops, is not deep: it is kept as a row of balanced trees, of which each is larger than all
//! behind it, like the digits of a binary counter. Adding a term to a chain of n copies O(log n) of them on the average, and the whole chain has the
//! depth O(log n). Both operations are associative in SQL's logic too, so that the value is the same.

use std::sync::Arc;

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator};

use crate::PlanError;

/// Operations inside each other.
pub const DEEPEST: usize = 200;
/// Operations in all.
pub const LARGEST: usize = 1 << 16;

/// Expressions up to this depth are planned on the stack of the caller.
const SHALLOW: usize = 8;
/// The stack for planning the others; memory is used as far as it is needed.
const STACK: usize = 64 << 20;

/// An expression of bounded size.
#[derive(Clone, Debug)]
pub struct Expression {
    form: Form,
    depth: usize,
    size: usize,
}

#[derive(Clone, Debug)]
enum Form {
    Whole(Arc<Expr>),
    /// Terms in order, grouped into trees.
    Chain(Operator, Vec<Tree>),
}

/// A balanced tree of `2^rank` terms.
#[derive(Clone, Debug)]
struct Tree {
    rank: usize,
    expr: Arc<Expr>,
}

impl Expression {
    /// A column or literal.
    pub fn leaf(expr: Expr) -> Self {
        Self { form: Form::Whole(Arc::new(expr)), depth: 0, size: 0 }
    }

    /// An operation over others.
    pub fn over(operands: &[&Expression], build: impl FnOnce(Vec<Expr>) -> Expr) -> Result<Self, PlanError> {
        let depth = 1 + operands.iter().map(|operand| operand.depth).max().unwrap_or(0);
        let size = 1 + operands.iter().map(|operand| operand.size).sum::<usize>();
        refuse_larger(depth, size)?;
        let expr = build(operands.iter().map(|operand| operand.logical()).collect());
        Ok(Self { form: Form::Whole(Arc::new(expr)), depth, size })
    }

    /// A binary operation.
    pub fn binary(op: Operator, left: &Expression, right: &Expression) -> Result<Self, PlanError> {
        if !matches!(op, Operator::And | Operator::Or) {
            return Self::over(&[left, right], |mut sides| {
                let right = sides.pop().unwrap_or_default();
                combined(op, sides.pop().unwrap_or_default(), right)
            });
        }
        let (mut trees, terms) = match &left.form {
            Form::Chain(known, trees) if *known == op => (trees.clone(), left.depth - height(trees)),
            _ => (vec![Tree { rank: 0, expr: Arc::new(left.logical()) }], left.depth),
        };
        trees.push(Tree { rank: 0, expr: Arc::new(right.logical()) });
        grow(op, &mut trees);
        let (depth, size) = (height(&trees) + terms.max(right.depth), 1 + left.size + right.size);
        refuse_larger(depth, size)?;
        Ok(Self { form: Form::Chain(op, trees), depth, size })
    }

    /// The expression as DataFusion knows it.
    pub fn logical(&self) -> Expr {
        match &self.form {
            Form::Whole(expr) => expr.as_ref().clone(),
            Form::Chain(op, trees) => {
                let exprs = trees.iter().map(|tree| tree.expr.as_ref().clone());
                exprs.rev().reduce(|behind, before| combined(*op, before, behind)).unwrap_or_default()
            }
        }
    }
}

/// The depth of an expression, without going down its tree on the stack; one that is too large is refused.
pub(crate) fn measured(expr: &Expr) -> Result<usize, PlanError> {
    let (mut pending, mut size, mut deepest) = (vec![(expr, 0)], 0, 0);
    while let Some((expr, depth)) = pending.pop() {
        let before = pending.len();
        expr.apply_children(|child| {
            pending.push((child, depth + 1));
            Ok(TreeNodeRecursion::Continue)
        })?;
        size += usize::from(pending.len() > before);
        deepest = deepest.max(depth);
        refuse_larger(depth, size)?;
    }
    Ok(deepest)
}

/// Plans an expression of this depth where the stack is large enough for it.
pub(crate) fn with_stack<T: Send>(
    depth: usize,
    plan: impl FnOnce() -> Result<T, PlanError> + Send,
) -> Result<T, PlanError> {
    if depth <= SHALLOW {
        return plan();
    }
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, plan);
        let planner = started.map_err(|error| {
            PlanError::Invalid(format!("a deep expression needs a stack of {STACK} bytes: {error}"))
        })?;
        planner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn refuse_larger(depth: usize, size: usize) -> Result<(), PlanError> {
    let (found, most, what) = if depth > DEEPEST {
        (depth, DEEPEST, "operations inside each other")
    } else if size > LARGEST {
        (size, LARGEST, "operations")
    } else {
        return Ok(());
    };
    Err(PlanError::Invalid(format!(
        "an expression has {found} {what}, at most {most} are allowed: compute it in several maps, or ask for many values with isin"
    )))
}

/// Puts trees of the same rank together.
fn grow(op: Operator, trees: &mut Vec<Tree>) {
    while let [.., before, last] = &trees[..]
        && before.rank == last.rank
    {
        let (rank, expr) =
            (last.rank + 1, combined(op, before.expr.as_ref().clone(), last.expr.as_ref().clone()));
        trees.truncate(trees.len() - 2);
        trees.push(Tree { rank, expr: Arc::new(expr) });
    }
}

/// The depth that a chain adds to that of its terms.
fn height(trees: &[Tree]) -> usize {
    trees.first().map_or(0, |first| first.rank) + trees.len().saturating_sub(1)
}

fn combined(op: Operator, left: Expr, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

#[cfg(test)]
mod tests {
    use datafusion_expr::{col, lit};

    use super::*;

    fn chain(op: Operator, terms: usize) -> Result<Expression, PlanError> {
        let term = |number: usize| Expression::leaf(lit(number as i64));
        (1..terms).try_fold(term(0), |chain, number| Expression::binary(op, &chain, &term(number)))
    }

    fn terms(expr: &Expr, out: &mut Vec<Expr>) -> usize {
        match expr {
            Expr::BinaryExpr(binary) => 1 + terms(&binary.left, out).max(terms(&binary.right, out)),
            term => {
                out.push(term.clone());
                0
            }
        }
    }

    #[test]
    fn prop_a_long_chain_keeps_its_terms_in_order_and_is_flat() {
        for count in (1..70).chain([10_000]) {
            let chain = chain(Operator::Or, count).unwrap();
            let (expr, mut found) = (chain.logical(), Vec::new());
            let depth = terms(&expr, &mut found);
            assert_eq!(found, (0..count).map(|number| lit(number as i64)).collect::<Vec<_>>());
            assert!(depth <= chain.depth && chain.depth <= 28, "{depth} {}", chain.depth);
            assert_eq!(measured(&expr).unwrap(), depth);
        }
    }

    #[test]
    fn chains_of_different_operations_are_kept_apart() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| Expression::leaf(col(name)));
        let either = Expression::binary(Operator::Or, &a, &b).unwrap();
        let both = Expression::binary(Operator::And, &either, &c).unwrap();
        let any = Expression::binary(Operator::Or, &d, &both).unwrap();
        assert_eq!(any.logical(), col("d").or(col("a").or(col("b")).and(col("c"))));
    }

    #[test]
    fn what_is_too_deep_or_too_large_is_refused() {
        assert!(chain(Operator::Plus, DEEPEST + 1).is_ok());
        let error = chain(Operator::Plus, DEEPEST + 2).unwrap_err().to_string();
        assert!(error.contains("201 operations inside each other, at most 200"), "{error}");
        let error = chain(Operator::And, LARGEST + 2).unwrap_err().to_string();
        assert!(error.contains("65537 operations, at most 65536"), "{error}");
        let deep = (0..=DEEPEST).fold(col("x"), |expr, _| expr + lit(1));
        assert!(measured(&deep).is_err());
    }
}
