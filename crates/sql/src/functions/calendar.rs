//! The proleptic Gregorian calendar: days since 1970-01-01 and the year, month and day that they are, for all years that fit.
//!
//! Years are counted from March, so that the leap day is the last day of a year; a span of 400 years always has the same number of days.

/// Microseconds of a day.
pub(crate) const DAY: i64 = 86_400_000_000;

const SPAN_DAYS: i64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// The day of a date; None for a month or day that does not exist.
pub(crate) fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    let shifted = if month <= 2 { year.checked_sub(1)? } else { year };
    let (span, in_span) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = in_span * 365 + in_span / 4 - in_span / 100 + in_year;
    span.checked_mul(SPAN_DAYS)?.checked_add(days - EPOCH)
}

/// The year, month and day of a day.
pub(crate) fn date_of(day: i64) -> (i64, i64, i64) {
    let shifted = day + EPOCH;
    let (span, in_span) = (shifted.div_euclid(SPAN_DAYS), shifted.rem_euclid(SPAN_DAYS));
    let year = (in_span - in_span / 1_460 + in_span / 36_524 - in_span / 146_096) / 365;
    let in_year = in_span - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (span * 400 + year + i64::from(month <= 2), month, day)
}

/// How many days a month has.
pub(crate) fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A day so many months later; one that the month does not have becomes its last.
pub(crate) fn months_later(day: i64, months: i64) -> Option<i64> {
    let (year, month, date) = date_of(day);
    let total = year.checked_mul(12)?.checked_add(month - 1)?.checked_add(months)?;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    day_of(year, month, date.min(days_in(year, month)))
}

/// The day of the week, Sunday first.
pub(crate) fn weekday(day: i64) -> i64 {
    (day + 4).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prop_a_day_is_the_day_of_its_date() {
        for day in (-800_000..800_000).step_by(7).chain([-1, 0, 59, 60, 11_016, 19_782]) {
            let (year, month, date) = date_of(day);
            assert_eq!(day_of(year, month, date), Some(day), "{year}-{month}-{date}");
        }
        assert_eq!(date_of(19_782), (2024, 2, 29));
        assert_eq!((weekday(0), weekday(-1)), (4, 3));
    }

    #[test]
    fn a_date_that_does_not_exist_has_no_day() {
        assert_eq!(day_of(2023, 2, 29), None);
        assert_eq!(day_of(2023, 13, 1), None);
        assert_eq!(months_later(19_753, 1).map(date_of), Some((2024, 2, 29)));
    }
}
