//! JSON texts: a reader that finds values without building them, paths, and the texts of values.
//!
//! A value is the stretch of text that it takes; looking into an object skips over what is not asked for. Nesting is bounded, so that no text can exhaust
//! the stack.

use std::fmt::Write;

/// How deeply values may nest.
const NESTING: usize = 512;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Number,
    Text,
    Array,
    Object,
}

/// One step into a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    /// Counted from zero, or from the end if negative.
    Item(i64),
}

/// The text of the only value in a text, without blanks around it; None if it is no JSON.
pub(crate) fn value(text: &str) -> Option<&str> {
    let start = blanks(text, 0);
    let end = skip(text, start, 0)?;
    (blanks(text, end) == text.len()).then(|| &text[start..end])
}

/// What a valid value is.
pub(crate) fn kind(value: &str) -> Kind {
    match value.as_bytes().first() {
        Some(b'n') | None => Kind::Null,
        Some(b't' | b'f') => Kind::Boolean,
        Some(b'"') => Kind::Text,
        Some(b'[') => Kind::Array,
        Some(b'{') => Kind::Object,
        Some(_) => Kind::Number,
    }
}

/// The value at the end of a path inside a valid value.
pub(crate) fn at<'a>(value: &'a str, path: &[Step]) -> Option<&'a str> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Member(name) => {
            // Of equal names the first counts.
            members(value).into_iter().find(|(key, _)| unquoted(key) == *name).map(|(_, value)| value)
        }
        Step::Item(place) => {
            let items = items(value);
            let place = if *place < 0 { items.len() as i64 + place } else { *place };
            usize::try_from(place).ok().and_then(|place| items.get(place).copied())
        }
    })
}

/// A path: `$.a[0]`, `/a/0` or the name of a member.
pub(crate) fn path(text: &str) -> Option<Vec<Step>> {
    if let Some(pointer) = text.strip_prefix('/') {
        let step = |part: &str| match part.parse::<i64>() {
            Ok(place) => Step::Item(place),
            Err(_) => Step::Member(part.replace("~1", "/").replace("~0", "~")),
        };
        return Some(pointer.split('/').map(step).collect());
    }
    let Some(mut rest) = text.strip_prefix('$') else { return Some(vec![Step::Member(text.to_owned())]) };
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(after) = rest.strip_prefix(".\"") {
            let end = after.find('"')?;
            (Step::Member(after[..end].to_owned()), &after[end + 1..])
        } else if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            (Step::Member(after[..end].to_owned()).filled()?, &after[end..])
        } else {
            let after = rest.strip_prefix('[')?;
            let end = after.find(']')?;
            let place = after[..end].strip_prefix('#').unwrap_or(&after[..end]);
            (Step::Item(place.parse().ok()?), &after[end + 1..])
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

impl Step {
    fn filled(self) -> Option<Self> {
        match &self {
            Self::Member(name) if name.is_empty() || name == "*" => None,
            _ => Some(self),
        }
    }
}

/// The items of an array.
pub(crate) fn items(value: &str) -> Vec<&str> {
    if kind(value) != Kind::Array {
        return Vec::new();
    }
    let (mut found, mut place) = (Vec::new(), blanks(value, 1));
    while let Some(end) = skip(value, place, 0) {
        found.push(&value[place..end]);
        place = blanks(value, end);
        if value.as_bytes().get(place) != Some(&b',') {
            break;
        }
        place = blanks(value, place + 1);
    }
    found
}

/// The members of an object: the quoted name and the value.
pub(crate) fn members(value: &str) -> Vec<(&str, &str)> {
    if kind(value) != Kind::Object {
        return Vec::new();
    }
    let (mut found, mut place) = (Vec::new(), blanks(value, 1));
    while let Some(end) = skip_text(value, place) {
        let colon = blanks(value, end);
        let start = blanks(value, colon + 1);
        let Some(stop) = skip(value, start, 0) else { break };
        found.push((&value[place..end], &value[start..stop]));
        place = blanks(value, stop);
        if value.as_bytes().get(place) != Some(&b',') {
            break;
        }
        place = blanks(value, place + 1);
    }
    found
}

/// A valid value without blanks.
pub(crate) fn compact(value: &str) -> String {
    let (mut out, mut place) = (String::with_capacity(value.len()), 0);
    while place < value.len() {
        if value.as_bytes()[place] == b'"' {
            let end = skip_text(value, place).unwrap_or(value.len());
            out.push_str(&value[place..end]);
            place = end;
        } else {
            let c = value.as_bytes()[place] as char;
            if !c.is_ascii_whitespace() {
                out.push(c);
            }
            place += 1;
        }
    }
    out
}

/// The letters of a quoted text.
pub(crate) fn unquoted(quoted: &str) -> String {
    let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(quoted);
    if !inner.contains('\\') {
        return inner.to_owned();
    }
    let (mut out, mut letters) = (String::with_capacity(inner.len()), inner.chars());
    while let Some(c) = letters.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => out.push(escaped_letter(&mut letters)),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

/// `00e9` or, for letters beyond the first plane, `d83d\ude00`.
fn escaped_letter(letters: &mut std::str::Chars<'_>) -> char {
    let code = |letters: &mut std::str::Chars<'_>| {
        let digits: String = letters.take(4).collect();
        u32::from_str_radix(&digits, 16).unwrap_or(0xfffd)
    };
    let high = code(letters);
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high).unwrap_or('\u{fffd}');
    }
    let mut ahead = letters.clone();
    if ahead.next() == Some('\\') && ahead.next() == Some('u') {
        let low = code(&mut ahead);
        if (0xdc00..0xe000).contains(&low) {
            *letters = ahead;
            return char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).unwrap_or('\u{fffd}');
        }
    }
    '\u{fffd}'
}

/// A text with quotes around it.
pub(crate) fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn blanks(text: &str, mut place: usize) -> usize {
    while text.as_bytes().get(place).is_some_and(u8::is_ascii_whitespace) {
        place += 1;
    }
    place
}

/// Where the value that starts here ends.
fn skip(text: &str, place: usize, depth: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    match *bytes.get(place)? {
        b'"' => skip_text(text, place),
        b'[' | b'{' if depth >= NESTING => None,
        b'[' => {
            let mut next = blanks(text, place + 1);
            if bytes.get(next) == Some(&b']') {
                return Some(next + 1);
            }
            loop {
                next = blanks(text, skip(text, next, depth + 1)?);
                match bytes.get(next)? {
                    b',' => next = blanks(text, next + 1),
                    b']' => return Some(next + 1),
                    _ => return None,
                }
            }
        }
        b'{' => {
            let mut next = blanks(text, place + 1);
            if bytes.get(next) == Some(&b'}') {
                return Some(next + 1);
            }
            loop {
                next = blanks(text, skip_text(text, next)?);
                if bytes.get(next) != Some(&b':') {
                    return None;
                }
                next = blanks(text, skip(text, blanks(text, next + 1), depth + 1)?);
                match bytes.get(next)? {
                    b',' => next = blanks(text, next + 1),
                    b'}' => return Some(next + 1),
                    _ => return None,
                }
            }
        }
        b't' => text[place..].starts_with("true").then_some(place + 4),
        b'f' => text[place..].starts_with("false").then_some(place + 5),
        b'n' => text[place..].starts_with("null").then_some(place + 4),
        _ => skip_number(bytes, place),
    }
}

fn skip_text(text: &str, place: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(place) != Some(&b'"') {
        return None;
    }
    let mut next = place + 1;
    loop {
        match *bytes.get(next)? {
            b'"' => return Some(next + 1),
            b'\\' => {
                let escape = *bytes.get(next + 1)?;
                if !b"\"\\/bfnrtu".contains(&escape) {
                    return None;
                }
                next += 2;
            }
            byte if byte < 0x20 => return None,
            _ => next += 1,
        }
    }
}

fn skip_number(bytes: &[u8], place: usize) -> Option<usize> {
    let digits = |mut next: usize| {
        let start = next;
        while bytes.get(next).is_some_and(u8::is_ascii_digit) {
            next += 1;
        }
        (next > start).then_some(next)
    };
    let start = if bytes.get(place) == Some(&b'-') { place + 1 } else { place };
    let mut next = digits(start)?;
    if bytes[start] == b'0' && next > start + 1 {
        return None;
    }
    if bytes.get(next) == Some(&b'.') {
        next = digits(next + 1)?;
    }
    if matches!(bytes.get(next), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(next + 1), Some(b'+' | b'-')));
        next = digits(next + 1 + sign)?;
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_values() {
        let text = r#" {"a": [1, {"b": "x\"y"}], "c d": null, "é": "\u00e9\ud83d\ude00"} "#;
        let whole = value(text).unwrap();
        let get = |steps: &str| at(whole, &path(steps).unwrap()).map(compact);
        assert_eq!(get("$.a[1].b").as_deref(), Some(r#""x\"y""#));
        assert_eq!(get("/a/0").as_deref(), Some("1"));
        assert_eq!(get("$.a[#-1]").as_deref(), Some(r#"{"b":"x\"y"}"#));
        assert_eq!(get("$.\"c d\"").as_deref(), Some("null"));
        assert_eq!(get("é").map(|text| unquoted(&text)).as_deref(), Some("é😀"));
        assert_eq!(get("$.nope"), None);
        assert_eq!(path("$.*"), None);
    }

    #[test]
    fn what_is_no_json_is_not_read() {
        for text in ["", "{", "[1,]", "01", "tru", "{\"a\"}", "\"\u{1}\"", "1 2", &"[".repeat(100_000)] {
            assert_eq!(value(text), None, "{:.20}", text);
        }
        assert!(value(&("[".repeat(500) + &"]".repeat(500))).is_some());
    }
}
