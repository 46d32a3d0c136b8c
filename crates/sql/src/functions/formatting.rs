//! Patterns of `format` (`{}`, `{:.2f}`) and `printf` (`%d`, `%.2f`), filled with the values of a row.

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use datafusion_common::Result;

use super::rows::{float_at, integer_at, text, text_at, wrong};
use super::spelling;

/// One value of a row.
enum Argument {
    Integer(i64),
    Float(f64),
    Text(String),
}

/// How a value is written.
#[derive(Default)]
struct Style {
    left: bool,
    zeros: bool,
    plus: bool,
    grouped: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

/// Fills `{}`; NULL if a value is.
pub(crate) fn braces(pattern: &str, args: &[ArrayRef], row: usize) -> Result<Option<String>> {
    let (mut out, mut rest, mut next) = (String::new(), pattern, 0);
    while let Some(place) = rest.find(['{', '}']) {
        out.push_str(&rest[..place]);
        let mark = rest.as_bytes()[place];
        rest = &rest[place + 1..];
        if rest.as_bytes().first() == Some(&mark) {
            out.push(mark as char);
            rest = &rest[1..];
            continue;
        }
        let end = rest.find('}').filter(|_| mark == b'{');
        let end = end.ok_or_else(|| wrong(format!("'{pattern}' has a brace without its other one")))?;
        let (number, style) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
        let index = if number.is_empty() { next } else { number.parse().unwrap_or(usize::MAX) };
        next += 1;
        let Some(value) = argument(args, index, row, pattern)? else { return Ok(None) };
        out.push_str(&styled(&value, &style_of(style)));
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(Some(out))
}

/// Fills `%d` and its kin; NULL if a value is.
pub(crate) fn percents(pattern: &str, args: &[ArrayRef], row: usize) -> Result<Option<String>> {
    let (mut out, mut rest, mut next) = (String::new(), pattern, 0);
    while let Some(place) = rest.find('%') {
        out.push_str(&rest[..place]);
        rest = &rest[place + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let end = rest.find(|c: char| c.is_ascii_alphabetic() && c != 'l');
        let end = end.ok_or_else(|| wrong(format!("'{pattern}' ends in the middle of a %")))?;
        let Some(value) = argument(args, next, row, pattern)? else { return Ok(None) };
        next += 1;
        out.push_str(&styled(&value, &style_of(&rest[..=end].replace('l', ""))));
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Ok(Some(out))
}

fn argument(args: &[ArrayRef], index: usize, row: usize, pattern: &str) -> Result<Option<Argument>> {
    let Some(column) = args.get(index) else {
        return Err(wrong(format!("'{pattern}' asks for more than the {} value(s) given", args.len())));
    };
    Ok(match column.data_type() {
        DataType::Int64 => integer_at(column, row).map(Argument::Integer),
        DataType::Float64 => float_at(column, row).map(Argument::Float),
        _ => text_at(text(column), row).map(|text| Argument::Text(text.to_owned())),
    })
}

fn style_of(text: &str) -> Style {
    let mut style = Style::default();
    let mut letters = text.chars().peekable();
    while let Some(flag) = letters.next_if(|c| "<>-+0, #'^".contains(*c)) {
        match flag {
            '-' | '<' => style.left = true,
            '0' => style.zeros = true,
            '+' => style.plus = true,
            ',' | '\'' => style.grouped = true,
            _ => {}
        }
    }
    let mut digits = String::new();
    while let Some(digit) = letters.next_if(char::is_ascii_digit) {
        digits.push(digit);
    }
    // A wider field than this is a mistake, and would take memory that no one has written.
    style.width = digits.parse::<usize>().unwrap_or(0).min(1 << 16);
    if letters.next_if(|c| *c == ',').is_some() {
        style.grouped = true;
    }
    if letters.next_if(|c| *c == '.').is_some() {
        let mut digits = String::new();
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        style.precision = Some(digits.parse::<usize>().unwrap_or(0).min(1 << 10));
    }
    style.kind = letters.next().unwrap_or(' ');
    style
}

fn styled(value: &Argument, style: &Style) -> String {
    let mut body = match (value, style.kind) {
        (Argument::Integer(value), 'x') => format!("{value:x}"),
        (Argument::Integer(value), 'X') => format!("{value:X}"),
        (Argument::Integer(value), 'o') => format!("{value:o}"),
        (Argument::Integer(value), 'b') => format!("{value:b}"),
        (Argument::Integer(value), 'c') => {
            u32::try_from(*value).ok().and_then(char::from_u32).map_or_else(String::new, String::from)
        }
        (Argument::Integer(value), 'f' | 'e' | 'g') => float(*value as f64, style),
        (Argument::Integer(value), _) => value.to_string(),
        (Argument::Float(value), 'd' | 'i') => format!("{:.0}", value.trunc()),
        (Argument::Float(value), _) => float(*value, style),
        (Argument::Text(value), _) => match style.precision {
            Some(most) => value.chars().take(most).collect(),
            None => value.clone(),
        },
    };
    let is_text = matches!(value, Argument::Text(_));
    if style.grouped {
        body = grouped(&body);
    }
    if style.plus && !is_text && !body.starts_with('-') {
        body.insert(0, '+');
    }
    padded(body, style, is_text)
}

fn float(value: f64, style: &Style) -> String {
    match (style.kind, style.precision) {
        ('e' | 'E', precision) => {
            let text = format!("{value:.*e}", precision.unwrap_or(6));
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        ('f' | 'F', precision) => format!("{value:.*}", precision.unwrap_or(6)),
        (_, Some(precision)) => format!("{value:.precision$}"),
        (_, None) => spelling::float(value),
    }
}

/// A comma before every three digits of the whole part.
fn grouped(body: &str) -> String {
    let (sign, digits) = body.strip_prefix('-').map_or(("", body), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(a, b)| (a, Some(b)));
    let mut out = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    fraction.into_iter().for_each(|fraction| out.push_str(&format!(".{fraction}")));
    out
}

fn padded(body: String, style: &Style, is_text: bool) -> String {
    let missing = style.width.saturating_sub(body.chars().count());
    if missing == 0 {
        return body;
    }
    if style.zeros && !style.left && !is_text {
        let (sign, digits) = match body.strip_prefix(['-', '+']) {
            Some(digits) => (&body[..1], digits),
            None => ("", body.as_str()),
        };
        return format!("{sign}{}{digits}", "0".repeat(missing));
    }
    if style.left { body + &" ".repeat(missing) } else { " ".repeat(missing) + &body }
}
