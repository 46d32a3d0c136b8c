//! Literals and signs as they are meant: `1e5` is a float, `~x` turns bits round, an interval may hold a clock time or count with a column, `x[2:]` has
//! an end, SIMILAR TO matches whole texts.

use datafusion_sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, Interval, Subscript,
    UnaryOperator, Value,
};

use super::dialect::call;
use crate::functions::read_interval;

/// Digits that a decimal can hold.
const DIGITS: usize = 38;

/// Mends one expression.
pub(crate) fn mend(expr: &mut Expr) {
    let mended = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if is_float(digits) => Some(float(digits)),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand } => match operand.as_ref() {
            Expr::Interval(interval) => negated(interval),
            _ => None,
        },
        Expr::SimilarTo { negated, expr, pattern, escape_char: None } => {
            Some(similar(expr, pattern, *negated))
        }
        Expr::CompoundFieldAccess { access_chain, .. } => {
            access_chain.iter_mut().for_each(close_slice);
            None
        }
        Expr::UnaryOp { op, expr: operand } => {
            let name = match op {
                UnaryOperator::BitwiseNot => "bitwise_not",
                UnaryOperator::PGSquareRoot => "sqrt",
                UnaryOperator::PGCubeRoot => "cbrt",
                UnaryOperator::PGAbs => "abs",
                _ => return,
            };
            Some(call(name, vec![operand.as_ref().clone()]))
        }
        Expr::Interval(interval) => span(interval),
        _ => None,
    };
    if let Some(mended) = mended {
        *expr = mended;
    }
}

/// A number with an exponent, or one that no decimal can hold.
fn is_float(digits: &str) -> bool {
    let is_digit = |c: &char| c.is_ascii_digit();
    digits.contains(['e', 'E']) || digits.chars().filter(is_digit).count() > DIGITS
}

fn float(digits: &str) -> Expr {
    let text = Value::SingleQuotedString(digits.replace('_', ""));
    cast(Expr::Value(text.into()), DataType::Double(ExactNumberInfo::None))
}

pub(crate) fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// `INTERVAL '1 day 02:03:04'` in words that the planner knows, `INTERVAL x DAY` as a product.
fn span(interval: &Interval) -> Option<Expr> {
    let unit = interval.leading_field.as_ref().map(ToString::to_string);
    if interval.last_field.is_some() || interval.fractional_seconds_precision.is_some() {
        return None;
    }
    match (text_of(&interval.value), &unit) {
        (Some(text), None) => read_interval(&text).map(|words| words_of(interval, words)),
        (Some(text), Some(unit)) => {
            read_interval(&format!("{text} {unit}")).map(|words| words_of(interval, words))
        }
        (None, Some(unit)) => {
            let one = words_of(interval, read_interval(&format!("1 {unit}"))?);
            Some(Expr::Nested(Box::new(Expr::BinaryOp {
                left: Box::new(Expr::Nested(interval.value.clone())),
                op: BinaryOperator::Multiply,
                right: Box::new(one),
            })))
        }
        (None, None) => None,
    }
}

/// The interval the other way round.
fn negated(interval: &Interval) -> Option<Expr> {
    let text = text_of(&interval.value).filter(|_| interval.leading_field.is_none())?;
    read_interval(&format!("{text} ago")).map(|words| words_of(interval, words))
}

/// `x SIMILAR TO p`: the regular expression matches the whole text.
fn similar(expr: &Expr, pattern: &Expr, negated: bool) -> Expr {
    let text = |text: &str| Expr::Value(Value::SingleQuotedString(text.into()).into());
    let join = |left: Expr, right: Expr| Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::StringConcat,
        right: Box::new(right),
    };
    let whole = join(join(text("^(?:"), Expr::Nested(Box::new(pattern.clone()))), text(")$"));
    let found = call("regexp_like", vec![expr.clone(), whole]);
    if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(found) } } else { found }
}

/// `x[2:]` goes to the end, `x[:2]` starts at the beginning.
fn close_slice(access: &mut AccessExpr) {
    let place = |number: &str| Expr::Value(Value::Number(number.into(), false).into());
    if let AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. }) = access {
        lower_bound.get_or_insert_with(|| place("1"));
        upper_bound.get_or_insert_with(|| place("2147483647"));
    }
}

fn words_of(interval: &Interval, words: String) -> Expr {
    let value = Box::new(Expr::Value(Value::SingleQuotedString(words).into()));
    Expr::Interval(Interval { value, leading_field: None, ..interval.clone() })
}

/// A constant as it is written.
fn text_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => Some(text.clone()),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => text_of(expr).map(|text| format!("-{text}")),
        Expr::Nested(inner) => text_of(inner),
        _ => None,
    }
}
