//! Functions in FROM: `unnest(list, ..)`, `generate_series(a, b)` and `range(a, b)`, also over columns of the relations before them, WITH ORDINALITY or without.

use datafusion_common::Result;
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_sql::sqlparser::ast::{
    Expr as SqlExpr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, TableAlias, TableFactor,
};
use datafusion_sql::sqlparser::dialect::GenericDialect;
use datafusion_sql::sqlparser::parser::Parser;

use super::query::one_row;
use super::scope::{Names, Scope};
use super::unfold::unfolded;
use super::{Binder, normal, refused};
use crate::PlanError;
use crate::text::planner::external;

/// Functions that give a list, whose elements are the rows.
const LISTS: [&str; 2] = ["generate_series", "range"];

impl Binder<'_> {
    /// The rows of a function, its alias, and the name that it has without one.
    pub(super) fn table_function<'f>(
        &mut self,
        factor: &'f TableFactor,
        before: Option<&Scope>,
    ) -> Result<(LogicalPlan, Option<&'f TableAlias>, String)> {
        let (name, args, alias, ordinality) = match factor {
            TableFactor::UNNEST { array_exprs, with_offset: false, with_ordinality, alias, .. } => {
                ("unnest".to_owned(), array_exprs.clone(), alias, *with_ordinality)
            }
            TableFactor::Table { name, args: Some(args), alias, with_ordinality, sample: None, .. } => {
                (called(name)?, values(name, &args.args)?, alias, *with_ordinality)
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => {
                (called(name)?, values(name, args)?, alias, *with_ordinality)
            }
            other => {
                let words: Vec<String> =
                    other.to_string().split_whitespace().take(3).map(str::to_owned).collect();
                let reason = format!("this cannot stand in FROM: {}", words.join(" "));
                return Err(external(PlanError::Invalid(reason)));
            }
        };
        let args = if LISTS.contains(&name.as_str()) { vec![call(&name, args)?] } else { args };
        let lists = self.lists(&args, before)?;
        let columns = if lists.len() == 1 {
            vec![name.clone()]
        } else {
            super::named_apart(lists.iter().map(|_| name.clone()))
        };
        let lists = lists.into_iter().zip(columns).collect();
        let plan = unfolded(one_row(), lists, ordinality.then(|| "ordinality".to_owned()))?;
        Ok((plan, alias.as_ref(), name))
    }

    /// The arguments, which may read the columns of the relations before.
    fn lists(&mut self, args: &[SqlExpr], before: Option<&Scope>) -> Result<Vec<Expr>> {
        if let Some(before) = before {
            self.outer.push(before.clone());
        }
        let nothing = Scope::default();
        let lists = args.iter().map(|arg| self.expr(arg, &Names::of(&nothing))).collect();
        if before.is_some() {
            self.outer.pop();
        }
        lists
    }
}

fn called(name: &ObjectName) -> Result<String> {
    let known = match &name.0[..] {
        [part] => part.as_ident().map(normal),
        _ => None,
    };
    match known {
        Some(known) if known == "unnest" || LISTS.contains(&known.as_str()) => Ok(known),
        _ => {
            let hint = "A function in FROM is one of unnest, generate_series and range.".to_owned();
            Err(external(PlanError::UnknownFunction { name: name.to_string(), hint }))
        }
    }
}

fn values(name: &ObjectName, args: &[FunctionArg]) -> Result<Vec<SqlExpr>> {
    let value = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(value.clone()),
        other => Err(refused(name.to_string(), format!("{name} takes values, got {other}"))),
    };
    args.iter().map(value).collect()
}

/// The call of a function. Its frame is parsed, so that it is what the parser makes of it.
fn call(name: &str, args: Vec<SqlExpr>) -> Result<SqlExpr> {
    let parsed = Parser::new(&GenericDialect {})
        .try_with_sql(&format!("{name}()"))
        .and_then(|mut parser| parser.parse_expr());
    let mut call = parsed.map_err(|error| external(PlanError::Invalid(error.to_string())))?;
    if let SqlExpr::Function(function) = &mut call
        && let FunctionArguments::List(list) = &mut function.args
    {
        list.args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    }
    Ok(call)
}
