//! The bytes of a manifest: a frame of 32 bytes (magic, version, checksum, length), then an rkyv archive. These definitions are the format.

use rkyv::rancor::Error;
use rkyv::util::AlignedVec;
use rkyv::{Archive, Serialize};

use super::{Manifest, ManifestError, Version};
use crate::{Checksum, FileName, FileSummary, Sequence};

const FRAME: usize = 32;
const FORMAT: u32 = 1;
const MAGIC: &[u8; 8] = b"TLRMANIF";

#[derive(Archive, Serialize)]
struct StoredFile {
    name: String,
    bytes: u64,
    rows: u64,
    checksum: u32,
}

#[derive(Archive, Serialize)]
struct StoredManifest {
    version: u64,
    created: u64,
    replay_from: u64,
    files: Vec<StoredFile>,
    extra: Vec<u8>,
}

/// The bytes of a manifest.
pub(crate) fn encode(file: &FileName, manifest: &Manifest) -> Result<Vec<u8>, ManifestError> {
    let stored = StoredManifest {
        version: manifest.version.0,
        created: manifest.created,
        replay_from: manifest.replay_from.0,
        files: manifest.files.iter().map(stored_file).collect(),
        extra: manifest.extra.clone(),
    };
    let archived = rkyv::to_bytes::<Error>(&stored).map_err(|error| malformed(file, error.to_string()))?;
    let mut bytes = Vec::with_capacity(FRAME + archived.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(archived.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    let checksum = checksum(&bytes, &archived);
    bytes[12..16].copy_from_slice(&checksum.0.to_le_bytes());
    bytes.extend_from_slice(&archived);
    Ok(bytes)
}

/// The manifest that bytes hold; names in it have been checked.
pub(crate) fn decode(file: &FileName, bytes: &[u8]) -> Result<Manifest, ManifestError> {
    let not = || ManifestError::NotAManifest { file: file.to_string() };
    let (frame, body) = bytes.split_at_checked(FRAME).ok_or_else(not)?;
    if &frame[..8] != MAGIC {
        return Err(not());
    }
    let found = u32::from_le_bytes([frame[8], frame[9], frame[10], frame[11]]);
    if found != FORMAT {
        return Err(ManifestError::Format { file: file.to_string(), found, newest: FORMAT });
    }
    let stored = Checksum(u32::from_le_bytes([frame[12], frame[13], frame[14], frame[15]]));
    let computed = checksum(frame, body);
    if stored != computed {
        return Err(ManifestError::Mismatch { file: file.to_string(), stored, computed });
    }
    if frame[16..24] != (body.len() as u64).to_le_bytes() {
        return Err(malformed(file, format!("it has {} bytes, its frame says otherwise", bytes.len())));
    }
    let mut aligned = AlignedVec::<16>::with_capacity(body.len());
    aligned.extend_from_slice(body);
    let archived = rkyv::access::<ArchivedStoredManifest, Error>(&aligned);
    read(file, archived.map_err(|error| malformed(file, error.to_string()))?)
}

/// Over the frame without the place of the checksum itself, and the body.
fn checksum(frame: &[u8], body: &[u8]) -> Checksum {
    Checksum::of(&frame[..12]).and(&frame[16..FRAME]).and(body)
}

fn stored_file(file: &FileSummary) -> StoredFile {
    StoredFile { name: file.name.to_string(), bytes: file.bytes, rows: file.rows, checksum: file.checksum.0 }
}

fn read(file: &FileName, archived: &ArchivedStoredManifest) -> Result<Manifest, ManifestError> {
    let named = |source| ManifestError::Name { file: file.to_string(), source };
    let mut files: Vec<FileSummary> = Vec::with_capacity(archived.files.len());
    for stored in archived.files.iter() {
        files.push(FileSummary {
            name: FileName::new(&stored.name).map_err(named)?,
            bytes: stored.bytes.to_native(),
            rows: stored.rows.to_native(),
            checksum: Checksum(stored.checksum.to_native()),
        });
    }
    if let Some(pair) = files.windows(2).find(|pair| pair[0].name >= pair[1].name) {
        return Err(malformed(file, format!("{} stands after {}", pair[1].name, pair[0].name)));
    }
    Ok(Manifest {
        version: Version(archived.version.to_native()),
        created: archived.created.to_native(),
        replay_from: Sequence(archived.replay_from.to_native()),
        files,
        extra: archived.extra.to_vec(),
    })
}

fn malformed(file: &FileName, reason: String) -> ManifestError {
    ManifestError::Malformed { file: file.to_string(), reason }
}
