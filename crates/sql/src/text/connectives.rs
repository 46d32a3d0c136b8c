//! The precedence of AND, OR and NOT around IS DISTINCT FROM.
//!
//! The parser reads `a IS DISTINCT FROM b AND c` as `a IS DISTINCT FROM (b AND c)`, and so on for whatever follows. What it read without parentheses is taken apart into
//! its operands, in the order of the text, and put together again by the rules: NOT binds before AND, AND before XOR, XOR before OR.

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator};

/// Puts an expression right whose operands are right already.
pub(crate) fn mend(expr: &mut Expr) {
    if !is_suspect(expr) {
        return;
    }
    let (mut operands, mut operators) = (Vec::new(), Vec::new());
    take_apart(std::mem::replace(expr, placeholder()), &mut operands, &mut operators);
    *expr = put_together(operands, operators);
}

/// Whether a connective stands where only parentheses could have put it, without them.
fn is_suspect(expr: &Expr) -> bool {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => rank(right).is_some(),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => rank(expr).is_some(),
        Expr::BinaryOp { right, .. } => match (rank(expr), rank(right)) {
            (Some(mine), Some(theirs)) => theirs <= mine,
            _ => false,
        },
        _ => false,
    }
}

/// How tightly a connective binds.
fn rank(expr: &Expr) -> Option<u8> {
    match expr {
        Expr::BinaryOp { op, .. } => rank_of(op),
        _ => None,
    }
}

fn rank_of(op: &BinaryOperator) -> Option<u8> {
    match op {
        BinaryOperator::Or => Some(1),
        BinaryOperator::Xor => Some(2),
        BinaryOperator::And => Some(3),
        _ => None,
    }
}

fn take_apart(expr: Expr, operands: &mut Vec<Expr>, operators: &mut Vec<BinaryOperator>) {
    let first = operands.len();
    match expr {
        Expr::BinaryOp { left, op, right } if rank_of(&op).is_some() => {
            take_apart(*left, operands, operators);
            operators.push(op);
            take_apart(*right, operands, operators);
        }
        Expr::IsDistinctFrom(left, right) if rank(&right).is_some() => {
            take_apart(*right, operands, operators);
            wrap(&mut operands[first], |right| Expr::IsDistinctFrom(left, Box::new(right)));
        }
        Expr::IsNotDistinctFrom(left, right) if rank(&right).is_some() => {
            take_apart(*right, operands, operators);
            wrap(&mut operands[first], |right| Expr::IsNotDistinctFrom(left, Box::new(right)));
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } if rank(&expr).is_some() => {
            take_apart(*expr, operands, operators);
            wrap(&mut operands[first], |expr| Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) });
        }
        other => operands.push(other),
    }
}

fn wrap(place: &mut Expr, wrapped: impl FnOnce(Expr) -> Expr) {
    let inner = std::mem::replace(place, placeholder());
    *place = wrapped(inner);
}

/// Operands are joined from the left, the operators that bind most tightly first.
fn put_together(operands: Vec<Expr>, operators: Vec<BinaryOperator>) -> Expr {
    let mut operands = operands.into_iter();
    let mut done: Vec<Expr> = operands.next().into_iter().collect();
    let mut open: Vec<BinaryOperator> = Vec::new();
    for (operator, operand) in operators.into_iter().zip(operands) {
        while open.last().is_some_and(|last| rank_of(last) >= rank_of(&operator)) {
            join_last(&mut done, &mut open);
        }
        open.push(operator);
        done.push(operand);
    }
    while !open.is_empty() {
        join_last(&mut done, &mut open);
    }
    done.pop().unwrap_or_else(placeholder)
}

fn join_last(done: &mut Vec<Expr>, open: &mut Vec<BinaryOperator>) {
    if let (Some(right), Some(left), Some(op)) = (done.pop(), done.pop(), open.pop()) {
        done.push(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) });
    }
}

fn placeholder() -> Expr {
    Expr::Identifier(Ident::new(""))
}

#[cfg(test)]
mod tests {
    use datafusion_sql::sqlparser::ast::{VisitMut, VisitorMut};
    use datafusion_sql::sqlparser::dialect::GenericDialect;
    use datafusion_sql::sqlparser::parser::Parser;
    use std::ops::ControlFlow;

    use super::{Expr, mend};

    struct Mender;

    impl VisitorMut for Mender {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            mend(expr);
            ControlFlow::Continue(())
        }
    }

    /// The expression with all its parentheses.
    fn shown(expr: &Expr) -> String {
        match expr {
            Expr::BinaryOp { left, op, right } => format!("({} {op} {})", shown(left), shown(right)),
            Expr::IsDistinctFrom(left, right) => format!("({} <=> {})", shown(left), shown(right)),
            Expr::IsNotDistinctFrom(left, right) => format!("({} === {})", shown(left), shown(right)),
            Expr::UnaryOp { op, expr } => format!("({op} {})", shown(expr)),
            Expr::Nested(inner) => shown(inner),
            other => other.to_string(),
        }
    }

    fn check(text: &str, expected: &str) {
        let parsed =
            Parser::new(&GenericDialect {}).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
        let mut expr = parsed.unwrap();
        let _ = VisitMut::visit(&mut expr, &mut Mender);
        assert_eq!(shown(&expr), expected, "{text}");
    }

    #[test]
    fn connectives_bind_as_they_are_written() {
        check("a IS DISTINCT FROM b AND c", "((a <=> b) AND c)");
        check("a IS DISTINCT FROM b AND c OR d", "(((a <=> b) AND c) OR d)");
        check("a IS DISTINCT FROM b OR c AND d", "((a <=> b) OR (c AND d))");
        check("p AND a IS DISTINCT FROM b OR c", "((p AND (a <=> b)) OR c)");
        check("p OR a IS DISTINCT FROM b AND c", "(p OR ((a <=> b) AND c))");
        check("NOT a IS DISTINCT FROM b AND c", "((NOT (a <=> b)) AND c)");
        check("a IS NOT DISTINCT FROM 1 AND b IS DISTINCT FROM 2 OR c", "(((a === 1) AND (b <=> 2)) OR c)");
        check("a IS DISTINCT FROM (b AND c) OR d", "((a <=> (b AND c)) OR d)");
        check("p AND (a IS DISTINCT FROM b OR c) AND d", "((p AND ((a <=> b) OR c)) AND d)");
        check("a OR b AND c OR d", "((a OR (b AND c)) OR d)");
    }
}
