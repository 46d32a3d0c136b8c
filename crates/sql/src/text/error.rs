//! What can be wrong with a text: the reason, the place in the text, and the names that would have been right.

use std::fmt;

use datafusion_common::{DataFusionError, SchemaError};
use datafusion_sql::sqlparser::tokenizer::{Token, Tokenizer};
use thiserror::Error;

use super::dialect::Tailrace;
use crate::PlanError;

/// A place in a text, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u64,
    /// The character in the line.
    pub column: u64,
}

/// Why a text is refused.
#[derive(Debug, Error)]
pub struct SqlError {
    /// The reason in words.
    pub message: String,
    /// Where, if a place is to blame.
    pub position: Option<Position>,
    /// The line of the text at that place.
    pub line: String,
    /// Names that exist where an unknown one was used, nearest first.
    pub choices: Vec<String>,
}

impl SqlError {
    /// A reason without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), position: None, line: String::new(), choices: Vec::new() }
    }

    /// A reason with its place.
    pub(crate) fn at(message: impl Into<String>, text: &str, position: Position) -> Self {
        let line = text.lines().nth(position.line.saturating_sub(1) as usize).unwrap_or_default().to_owned();
        Self { position: Some(position), line, ..Self::new(message) }
    }

    /// A reason whose place is the first use of `name` in the text.
    pub(crate) fn blaming(message: impl Into<String>, text: &str, name: &str) -> Self {
        match find_name(text, name) {
            Some(position) => Self::at(message, text, position),
            None => Self::new(message),
        }
    }

    /// Adds the names that exist: the nearest is proposed, all are listed.
    fn with_choices(mut self, name: &str, choices: Vec<String>) -> Self {
        if let Some(near) = nearest(name, &choices) {
            self.message = format!("{}. Did you mean '{near}'?", self.message.trim_end_matches('.'));
        }
        self.choices = choices;
        self
    }

    /// The error of the planner, placed in the text.
    pub(crate) fn from_plan(error: PlanError, text: &str) -> Self {
        match &error {
            PlanError::UnknownColumn { name, choices } => {
                Self::blaming(error.to_string(), text, name).with_choices(name, choices.clone())
            }
            PlanError::UnknownRelation { name, choices } => {
                Self::blaming(error.to_string(), text, name).with_choices(name, choices.clone())
            }
            PlanError::UnknownFunction { name, .. } => Self::blaming(error.to_string(), text, name),
            PlanError::Refused { name, .. } => Self::blaming(error.to_string(), text, name),
            _ => Self::new(error.to_string()),
        }
    }

    /// The error of DataFusion, placed in the text.
    pub(crate) fn from_datafusion(error: DataFusionError, text: &str) -> Self {
        match error {
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                Self::from_datafusion(*inner, text)
            }
            DataFusionError::Collection(errors) => match errors.into_iter().next() {
                Some(first) => Self::from_datafusion(first, text),
                None => Self::new("the statement cannot be planned"),
            },
            DataFusionError::SchemaError(error, _) => Self::from_schema(&error, text),
            DataFusionError::External(inner) => match inner.downcast::<PlanError>() {
                Ok(error) => Self::from_plan(*error, text),
                Err(other) => Self::new(other.to_string()),
            },
            DataFusionError::Plan(message) | DataFusionError::NotImplemented(message) => {
                Self::from_message(&message, text)
            }
            other => Self::from_message(&other.strip_backtrace(), text),
        }
    }

    fn from_schema(error: &SchemaError, text: &str) -> Self {
        match error {
            SchemaError::FieldNotFound { field, valid_fields } => {
                let choices: Vec<String> = valid_fields.iter().map(|column| column.name.clone()).collect();
                let message = format!(
                    "Column '{}' is not found. Existing columns: {}",
                    field.flat_name(),
                    choices.join(", ")
                );
                Self::blaming(message, text, &field.name).with_choices(&field.name, choices)
            }
            SchemaError::AmbiguousReference { field } => Self::blaming(
                format!("Column '{}' is ambiguous: say which table it belongs to", field.flat_name()),
                text,
                &field.name,
            ),
            other => Self::from_message(&other.to_string(), text),
        }
    }

    /// Messages quote the name that is to blame, mostly.
    fn from_message(message: &str, text: &str) -> Self {
        let message = &readable(message);
        let message = message.strip_prefix("Error during planning: ").unwrap_or(message).trim().to_owned();
        if let Some(name) =
            message.strip_prefix("Invalid function '").and_then(|rest| rest.split('\'').next())
        {
            let (name, near) = (name.to_owned(), crate::functions::near_names(name));
            return Self::blaming(format!("Function '{name}' is not found"), text, &name)
                .with_choices(&name, near);
        }
        let quoted = message.split('\'').nth(1).and_then(|name| find_name(text, name));
        match quoted {
            Some(position) => Self::at(message, text, position),
            None => Self::new(message),
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let Some(Position { line, column }) = self.position else { return Ok(()) };
        let label = format!("LINE {line}: ");
        let before: String = self
            .line
            .chars()
            .take(column.saturating_sub(1) as usize)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        write!(f, "\n{label}{}\n{:width$}{before}^", self.line, "", width = label.len())
    }
}

/// A message without the numbers by which plans tell relations apart: `a#3.k` is `a.k` to its reader.
pub(crate) fn readable(message: &str) -> String {
    let mut parts = message.split('#');
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == part.len() {
            words.push('#');
        }
        words.push_str(rest);
    }
    words
}

/// The first place where a name is used in a text, outside strings and comments.
pub(crate) fn find_name(text: &str, name: &str) -> Option<Position> {
    let wanted = name.rsplit('.').next().unwrap_or(name);
    let tokens = Tokenizer::new(&Tailrace, text).tokenize_with_location().ok()?;
    let same = |token: &Token| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(wanted));
    let token = tokens.iter().find(|token| same(&token.token))?;
    Some(Position { line: token.span.start.line, column: token.span.start.column })
}

/// The choice that needs the fewest edits, if it is near enough to be meant.
fn nearest<'a>(name: &str, choices: &'a [String]) -> Option<&'a str> {
    let wanted = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    let scored = choices.iter().map(|choice| (distance(&wanted, &choice.to_lowercase()), choice.as_str()));
    let (edits, best) = scored.min_by_key(|(edits, _)| *edits)?;
    (edits <= wanted.chars().count().div_ceil(3).max(1)).then_some(best)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let cost = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
