//! Functions that are a short way of writing something else: `year(d)` is `date_part('year', d)`.
//!
//! Each stands in one table with its number of arguments and what it means; `$1` is the first argument. A call is replaced in the syntax tree. FILTER, OVER
//! and ORDER BY of a call go to the outermost function of its meaning.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    Value, VisitMut, VisitorMut,
};
use datafusion_sql::sqlparser::parser::Parser;

use super::dialect::Tailrace;

/// Name, number of arguments, meaning.
const MEANINGS: &[(&str, usize, &str)] = &[
    // Choices.
    ("if", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("iif", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("ifnull", 2, "coalesce($1, $2)"),
    ("nvl", 2, "coalesce($1, $2)"),
    ("isnull", 1, "($1 IS NULL)"),
    ("error", 1, "fail(CAST($1 AS VARCHAR))"),
    // Numbers.
    ("power", 2, "power(CAST($1 AS DOUBLE), CAST($2 AS DOUBLE))"),
    ("pow", 2, "power(CAST($1 AS DOUBLE), CAST($2 AS DOUBLE))"),
    ("sign", 1, "CASE WHEN $1 > 0 THEN 1 WHEN $1 < 0 THEN -1 WHEN $1 IS NOT NULL THEN 0 END"),
    ("signum", 1, "CASE WHEN $1 > 0 THEN 1 WHEN $1 < 0 THEN -1 WHEN $1 IS NOT NULL THEN 0 END"),
    ("mod", 2, "($1 % $2)"),
    ("fmod", 2, "($1 % $2)"),
    ("add", 2, "($1 + $2)"),
    ("subtract", 2, "($1 - $2)"),
    ("multiply", 2, "($1 * $2)"),
    ("divide", 2, "($1 / $2)"),
    ("fdiv", 2, "floor(CAST($1 AS DOUBLE) / CAST($2 AS DOUBLE))"),
    ("xor", 2, "($1 # $2)"),
    ("ceiling", 1, "ceil($1)"),
    (
        "even",
        1,
        "CASE WHEN $1 >= 0 THEN 2 * ceil(CAST($1 AS DOUBLE) / 2) ELSE 2 * floor(CAST($1 AS DOUBLE) / 2) END",
    ),
    ("round_even", 2, "round_even(CAST($1 AS DOUBLE), CAST($2 AS BIGINT))"),
    ("roundbankers", 2, "round_even(CAST($1 AS DOUBLE), CAST($2 AS BIGINT))"),
    ("isinf", 1, "(CAST($1 AS DOUBLE) IN (CAST('inf' AS DOUBLE), CAST('-inf' AS DOUBLE)))"),
    (
        "isfinite",
        1,
        "(NOT isnan(CAST($1 AS DOUBLE)) AND CAST($1 AS DOUBLE) NOT IN (CAST('inf' AS DOUBLE), CAST('-inf' AS DOUBLE)))",
    ),
    ("isnan", 1, "isnan(CAST($1 AS DOUBLE))"),
    ("log", 2, "(ln(CAST($2 AS DOUBLE)) / ln(CAST($1 AS DOUBLE)))"),
    // Texts.
    ("lcase", 1, "lower($1)"),
    ("ucase", 1, "upper($1)"),
    ("len", 1, "length($1)"),
    ("strlen", 1, "octet_length(CAST($1 AS VARCHAR))"),
    ("unicode", 1, "CASE WHEN $1 = '' THEN -1 ELSE ascii($1) END"),
    ("ord", 1, "CASE WHEN $1 = '' THEN -1 ELSE ascii($1) END"),
    ("prefix", 2, "starts_with($1, $2)"),
    ("suffix", 2, "ends_with($1, $2)"),
    ("charindex", 2, "strpos($2, $1)"),
    ("locate", 2, "strpos($2, $1)"),
    ("char", 1, "chr($1)"),
    ("regexp_matches", 2, "(regexp_like($1, $2))"),
    ("regexp_matches", 3, "(regexp_like($1, $2, $3))"),
    ("regexp_full_match", 2, "(regexp_like($1, '^(?:' || $2 || ')$'))"),
    ("string_split_regex", 2, "regexp_split($1, $2)"),
    ("regexp_split_to_array", 2, "regexp_split($1, $2)"),
    ("str_split_regex", 2, "regexp_split($1, $2)"),
    ("str_split", 2, "string_split($1, $2)"),
    ("split", 2, "string_split($1, $2)"),
    ("base64", 1, "encode(CAST($1 AS BLOB), 'base64pad')"),
    ("to_base64", 1, "encode(CAST($1 AS BLOB), 'base64pad')"),
    ("from_base64", 1, "decode($1, 'base64pad')"),
    ("encode", 1, "CAST($1 AS BLOB)"),
    ("decode", 1, "blob_text($1)"),
    ("unhex", 1, "decode($1, 'hex')"),
    ("from_hex", 1, "decode($1, 'hex')"),
    // Dates and times.
    ("now", 0, "CAST(now() AS TIMESTAMPTZ)"),
    ("get_current_timestamp", 0, "CAST(now() AS TIMESTAMPTZ)"),
    ("transaction_timestamp", 0, "CAST(now() AS TIMESTAMPTZ)"),
    ("current_timestamp", 0, "CAST(now() AS TIMESTAMPTZ)"),
    ("localtimestamp", 0, "CAST(now() AS TIMESTAMP)"),
    ("current_localtimestamp", 0, "CAST(now() AS TIMESTAMP)"),
    ("current_time", 0, "CAST(CAST(now() AS TIMESTAMP) AS TIME)"),
    ("localtime", 0, "CAST(CAST(now() AS TIMESTAMP) AS TIME)"),
    ("year", 1, "date_part('year', $1)"),
    ("month", 1, "date_part('month', $1)"),
    ("day", 1, "date_part('day', $1)"),
    ("dayofmonth", 1, "date_part('day', $1)"),
    ("hour", 1, "date_part('hour', $1)"),
    ("minute", 1, "date_part('minute', $1)"),
    ("second", 1, "date_part('second', $1)"),
    ("millisecond", 1, "date_part('millisecond', $1)"),
    ("microsecond", 1, "date_part('microsecond', $1)"),
    ("quarter", 1, "date_part('quarter', $1)"),
    ("week", 1, "date_part('week', $1)"),
    ("weekofyear", 1, "date_part('week', $1)"),
    ("dayofweek", 1, "date_part('dow', $1)"),
    ("weekday", 1, "date_part('dow', $1)"),
    ("isodow", 1, "date_part('isodow', $1)"),
    ("dayofyear", 1, "date_part('doy', $1)"),
    ("isoyear", 1, "date_part('isoyear', $1)"),
    ("yearweek", 1, "(date_part('isoyear', $1) * 100 + date_part('week', $1))"),
    ("decade", 1, "CAST(floor(date_part('year', $1) / CAST(10 AS DOUBLE)) AS BIGINT)"),
    (
        "century",
        1,
        "CASE WHEN date_part('year', $1) > 0 THEN (date_part('year', $1) + 99) / 100 ELSE date_part('year', $1) / 100 - 1 END",
    ),
    (
        "millennium",
        1,
        "CASE WHEN date_part('year', $1) > 0 THEN (date_part('year', $1) + 999) / 1000 ELSE date_part('year', $1) / 1000 - 1 END",
    ),
    ("era", 1, "CASE WHEN date_part('year', $1) > 0 THEN 1 WHEN $1 IS NOT NULL THEN 0 END"),
    ("epoch", 1, "date_part('epoch', $1)"),
    ("datepart", 2, "date_part($1, $2)"),
    ("datetrunc", 2, "date_trunc($1, $2)"),
    ("dayname", 1, "to_char(CAST($1 AS TIMESTAMP), '%A')"),
    ("monthname", 1, "to_char(CAST($1 AS TIMESTAMP), '%B')"),
    (
        "last_day",
        1,
        "CAST(date_trunc('month', CAST($1 AS TIMESTAMP)) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)",
    ),
    ("date_add", 2, "($1 + $2)"),
    ("datediff", 3, "date_diff($1, $2, $3)"),
    ("datesub", 3, "date_sub($1, $2, $3)"),
    ("strftime", 2, "to_char(CAST($1 AS TIMESTAMP), replace($2, '%f', '%6f'))"),
    ("strptime", 2, "CAST(to_timestamp($1, $2) AS TIMESTAMP)"),
    ("make_timestamp", 1, "CAST(to_timestamp_micros($1) AS TIMESTAMP)"),
    ("to_timestamp", 1, "to_timestamp_of($1)"),
    ("to_timestamp", 2, "CAST(to_timestamp($1, $2) AS TIMESTAMP)"),
    ("to_years", 1, "($1 * INTERVAL '1 year')"),
    ("to_months", 1, "($1 * INTERVAL '1 month')"),
    ("to_weeks", 1, "($1 * INTERVAL '7 days')"),
    ("to_days", 1, "($1 * INTERVAL '1 day')"),
    ("to_hours", 1, "($1 * INTERVAL '1 hour')"),
    ("to_minutes", 1, "($1 * INTERVAL '1 minute')"),
    ("to_seconds", 1, "($1 * INTERVAL '1 second')"),
    ("to_milliseconds", 1, "($1 * INTERVAL '1 millisecond')"),
    ("to_microseconds", 1, "($1 * INTERVAL '1 microsecond')"),
    // Lists, structs and maps.
    ("list_value", 0, "make_array()"),
    ("struct_extract", 2, "get_field($1, $2)"),
    ("list_unique", 1, "array_length(array_distinct(array_compact($1)))"),
    ("list_count", 1, "array_length(array_compact($1))"),
    ("list_sort", 1, "array_sort($1, 'ASC', 'NULLS LAST')"),
    ("array_sort", 1, "array_sort($1, 'ASC', 'NULLS LAST')"),
    ("list_sort", 2, "array_sort($1, $2, 'NULLS LAST')"),
    ("array_sort", 2, "array_sort($1, $2, 'NULLS LAST')"),
    ("list_distinct", 1, "array_distinct(array_compact($1))"),
    ("list_reverse_sort", 1, "array_sort($1, 'DESC', 'NULLS LAST')"),
    ("array_reverse_sort", 1, "array_sort($1, 'DESC', 'NULLS LAST')"),
    ("map_extract_value", 2, "array_element(map_extract($1, $2), 1)"),
    // Aggregates.
    ("count_if", 1, "count(CASE WHEN $1 THEN 1 END)"),
    ("countif", 1, "count(CASE WHEN $1 THEN 1 END)"),
    ("approx_count_distinct", 1, "count(DISTINCT $1)"),
    ("approx_distinct", 1, "count(DISTINCT $1)"),
    ("approx_quantile", 2, "quantile_cont($1, $2)"),
    ("approx_percentile_cont", 2, "quantile_cont($1, $2)"),
    ("approx_median", 1, "median($1)"),
    ("fsum", 1, "sum(CAST($1 AS DOUBLE))"),
    ("sumkahan", 1, "sum(CAST($1 AS DOUBLE))"),
    ("kahan_sum", 1, "sum(CAST($1 AS DOUBLE))"),
    ("favg", 1, "avg(CAST($1 AS DOUBLE))"),
    ("geomean", 1, "exp(avg(ln(CAST($1 AS DOUBLE))))"),
    ("geometric_mean", 1, "exp(avg(ln(CAST($1 AS DOUBLE))))"),
    ("total", 1, "coalesce(sum(CAST($1 AS DOUBLE)), CAST('0' AS DOUBLE))"),
];

static MACROS: LazyLock<HashMap<(&str, usize), Expr>> = LazyLock::new(|| {
    let parsed = MEANINGS.iter().filter_map(|(name, args, meaning)| {
        let expr = Parser::new(&Tailrace).try_with_sql(meaning).ok()?.parse_expr().ok()?;
        Some(((*name, *args), expr))
    });
    parsed.collect()
});

/// The names of all such functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    MEANINGS.iter().map(|(name, ..)| *name)
}

/// Replaces a call by its meaning.
pub(crate) fn expand(expr: &mut Expr) {
    let Expr::Function(call) = expr else { return };
    if !call.within_group.is_empty() {
        unwrap_group(call);
    }
    name_parts(call);
    let Some(args) = plain_args(call) else { return };
    let name = call.name.to_string().to_lowercase();
    let Some(meaning) = MACROS.get(&(name.as_str(), args.len())) else { return };
    let mut meaning = meaning.clone();
    let bare = is_bare(call);
    let inner = match &mut meaning {
        Expr::Function(inner) => Some(inner),
        _ => None,
    };
    match inner {
        Some(inner) if !bare => carry_over(call, inner),
        None if !bare => return,
        _ => {}
    }
    let _ = VisitMut::visit(&mut meaning, &mut Filler { args: &args });
    *expr = meaning;
}

/// `percentile_cont(0.9) WITHIN GROUP (ORDER BY x)` is `quantile_cont(x, 0.9)`, `mode() WITHIN GROUP (ORDER BY x)` is `mode(x)`.
fn unwrap_group(call: &mut Function) {
    let name = call.name.to_string().to_lowercase();
    let [term] = &call.within_group[..] else { return };
    let plain = |expr: Expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let (value, falling) = (term.expr.clone(), term.options.asc == Some(false));
    let FunctionArguments::List(list) = &mut call.args else { return };
    let args = match (name.as_str(), &list.args[..]) {
        ("mode", []) => vec![plain(value)],
        // The other end of a discrete share is another value.
        ("percentile_disc", _) if falling => return,
        ("percentile_cont" | "percentile_disc", [FunctionArg::Unnamed(FunctionArgExpr::Expr(share))]) => {
            let share = if falling {
                Expr::BinaryOp {
                    left: Box::new(Expr::Value(Value::Number("1".into(), false).into())),
                    op: BinaryOperator::Minus,
                    right: Box::new(Expr::Nested(Box::new(share.clone()))),
                }
            } else {
                share.clone()
            };
            vec![plain(value), plain(share)]
        }
        _ => return,
    };
    list.args = args;
    call.within_group.clear();
}

/// `date_part('decade', d)` is `decade(d)`, and `struct_pack(a := 1)` is `named_struct('a', 1)`.
fn name_parts(call: &mut Function) {
    let name = call.name.to_string().to_lowercase();
    let FunctionArguments::List(list) = &mut call.args else { return };
    if name == "struct_pack" {
        list.args = list.args.drain(..).flat_map(named_pair).collect();
    }
    if !matches!(name.as_str(), "date_part" | "datepart") {
        return;
    }
    if let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(part))), _] = &list.args[..]
        && let Value::SingleQuotedString(part) = &part.value
        && let Some(part) = ["decade", "century", "millennium", "era", "yearweek"]
            .into_iter()
            .find(|known| part.trim_end_matches('s').eq_ignore_ascii_case(known))
    {
        list.args.remove(0);
        call.name = ObjectName::from(vec![Ident::new(part)]);
    }
}

fn named_pair(arg: FunctionArg) -> Vec<FunctionArg> {
    match arg {
        FunctionArg::Named { name, arg, .. } => {
            let text = Expr::Value(Value::SingleQuotedString(name.value).into());
            vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(text)), FunctionArg::Unnamed(arg)]
        }
        other => vec![other],
    }
}

fn is_bare(call: &Function) -> bool {
    let clauses = match &call.args {
        FunctionArguments::List(list) => !list.clauses.is_empty() || list.duplicate_treatment.is_some(),
        _ => false,
    };
    call.over.is_none() && call.filter.is_none() && call.within_group.is_empty() && !clauses
}

fn carry_over(call: &Function, inner: &mut Function) {
    inner.over.clone_from(&call.over);
    inner.filter.clone_from(&call.filter);
    inner.within_group.clone_from(&call.within_group);
    inner.null_treatment = call.null_treatment;
    if let (FunctionArguments::List(from), FunctionArguments::List(to)) = (&call.args, &mut inner.args) {
        to.clauses.clone_from(&from.clauses);
        to.duplicate_treatment = from.duplicate_treatment.or(to.duplicate_treatment);
    }
}

/// The arguments, if all are plain expressions.
fn plain_args(call: &Function) -> Option<Vec<Expr>> {
    match &call.args {
        FunctionArguments::None => Some(Vec::new()),
        FunctionArguments::List(list) => list
            .args
            .iter()
            .map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            })
            .collect(),
        FunctionArguments::Subquery(_) => None,
    }
}

/// Puts arguments in their places.
struct Filler<'a> {
    args: &'a [Expr],
}

impl VisitorMut for Filler<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let place = match expr {
            Expr::Value(value) => match &value.value {
                Value::Placeholder(name) => name[1..].parse::<usize>().ok(),
                _ => None,
            },
            _ => None,
        };
        if let Some(arg) = place.and_then(|place| self.args.get(place.wrapping_sub(1))) {
            let simple = matches!(arg, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
                || matches!(arg, Expr::Function(_) | Expr::Nested(_));
            *expr = if simple { arg.clone() } else { Expr::Nested(Box::new(arg.clone())) };
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meaning_is_an_expression() {
        for (name, args, meaning) in MEANINGS {
            assert!(MACROS.contains_key(&(*name, *args)), "{name}: {meaning}");
        }
    }

    #[test]
    fn clauses_of_a_call_go_to_its_meaning() {
        let mut expr = Parser::new(&Tailrace)
            .try_with_sql("count_if(x > 1) FILTER (WHERE y) OVER (PARTITION BY z)")
            .and_then(|mut parser| parser.parse_expr())
            .unwrap();
        expand(&mut expr);
        let written = "count(CASE WHEN (x > 1) THEN 1 END) FILTER (WHERE y) OVER (PARTITION BY z)";
        assert_eq!(expr.to_string(), written);
    }
}
