//! Tokens put right before they are parsed.
//!
//! * `?` becomes `$1`, `$2`, ... in order of appearance; it does not go together with `$1`.
//! * `key` and `index` are names of columns, not the start of an index that MySQL would declare inside a table.
//! * `STRUCT(a INTEGER)` as a type is written with angle brackets, which is how the parser knows it from a call.
//! * `TABLE t` is `SELECT * FROM t`.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::error::{Position, SqlError};

/// Numbers the placeholders and tells how many parameters there are.
pub(crate) fn number_placeholders(tokens: &mut [TokenWithSpan], text: &str) -> Result<usize, SqlError> {
    let (mut asked, mut numbered) = (0, 0);
    for token in tokens {
        let start = token.span.start;
        match &token.token {
            Token::Question => asked += 1,
            Token::Placeholder(name) if name == "?" => asked += 1,
            Token::Placeholder(name) => {
                numbered = numbered.max(name.trim_start_matches('$').parse().unwrap_or(0));
                if asked == 0 {
                    continue;
                }
            }
            _ => continue,
        }
        if asked > 0 && numbered > 0 {
            let message = "parameters are either all written `?` or all `$1`, `$2`, ...";
            return Err(SqlError::at(message, text, Position { line: start.line, column: start.column }));
        }
        token.token = Token::Placeholder(format!("${asked}"));
    }
    Ok(asked.max(numbered))
}

/// All other mending.
pub(crate) fn mend(tokens: &mut Vec<TokenWithSpan>) {
    free_names(tokens);
    struct_types(tokens);
    whole_tables(tokens);
}

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

/// A type stands behind a name (of a column or a field), behind `::` or behind AS.
fn struct_types(tokens: &mut [TokenWithSpan]) {
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|place| !matches!(tokens[*place].token, Token::Whitespace(_))).collect();
    let mut open: Vec<(bool, usize)> = Vec::new();
    for (index, place) in solid.iter().enumerate() {
        match &tokens[*place].token {
            Token::LParen => {
                let name = index.checked_sub(1).map(|before| &tokens[solid[before]].token);
                let is_struct = matches!(name, Some(Token::Word(word)) if word.keyword == Keyword::STRUCT);
                let before = index.checked_sub(2).map(|before| &tokens[solid[before]].token);
                let inside = open.last().is_some_and(|(is_type, _)| *is_type);
                let is_map = matches!(name, Some(Token::Word(word)) if word.keyword == Keyword::MAP);
                let placed = before.is_some_and(introduces_type) || inside;
                if is_struct && placed {
                    tokens[*place].token = Token::Lt;
                }
                open.push(((is_struct || is_map) && placed, usize::from(is_struct && placed)));
            }
            Token::RParen => {
                if let Some((_, 1)) = open.pop() {
                    tokens[*place].token = Token::Gt;
                }
            }
            _ => {}
        }
    }
}

fn introduces_type(token: &Token) -> bool {
    match token {
        Token::DoubleColon => true,
        Token::Word(word) => {
            word.quote_style.is_some()
                || word.keyword == Keyword::NoKeyword
                || word.keyword == Keyword::AS
                || word.keyword == Keyword::COLUMN
        }
        _ => false,
    }
}

fn whole_tables(tokens: &mut Vec<TokenWithSpan>) {
    let mut place = 0;
    let mut fresh = true;
    while place < tokens.len() {
        match &tokens[place].token {
            Token::Whitespace(_) => {}
            Token::SemiColon => fresh = true,
            Token::Word(word) if fresh && word.keyword == Keyword::TABLE => {
                let span = tokens[place].span;
                let words = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
                tokens.splice(place..=place, words.map(|token| TokenWithSpan { token, span }));
                place += 2;
                fresh = false;
            }
            _ => fresh = false,
        }
        place += 1;
    }
}
