//! Where manifests lie: one file for each version, in a directory of their own.

use std::sync::Arc;

use super::archive::{decode, encode};
use super::{Manifest, ManifestError, Version};
use crate::{Backend, FileName};

const DIRECTORY: &str = "manifest";
const SUFFIX: &str = ".manifest";

/// The checkpoints of a database.
#[derive(Clone, Debug)]
pub struct ManifestStore {
    backend: Arc<dyn Backend>,
}

impl ManifestStore {
    /// The checkpoints in a backend.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend }
    }

    /// All versions, oldest first.
    pub fn versions(&self) -> Result<Vec<Version>, ManifestError> {
        let files = self.backend.list(DIRECTORY)?;
        let mut versions: Vec<Version> = files.iter().filter_map(|file| version_of(&file.name)).collect();
        versions.sort();
        Ok(versions)
    }

    /// The newest checkpoint; none if there is none. A newest one that cannot be read is an error: an older one would be a wrong answer.
    pub fn latest(&self) -> Result<Option<Manifest>, ManifestError> {
        let newest = self.versions()?.pop();
        newest.map(|version| self.read(version)).transpose()
    }

    /// The checkpoint of a version.
    pub fn open(&self, version: Version) -> Result<Manifest, ManifestError> {
        match self.read(version) {
            Err(ManifestError::Backend(error)) if error.is_not_found() => {
                Err(ManifestError::NoVersion { version, existing: self.versions()? })
            }
            manifest => manifest,
        }
    }

    /// All checkpoints, oldest first.
    pub fn all(&self) -> Result<Vec<Manifest>, ManifestError> {
        self.versions()?.into_iter().map(|version| self.read(version)).collect()
    }

    /// Commits a checkpoint. When this returns, it is the newest one, also after the loss of power. Its version must be greater than all before.
    pub fn commit(&self, manifest: &Manifest) -> Result<(), ManifestError> {
        let version = manifest.version;
        if let Some(newest) = self.versions()?.pop().filter(|newest| *newest >= version) {
            return Err(ManifestError::Overtaken { version, newest });
        }
        let name = name_of(version)?;
        let mut sorted = manifest.clone();
        sorted.files.sort();
        sorted.files.dedup();
        let bytes = encode(&name, &sorted)?;
        // What was written must be readable: a name twice with different content is found here, not when it is needed.
        decode(&name, &bytes)?;
        let mut file = self.backend.create(&name)?;
        file.write(&bytes)?;
        Ok(file.finish()?)
    }

    /// Forgets a checkpoint. Its files stay until garbage is collected.
    pub fn forget(&self, version: Version) -> Result<(), ManifestError> {
        Ok(self.backend.remove(&name_of(version)?)?)
    }

    fn read(&self, version: Version) -> Result<Manifest, ManifestError> {
        let name = name_of(version)?;
        let file = self.backend.open(&name)?;
        let mut bytes = vec![0; file.bytes() as usize];
        file.read_at(0, &mut bytes)?;
        let manifest = decode(&name, &bytes)?;
        if manifest.version != version {
            let reason = format!("it holds checkpoint {}", manifest.version);
            return Err(ManifestError::Malformed { file: name.to_string(), reason });
        }
        Ok(manifest)
    }
}

/// Twenty digits, so that names sort as numbers do.
fn name_of(version: Version) -> Result<FileName, ManifestError> {
    let name = format!("{DIRECTORY}/{:020}{SUFFIX}", version.0);
    FileName::new(&name).map_err(|source| ManifestError::Name { file: name, source })
}

fn version_of(name: &FileName) -> Option<Version> {
    let digits = name.file().strip_suffix(SUFFIX).filter(|digits| digits.len() == 20)?;
    Some(Version(digits.parse().ok()?))
}
