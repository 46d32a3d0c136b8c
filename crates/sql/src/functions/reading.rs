//! Texts read as values of other types, as `CAST('...' AS type)` does. Blanks around a value do not matter.

use arrow_array::types::IntervalMonthDayNano;

use super::calendar::{DAY, day_of};

/// An integer; digits behind a point round half away from zero.
pub(crate) fn integer(text: &str) -> Option<i128> {
    let text = text.trim();
    if let Ok(value) = text.parse::<i128>() {
        return Some(value);
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = match mantissa.as_bytes().first()? {
        b'-' => (true, &mantissa[1..]),
        b'+' => (false, &mantissa[1..]),
        _ => (false, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all: String = [whole, fraction].concat();
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let keep = whole.len() as i64 + i64::from(exponent);
    let value = rounded_digits(&all, keep)?;
    Some(if negative { -value } else { value })
}

/// A decimal as the integer that it is with so many digits behind the point; more digits round half away from zero.
pub(crate) fn scaled(text: &str, scale: i32) -> Option<i128> {
    let text = text.trim();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    integer(&format!("{mantissa}e{}", exponent.checked_add(scale)?))
}

/// The number of the first `keep` digits, rounded by the digit behind them.
fn rounded_digits(digits: &str, keep: i64) -> Option<i128> {
    if keep < 0 {
        return Some(0);
    }
    let keep = usize::try_from(keep).ok().filter(|keep| *keep <= 60)?;
    let kept: String = digits.chars().chain(std::iter::repeat('0')).take(keep).collect();
    let value = if kept.is_empty() { 0 } else { kept.parse::<i128>().ok()? };
    let up = digits.as_bytes().get(keep).is_some_and(|digit| *digit >= b'5');
    value.checked_add(i128::from(up))
}

/// A float.
pub(crate) fn float(text: &str) -> Option<f64> {
    let text = text.trim();
    let named = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    if matches!(named.as_str(), "inf" | "infinity" | "nan") || text.bytes().any(|byte| byte.is_ascii_digit())
    {
        return text.parse().ok();
    }
    None
}

/// A truth.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// The day of a date: `2024-2-29`, also with `/` between the parts; a time behind it is cut off.
pub(crate) fn date(text: &str) -> Option<i64> {
    let (day, rest) = leading_date(text.trim())?;
    if rest.is_empty() { Some(day) } else { timestamp(text).map(|at| at.div_euclid(DAY)) }
}

/// The microseconds of a timestamp; an offset of a zone is taken off.
pub(crate) fn timestamp(text: &str) -> Option<i64> {
    let (day, rest) = leading_date(text.trim())?;
    let start = day.checked_mul(DAY)?;
    let rest = match rest.as_bytes().first() {
        None => return Some(start),
        Some(b' ' | b'T' | b't') => rest[1..].trim_start(),
        Some(_) => return None,
    };
    let (clock, zone) = zone(rest)?;
    start.checked_add(time(clock)?)?.checked_sub(zone)
}

/// The microseconds of a time of day: hours and minutes, with seconds and a fraction.
pub(crate) fn time(text: &str) -> Option<i64> {
    let mut parts = text.trim().split(':');
    let hour = small(parts.next()?)?;
    let minute = small(parts.next()?)?;
    let (second, micros) = match parts.next() {
        None => (0, 0),
        Some(part) => {
            let (whole, fraction) = part.split_once('.').unwrap_or((part, ""));
            (small(whole)?, fraction_micros(fraction)?)
        }
    };
    let valid = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    let midnight = hour == 24 && minute == 0 && second == 0 && micros == 0;
    (valid || midnight).then_some(((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

/// A year, month and day, and what follows them.
fn leading_date(text: &str) -> Option<(i64, &str)> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text),
    };
    let separator = body.find(|c: char| !c.is_ascii_digit())?;
    let mark = body.as_bytes().get(separator).copied().filter(|mark| matches!(mark, b'-' | b'/'))?;
    let (year, rest) = (body[..separator].parse::<i64>().ok()?, &body[separator + 1..]);
    let separator = rest.find(mark as char)?;
    let (month, rest) = (small(&rest[..separator])?, &rest[separator + 1..]);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let day = small(&rest[..end])?;
    Some((day_of(if negative { -year } else { year }, month, day)?, &rest[end..]))
}

/// A clock time and the offset of its zone in microseconds.
fn zone(text: &str) -> Option<(&str, i64)> {
    let text = text.trim_end();
    if let Some(clock) = text.strip_suffix(['Z', 'z']).or_else(|| text.strip_suffix("UTC")) {
        return Some((clock.trim_end(), 0));
    }
    let Some(place) = text.rfind(['+', '-']) else { return Some((text, 0)) };
    let (clock, offset) = (text[..place].trim_end(), &text[place + 1..]);
    let (hours, minutes) = match offset.split_once(':') {
        Some((hours, minutes)) => (small(hours)?, small(minutes)?),
        None if offset.len() == 4 => (small(&offset[..2])?, small(&offset[2..])?),
        None => (small(offset)?, 0),
    };
    let micros = (hours * 60 + minutes) * 60_000_000;
    Some((clock, if text.as_bytes()[place] == b'-' { -micros } else { micros }))
}

/// One or two digits.
fn small(text: &str) -> Option<i64> {
    ((1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn fraction_micros(digits: &str) -> Option<i64> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let six: String = digits.chars().chain(std::iter::repeat('0')).take(6).collect();
    six.parse().ok()
}

/// An interval: `1 year 2 months`, `3 days 04:05:06.5`, `-1 week ago`.
pub(crate) fn interval(text: &str) -> Option<IntervalMonthDayNano> {
    let lower = text.trim().to_ascii_lowercase();
    let (body, ago) = match lower.strip_suffix("ago") {
        Some(body) => (body.trim_end(), true),
        None => (lower.as_str(), false),
    };
    let spaced = spaced(body);
    let mut words = spaced.split_whitespace().peekable();
    let mut total = Span::default();
    words.peek()?;
    while let Some(word) = words.next() {
        if word.contains(':') {
            total.add_clock(word)?;
            continue;
        }
        let amount = word.parse::<f64>().ok()?;
        total.add(amount, words.next().unwrap_or("second"))?;
    }
    total.finish(ago)
}

/// A blank between every number and the unit behind it.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = ' ';
    for c in text.chars() {
        if c.is_ascii_alphabetic() && (before.is_ascii_digit() || before == '.') {
            out.push(' ');
        }
        out.push(c);
        before = c;
    }
    out
}

#[derive(Default)]
struct Span {
    months: f64,
    days: f64,
    nanos: f64,
}

impl Span {
    /// Parts of a month are days, parts of a day are time.
    fn add(&mut self, amount: f64, unit: &str) -> Option<()> {
        let unit = unit.trim_end_matches(',');
        let (months, days, nanos) = match unit.strip_suffix('s').filter(|unit| unit.len() > 1).unwrap_or(unit)
        {
            "millennium" | "millennia" | "mil" => (12_000.0, 0.0, 0.0),
            "century" | "centurie" | "c" | "cent" => (1_200.0, 0.0, 0.0),
            "decade" | "dec" => (120.0, 0.0, 0.0),
            "year" | "y" | "yr" => (12.0, 0.0, 0.0),
            "quarter" => (3.0, 0.0, 0.0),
            "month" | "mon" => (1.0, 0.0, 0.0),
            "week" | "w" => (0.0, 7.0, 0.0),
            "day" | "d" => (0.0, 1.0, 0.0),
            "hour" | "h" | "hr" => (0.0, 0.0, 3.6e12),
            "minute" | "min" | "m" => (0.0, 0.0, 6e10),
            "second" | "sec" | "s" => (0.0, 0.0, 1e9),
            "millisecond" | "ms" | "msec" | "m_" => (0.0, 0.0, 1e6),
            "microsecond" | "us" | "u" | "usec" => (0.0, 0.0, 1e3),
            "nanosecond" | "ns" => (0.0, 0.0, 1.0),
            _ => return None,
        };
        let whole_months = (amount * months).trunc();
        let part_days = (amount * months - whole_months) * 30.0 + amount * days;
        self.months += whole_months;
        self.days += part_days.trunc();
        self.nanos += (part_days - part_days.trunc()) * 8.64e13 + amount * nanos;
        Some(())
    }

    fn add_clock(&mut self, word: &str) -> Option<()> {
        let (negative, body) = match word.strip_prefix('-') {
            Some(body) => (true, body),
            None => (false, word.trim_start_matches('+')),
        };
        let mut parts = body.split(':');
        let hours = parts.next()?.parse::<u32>().ok()?;
        let minutes = parts.next()?.parse::<u32>().ok()?;
        let seconds = parts.next().map_or(Some(0.0), |part| part.parse::<f64>().ok())?;
        let nanos = (f64::from(hours) * 3600.0 + f64::from(minutes) * 60.0) * 1e9 + (seconds * 1e9).round();
        self.nanos += if negative { -nanos } else { nanos };
        parts.next().is_none().then_some(())
    }

    fn finish(self, ago: bool) -> Option<IntervalMonthDayNano> {
        let sign = if ago { -1.0 } else { 1.0 };
        let fits = |value: f64, most: f64| value.is_finite() && value.abs() <= most;
        let (months, days, nanos) = (self.months * sign, self.days * sign, (self.nanos * sign).round());
        let valid =
            fits(months, f64::from(i32::MAX)) && fits(days, f64::from(i32::MAX)) && fits(nanos, 9.2e18);
        valid.then(|| IntervalMonthDayNano::new(months as i32, days as i32, nanos as i64))
    }
}

/// The 16 bytes of a UUID.
pub(crate) fn uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim();
    let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b'-')
        .map(|byte| (byte as char).to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    if digits.len() != 32 {
        return None;
    }
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digits.chunks(2)).for_each(|(byte, pair)| *byte = pair[0] << 4 | pair[1]);
    Some(bytes)
}

/// The bytes of a text; `\xAB` is one byte.
pub(crate) fn blob(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..place]);
        let code = rest[place..].strip_prefix("\\x")?.get(..2)?;
        out.push(u8::from_str_radix(code, 16).ok()?);
        rest = &rest[place + 4..];
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_round_half_away() {
        let cases = [
            ("12", Some(12)),
            (" -3 ", Some(-3)),
            ("2.5", Some(3)),
            ("-2.5", Some(-3)),
            ("1e3", Some(1000)),
            ("4.4e-1", Some(0)),
            ("", None),
            ("x", None),
            ("1x", None),
            (".", None),
        ];
        for (text, value) in cases {
            assert_eq!(integer(text), value, "{text}");
        }
    }

    #[test]
    fn decimals_have_exponents() {
        assert_eq!(scaled("1.25", 1), Some(13));
        assert_eq!(scaled(" -1.25 ", 1), Some(-13));
        assert_eq!(scaled("1e2", 2), Some(10_000));
        assert_eq!(scaled("7", 0), Some(7));
        assert_eq!(scaled("", 2), None);
        assert_eq!(scaled("1x", 2), None);
    }

    #[test]
    fn times_have_zones_and_fractions() {
        assert_eq!(timestamp("1970-01-01 00:00:01.5"), Some(1_500_000));
        assert_eq!(timestamp("1970-01-01T02:00:00+02"), Some(0));
        assert_eq!(timestamp("1970-1-2"), Some(DAY));
        assert_eq!(timestamp("1970-01-01 10:20"), Some(37_200_000_000));
        assert_eq!(timestamp("1970-13-01"), None);
        assert_eq!(date("2024-02-30"), None);
    }

    #[test]
    fn intervals_mix_units_and_clock_times() {
        let read = |text: &str| interval(text).map(|span| (span.months, span.days, span.nanoseconds));
        assert_eq!(read("1 year 2 mons 3 days"), Some((14, 3, 0)));
        assert_eq!(read("1 day 02:03:04"), Some((0, 1, 7_384_000_000_000)));
        assert_eq!(read("1.5 months"), Some((1, 15, 0)));
        assert_eq!(read("2 weeks ago"), Some((0, -14, 0)));
        assert_eq!(read("1 parsec"), None);
        assert_eq!(read(""), None);
    }
}
