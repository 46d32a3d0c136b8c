//! From text to syntax trees, with what the parser or the planner behind it gets wrong mended in front of it.
//!
//! * `?` becomes `$1`, `$2`, ... in order of appearance.
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
use datafusion_sql::sqlparser::dialect::GenericDialect;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use super::error::{Position, SqlError};
use super::{connectives, set_operations, table_functions};

/// How deeply parentheses and subqueries may nest.
const NESTING: usize = 128;

/// How many operators one expression may chain: each is one level of a tree that is walked recursively.
const CHAIN: usize = 4_000;

/// Parses a text into statements.
pub(crate) fn parse(text: &str) -> Result<Vec<Statement>, SqlError> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location();
    let mut tokens = tokens.map_err(|error| {
        let position = Position { line: error.location.line, column: error.location.column };
        SqlError::at(format!("syntax error: {}", error.message), text, position)
    })?;
    check_depth(&tokens, text)?;
    write_out_tables(&mut tokens);
    number_placeholders(&mut tokens);
    free_names(&mut tokens);
    let parser =
        Parser::new(&GenericDialect {}).with_recursion_limit(NESTING).with_tokens_with_locations(tokens);
    let mut statements = { parser }.parse_statements().map_err(|error| syntax_error(&error, text))?;
    for statement in &mut statements {
        if let ControlFlow::Break((message, position)) = VisitMut::visit(statement, &mut Mender) {
            return Err(SqlError::at(message, text, position));
        }
    }
    Ok(statements)
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

/// A statement `TABLE t` is `SELECT * FROM t`, which the parser knows inside of parentheses only.
fn write_out_tables(tokens: &mut Vec<TokenWithSpan>) {
    let mut starts = true;
    let mut at = 0;
    while at < tokens.len() {
        let span = tokens[at].span;
        let is_table = matches!(&tokens[at].token, Token::Word(word) if word.keyword == Keyword::TABLE);
        if starts && is_table {
            let written = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
            let written = written.map(|token| TokenWithSpan { token, span });
            tokens.splice(at..=at, written);
            at += 2;
        }
        if !matches!(tokens[at].token, Token::Whitespace(_)) {
            starts = tokens[at].token == Token::SemiColon;
        }
        at += 1;
    }
}

fn number_placeholders(tokens: &mut [TokenWithSpan]) {
    let mut count = 0;
    for token in tokens {
        if token.token == Token::Placeholder("?".into()) || token.token == Token::Question {
            count += 1;
            token.token = Token::Placeholder(format!("${count}"));
        }
    }
}

/// `key` and `index` are names of columns, not the start of an index that MySQL would declare inside a table.
fn free_names(tokens: &mut [TokenWithSpan]) {
    let mut before = Token::EOF;
    for token in tokens {
        if let Token::Word(word) = &mut token.token
            && word.quote_style.is_none()
            && matches!(before, Token::Comma | Token::LParen)
            && ["key", "index"].iter().any(|name| word.value.eq_ignore_ascii_case(name))
        {
            *word = Word {
                value: word.value.to_lowercase(),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            };
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            before = token.token.clone();
        }
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

struct Mender;

impl VisitorMut for Mender {
    /// Why a statement is refused, and where.
    type Break = (String, Position);

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        connectives::mend(expr);
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
