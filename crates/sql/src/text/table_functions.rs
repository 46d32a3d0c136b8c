//! Functions in FROM: `unnest(list)`, `generate_series(a, b)` and `range(a, b)`, also over columns of the tables before them.
//!
//! Each becomes `LATERAL (SELECT unnest(list))`, which the planner knows. Its column is named after the alias, or after the function.

use datafusion_sql::sqlparser::ast::{Ident, ObjectName, SetExpr, Statement, TableAlias, TableFactor};
use datafusion_sql::sqlparser::parser::Parser;

use super::dialect::Tailrace;

/// Functions that give a list, whose elements are the rows.
const LISTS: [&str; 2] = ["generate_series", "range"];

/// Rewrites a function in FROM.
pub(crate) fn mend(factor: &mut TableFactor) {
    let written = match factor {
        TableFactor::UNNEST { array_exprs, with_offset: false, with_ordinality: false, alias, .. } => {
            match &array_exprs[..] {
                [list] => Some((list.to_string(), "unnest".to_owned(), alias.clone())),
                _ => None,
            }
        }
        TableFactor::Table { name, args: Some(args), alias, .. } => called(name).map(|function| {
            let args: Vec<String> = args.args.iter().map(ToString::to_string).collect();
            (format!("{function}({})", args.join(", ")), function, alias.clone())
        }),
        TableFactor::Function { name, args, alias, .. } => called(name).map(|function| {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            (format!("{function}({})", args.join(", ")), function, alias.clone())
        }),
        _ => None,
    };
    if let Some((list, function, alias)) = written
        && let Some(derived) = lateral(&list, &function, alias)
    {
        *factor = derived;
    }
}

fn called(name: &ObjectName) -> Option<String> {
    let name = name.to_string().to_lowercase();
    LISTS.contains(&name.as_str()).then_some(name)
}

/// `LATERAL (SELECT unnest(list) AS column) AS alias`.
fn lateral(list: &str, function: &str, alias: Option<TableAlias>) -> Option<TableFactor> {
    let column = alias.as_ref().map_or_else(|| Ident::new(function), |alias| alias.name.clone());
    let alias = alias.unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(function),
        columns: Vec::new(),
        at: None,
    });
    let text = format!("SELECT * FROM t, LATERAL (SELECT unnest({list}) AS {column}) AS x");
    let parsed = Parser::parse_sql(&Tailrace, &text).ok()?;
    let Some(Statement::Query(query)) = parsed.into_iter().next() else { return None };
    let SetExpr::Select(select) = *query.body else { return None };
    let mut derived = select.from.into_iter().nth(1)?.relation;
    if let TableFactor::Derived { alias: place, .. } = &mut derived {
        *place = Some(alias);
    }
    Some(derived)
}
