//! The dialect of our texts: the parser's generic one, with the operators of PostgreSQL and DuckDB.
//!
//! `^` and `**` are powers, binding tighter than `*` and looser than a sign, from left to right; `#` is the exclusive or of bits, so that it starts no
//! name. `x ISNULL` and `x NOTNULL` are tests and `x IN ()` an empty list. What only other systems have and what would take names away (FORMAT, SETTINGS, ...) is off.

use std::any::TypeId;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, ObjectName, UnaryOperator,
};
use datafusion_sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

/// How tightly a power binds: between `*` (40) and `::` (50).
const POWER: u8 = 45;

/// How tightly `->` binds: more than a comparison (20), less than `+` (30).
const ARROW: u8 = 25;

/// What the parser asks.
#[derive(Debug)]
pub(crate) struct Tailrace;

macro_rules! supported {
    ($($feature:ident)*) => { $(fn $feature(&self) -> bool { true })* };
}

impl Dialect for Tailrace {
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        ch == '"' || ch == '`'
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        ch.is_alphabetic() || ch == '_'
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch.is_alphanumeric() || ch == '_' || ch == '$'
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        if is_power(parser) {
            return Some(Ok(POWER));
        }
        if matches!(parser.peek_token_ref().token, Token::Arrow | Token::LongArrow) {
            return Some(Ok(ARROW));
        }
        is_null_test(parser).then(|| Ok(self.prec_value(Precedence::Is)))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        left: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if is_null_test(parser) {
            parser.next_token();
            return Some(Ok(Expr::IsNull(Box::new(left.clone()))));
        }
        if parser.peek_token_ref().token == Token::Sharp {
            parser.next_token();
            let right = parser.parse_subexpr(self.prec_value(Precedence::Caret));
            let op = BinaryOperator::PGBitwiseXor;
            return Some(right.map(|right| Expr::BinaryOp {
                left: Box::new(left.clone()),
                op,
                right: Box::new(right),
            }));
        }
        if !is_power(parser) {
            return None;
        }
        if parser.next_token().token == Token::Mul {
            parser.next_token();
        }
        let right = parser.parse_subexpr(POWER);
        Some(right.map(|right| call("power", vec![left.clone(), right])))
    }

    /// A sign binds tighter than a power: `-2 ^ 2` is 4.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        let op = match parser.peek_token_ref().token {
            Token::Minus => UnaryOperator::Minus,
            Token::Plus => UnaryOperator::Plus,
            _ => return None,
        };
        parser.next_token();
        Some(parser.parse_subexpr(POWER).map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }))
    }

    supported! {
        supports_unicode_string_literal supports_group_by_expr supports_group_by_with_modifier
        supports_left_associative_joins_without_parens supports_window_function_null_treatment_arg
        supports_dictionary_syntax supports_window_clause_named_window_reference
        supports_parenthesized_set_variables supports_select_wildcard_except support_map_literal_syntax
        allow_extract_custom allow_extract_single_quotes supports_extract_comma_syntax
        supports_parens_around_table_factor supports_values_as_table_factor supports_create_index_with_clause
        supports_explain_with_utility_options supports_limit_comma supports_from_first_select
        supports_projection_trailing_commas supports_asc_desc_in_column_definition supports_try_convert
        supports_bitwise_shift_operators supports_comment_on supports_named_fn_args_with_assignment_operator
        supports_struct_literal supports_empty_projections supports_nested_comments
        supports_string_escape_constant supports_array_typedef_with_brackets
        supports_comma_separated_set_assignments supports_filter_during_aggregation
        supports_select_wildcard_exclude supports_data_type_signed_suffix supports_interval_options
        supports_select_wildcard_replace supports_select_wildcard_ilike supports_select_wildcard_rename
        supports_constraint_keyword_without_name supports_key_column_option supports_comma_separated_trim
        supports_start_transaction_modifier supports_in_empty_list supports_notnull_operator
        supports_numeric_literal_underscores supports_update_order_by supports_order_by_all
    }
}

/// A call of a function with plain arguments.
pub(crate) fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// `x ISNULL`.
fn is_null_test(parser: &Parser) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull"))
}

fn is_power(parser: &Parser) -> bool {
    match parser.peek_token_ref().token {
        Token::Caret => true,
        Token::Mul => parser.peek_nth_token_ref(1).token == Token::Mul,
        _ => false,
    }
}
