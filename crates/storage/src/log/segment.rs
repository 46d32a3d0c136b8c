//! The segments of a log: their names, and which of them are no longer needed.

use super::{LogError, Sequence};
use crate::{Backend, FileName};

const DIRECTORY: &str = "log";
const SUFFIX: &str = ".log";

/// The segment that begins with a record. Twenty digits, so that names sort as numbers do.
pub(crate) fn name_of(first: Sequence) -> Result<FileName, LogError> {
    Ok(FileName::new(&format!("{DIRECTORY}/{:020}{SUFFIX}", first.0))?)
}

/// The first records of all segments, in order.
pub(crate) fn segments(backend: &dyn Backend) -> Result<Vec<Sequence>, LogError> {
    let files = backend.list(DIRECTORY)?;
    let mut segments: Vec<Sequence> = files.iter().filter_map(|file| first_of(&file.name)).collect();
    segments.sort();
    Ok(segments)
}

/// Removes the segments that hold only records before `before`; tells how many. The newest one stays, so that numbers go on.
pub fn trim(backend: &dyn Backend, before: Sequence) -> Result<usize, LogError> {
    let old = needless(&segments(backend)?, before);
    for segment in &old {
        backend.remove(&name_of(*segment)?)?;
    }
    Ok(old.len())
}

/// Of segments in order, those that end before `before`: a segment ends where the next one begins.
fn needless(segments: &[Sequence], before: Sequence) -> Vec<Sequence> {
    segments.windows(2).filter(|pair| pair[1] <= before).map(|pair| pair[0]).collect()
}

fn first_of(name: &FileName) -> Option<Sequence> {
    let digits = name.file().strip_suffix(SUFFIX).filter(|digits| digits.len() == 20)?;
    Some(Sequence(digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_go_when_all_their_records_may() {
        let segments = [0, 10, 20].map(Sequence);
        let check = |before, expected: &[u64]| {
            let expected: Vec<Sequence> = expected.iter().map(|first| Sequence(*first)).collect();
            assert_eq!(needless(&segments, Sequence(before)), expected);
        };
        check(0, &[]);
        check(9, &[]);
        check(10, &[0]);
        check(25, &[0, 10]);
    }
}
