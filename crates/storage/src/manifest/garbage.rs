//! Garbage: which checkpoints are to be forgotten and which files nobody needs, as a pure function; and the worker that removes them.
//!
//! The order is what makes a crash in between harmless. Manifests go first, oldest first; then the files that no manifest that stays names. At no
//! moment does a manifest name a file that is gone. Files that are being written, or that a reader still has open, are handed in as `used`.

use std::collections::BTreeSet;

use super::{Manifest, ManifestError, ManifestStore, Version};
use crate::{Backend, FileName, Listed};

/// What can be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Checkpoints, oldest first.
    pub versions: Vec<Version>,
    /// Files.
    pub files: Vec<FileName>,
}

/// Chooses what to remove when the newest `keep` checkpoints stay, and those in `pinned`.
pub fn garbage(
    manifests: &[Manifest],
    listed: &[Listed],
    keep: usize,
    pinned: &BTreeSet<Version>,
    used: &BTreeSet<FileName>,
) -> Garbage {
    let mut newest: Vec<&Manifest> = manifests.iter().collect();
    newest.sort_by_key(|manifest| std::cmp::Reverse(manifest.version));
    let (first, rest) = newest.split_at(keep.max(1).min(newest.len()));
    let (held, gone): (Vec<&Manifest>, Vec<&Manifest>) =
        rest.iter().partition(|manifest| pinned.contains(&manifest.version));
    let named: BTreeSet<&FileName> =
        first.iter().chain(&held).flat_map(|manifest| &manifest.files).map(|file| &file.name).collect();
    let unused =
        listed.iter().map(|file| &file.name).filter(|name| !named.contains(name) && !used.contains(*name));
    Garbage {
        versions: gone.iter().rev().map(|manifest| manifest.version).collect(),
        files: unused.cloned().collect(),
    }
}

/// Removes what was chosen; tells how many files are gone. What is gone already is no error, since a collection may have been cut off before.
pub fn collect(
    backend: &dyn Backend,
    manifests: &ManifestStore,
    garbage: &Garbage,
) -> Result<usize, ManifestError> {
    for version in &garbage.versions {
        match manifests.forget(*version) {
            Err(ManifestError::Backend(error)) if error.is_not_found() => {}
            forgotten => forgotten?,
        }
    }
    let mut removed = 0;
    for file in &garbage.files {
        match backend.remove(file) {
            Err(error) if error.is_not_found() => {}
            done => {
                done?;
                removed += 1;
            }
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checksum, FileSummary};

    fn file(number: u64) -> FileName {
        FileName::new(&format!("batch/{number}")).unwrap()
    }

    fn manifest(version: u64, files: &[u64]) -> Manifest {
        let summary =
            |number: &u64| FileSummary { name: file(*number), bytes: 1, rows: 1, checksum: Checksum(0) };
        let files = files.iter().map(summary).collect();
        Manifest { version: Version(version), files, ..Manifest::default() }
    }

    fn listed(files: &[u64]) -> Vec<Listed> {
        files.iter().map(|number| Listed { name: file(*number), bytes: 1 }).collect()
    }

    fn check(keep: usize, pinned: &[u64], used: &[u64], versions: &[u64], files: &[u64]) {
        let manifests = [manifest(1, &[1, 2]), manifest(2, &[2, 3]), manifest(3, &[3, 4])];
        let pinned = pinned.iter().map(|version| Version(*version)).collect();
        let used = used.iter().map(|number| file(*number)).collect();
        let found = garbage(&manifests, &listed(&[1, 2, 3, 4, 5]), keep, &pinned, &used);
        let expected = Garbage {
            versions: versions.iter().map(|version| Version(*version)).collect(),
            files: files.iter().map(|number| file(*number)).collect(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn files_go_when_no_checkpoint_that_stays_names_them() {
        check(3, &[], &[], &[], &[5]);
        check(2, &[], &[], &[1], &[1, 5]);
        check(1, &[], &[], &[1, 2], &[1, 2, 5]);
        check(9, &[], &[], &[], &[5]);
    }

    #[test]
    fn the_newest_pinned_ones_and_files_in_use_stay() {
        check(0, &[], &[], &[1, 2], &[1, 2, 5]);
        check(1, &[1], &[], &[2], &[5]);
        check(1, &[], &[5, 1], &[1, 2], &[2]);
    }
}
