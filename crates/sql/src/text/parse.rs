//! From text to syntax trees, with what the parser or the planner behind it gets wrong mended in front of it.
//!
//! * Tokens are mended in `tokens.rs`, literals in `literals.rs`, calls that mean something else in `macros.rs`.
//! * `a IS DISTINCT FROM b AND c` is read as `a IS DISTINCT FROM (b AND c)`; the tree is turned round.
//! * INTERSECT and EXCEPT are marked (see `set_operations.rs`).
//! * `unnest` and `generate_series` in FROM become lateral subqueries (see `table_functions.rs`).
//! * ORDER BY among the arguments of a window function is refused, since the planner would forget it.
//! * Output columns that print alike are given different names, since the planner refuses them.
//!
//! A text whose expressions nest too deeply is refused here, before anything recurses into it.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, FunctionArgumentClause, FunctionArguments, Ident, Query, Select, SelectItem, Spanned, Statement,
    TableFactor, VisitMut, VisitorMut,
};
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::dialect::Tailrace;
use super::error::{Position, SqlError};
use super::{connectives, literals, macros, set_operations, table_functions, tokens};

/// How deeply parentheses and subqueries may nest.
const NESTING: usize = 128;

/// How many operators one expression may chain: each is one level of a tree that is walked recursively.
const CHAIN: usize = 4_000;

/// The statements of a text.
pub(crate) struct Parsed {
    pub(crate) statements: Vec<Statement>,
    /// How many parameters they have together.
    pub(crate) parameters: usize,
}

/// Parses a text into statements.
pub(crate) fn parse(text: &str) -> Result<Parsed, SqlError> {
    let tokens = Tokenizer::new(&Tailrace, text).tokenize_with_location();
    let mut tokens = tokens.map_err(|error| {
        let position = Position { line: error.location.line, column: error.location.column };
        SqlError::at(format!("syntax error: {}", error.message), text, position)
    })?;
    check_depth(&tokens, text)?;
    let parameters = tokens::number_placeholders(&mut tokens, text)?;
    tokens::mend(&mut tokens);
    let parser = Parser::new(&Tailrace).with_recursion_limit(NESTING).with_tokens_with_locations(tokens);
    let mut statements = { parser }.parse_statements().map_err(|error| syntax_error(&error, text))?;
    for statement in &mut statements {
        if let ControlFlow::Break((message, position)) = VisitMut::visit(statement, &mut Mender::default()) {
            return Err(SqlError::at(message, text, position));
        }
    }
    Ok(Parsed { statements, parameters })
}

/// Refuses what would nest too deeply. Between commas and parentheses every operator may add one level.
fn check_depth(tokens: &[TokenWithSpan], text: &str) -> Result<(), SqlError> {
    let mut chains = vec![0_usize];
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => chains.push(0),
            Token::RParen | Token::RBracket | Token::RBrace if chains.len() > 1 => {
                chains.pop();
            }
            Token::Comma | Token::SemiColon => chains.last_mut().into_iter().for_each(|chain| *chain = 0),
            Token::Whitespace(_) => {}
            operator if adds_level(operator) => chains.last_mut().into_iter().for_each(|chain| *chain += 1),
            _ => {}
        }
        if chains.last().is_some_and(|chain| *chain > CHAIN) || chains.len() > 4 * NESTING {
            let position = Position { line: token.span.start.line, column: token.span.start.column };
            return Err(SqlError::at(
                format!("the expression nests too deeply: at most {CHAIN} operators may be chained"),
                text,
                position,
            ));
        }
    }
    Ok(())
}

fn adds_level(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            let name = &word.value;
            word.quote_style.is_none()
                && ["and", "or", "not", "union", "except", "intersect", "is", "case", "join"]
                    .iter()
                    .any(|word| name.eq_ignore_ascii_case(word))
        }
        Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat
        | Token::DoubleColon => true,
        Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Pipe
        | Token::Ampersand
        | Token::Caret
        | Token::Tilde => true,
        _ => false,
    }
}

/// The parser writes the place into its message.
fn syntax_error(error: &ParserError, text: &str) -> SqlError {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message.clone(),
        ParserError::RecursionLimitExceeded => {
            return SqlError::new(format!("the statement nests too deeply: at most {NESTING} levels"));
        }
    };
    let (words, place) = message.rsplit_once(" at Line: ").unwrap_or((&message, ""));
    let numbers: Vec<u64> =
        place.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    let words = format!("syntax error: {}", words.strip_prefix("sql parser error: ").unwrap_or(words));
    match numbers[..] {
        [line, column] => SqlError::at(words, text, Position { line, column }),
        _ if words.ends_with("EOF") => SqlError::at(words, text, end_of(text)),
        _ => SqlError::new(words),
    }
}

fn end_of(text: &str) -> Position {
    let last = text.trim_end().lines().last().unwrap_or_default();
    Position { line: text.trim_end().lines().count().max(1) as u64, column: last.chars().count() as u64 + 1 }
}

#[derive(Default)]
struct Mender {
    /// How the output columns of the SELECTs that are being mended were written.
    written: Vec<Vec<Option<String>>>,
}

impl VisitorMut for Mender {
    /// Why a statement is refused, and where.
    type Break = (String, Position);

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        self.written.push(select.projection.iter().map(written).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        keep_names(&mut select.projection, self.written.pop().unwrap_or_default());
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        connectives::mend(expr);
        literals::mend(expr);
        macros::expand(expr);
        check_ordered_window(expr)
    }
}

/// Prepares the queries inside of a change for DataFusion's planner.
pub(crate) struct Preparer;

impl VisitorMut for Preparer {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        set_operations::mark(&mut query.body);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        name_apart(&mut select.projection);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        table_functions::mend(factor);
        ControlFlow::Continue(())
    }
}

/// The planner would forget the order of the arguments of a window function.
fn check_ordered_window(expr: &Expr) -> ControlFlow<(String, Position)> {
    if let Expr::Function(call) = expr
        && call.over.is_some()
        && let FunctionArguments::List(list) = &call.args
        && list.clauses.iter().any(|clause| matches!(clause, FunctionArgumentClause::OrderBy(_)))
    {
        let start = call.name.span().start;
        let message = format!(
            "{} over a window follows the order of the window: write ORDER BY inside OVER",
            call.name
        );
        return ControlFlow::Break((message, Position { line: start.line, column: start.column }));
    }
    ControlFlow::Continue(())
}

/// How a column without a name is written, if mending it could change that.
fn written(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => None,
        SelectItem::UnnamedExpr(expr) => Some(expr.to_string()),
        _ => None,
    }
}

/// A column that was mended is still called as it was written.
fn keep_names(items: &mut [SelectItem], written: Vec<Option<String>>) {
    let mut seen: HashSet<String> = HashSet::new();
    for (item, written) in items.iter_mut().zip(written) {
        if let (SelectItem::UnnamedExpr(expr), Some(name)) = (&*item, written)
            && expr.to_string() != name
        {
            let numbered = (1..).map(|number| format!("{name}_{number}"));
            let fresh = std::iter::once(name.clone()).chain(numbered).find(|name| seen.insert(name.clone()));
            let alias = Ident::with_quote('"', fresh.unwrap_or(name));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

/// Output columns that print alike get a number behind their name.
fn name_apart(items: &mut [SelectItem]) {
    let mut seen: HashSet<String> = HashSet::new();
    for item in items {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let name = expr.to_string();
        if seen.insert(name.clone()) {
            continue;
        }
        let short = match expr {
            Expr::Identifier(ident) => ident.value.clone(),
            Expr::CompoundIdentifier(parts) => parts.last().map_or(name.clone(), |part| part.value.clone()),
            _ => name.clone(),
        };
        let fresh = (1..)
            .map(|number| format!("{short}_{number}"))
            .find(|fresh| seen.insert(fresh.clone()))
            .unwrap_or(short);
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', fresh) };
    }
}
