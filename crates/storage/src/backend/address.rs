//! A backend by its address: a URL, as it stands in a configuration.

use std::path::Path;
use std::sync::Arc;

use object_store::ObjectStoreScheme;
use url::Url;

use super::{Backend, BackendError, MemoryBackend, ObjectBackend, Operation, PosixBackend};
use crate::RetryPolicy;

/// Opens the backend that a URL names.
///
/// `file:///directory` is a directory of the operating system, with all its guarantees; `memory:///` is empty memory; `s3://bucket/prefix`,
/// `gs://bucket/prefix` and `az://container/prefix` (and the other forms that the `object_store` crate knows) are object stores. Those take
/// `options` of that crate by name, and need the feature `cloud`.
pub fn open_url(
    address: &str,
    options: &[(String, String)],
    retry: RetryPolicy,
) -> Result<Arc<dyn Backend>, BackendError> {
    let url = Url::parse(address).map_err(|error| refused(address, format!("it is no URL: {error}")))?;
    let unknown = |_| refused(address, "expected file:, memory:, s3:, gs: or az:".to_owned());
    let (scheme, _) = ObjectStoreScheme::parse(&url).map_err(unknown)?;
    match scheme {
        ObjectStoreScheme::Local => {
            let path = url.to_file_path().map_err(|()| refused(address, "it is no path".to_owned()))?;
            Ok(Arc::new(PosixBackend::open(Path::new(&path))?))
        }
        ObjectStoreScheme::Memory => Ok(Arc::new(MemoryBackend::new())),
        _ => remote(address, &url, options, retry),
    }
}

fn remote(
    address: &str,
    url: &Url,
    options: &[(String, String)],
    retry: RetryPolicy,
) -> Result<Arc<dyn Backend>, BackendError> {
    if cfg!(not(feature = "cloud")) {
        return Err(refused(address, "this build has no object stores (feature 'cloud')".to_owned()));
    }
    let options = options.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let parsed = object_store::parse_url_opts(url, options);
    let (store, prefix) = parsed.map_err(|error| refused(address, error.to_string()))?;
    Ok(Arc::new(ObjectBackend::new(store.into(), prefix.as_ref(), retry)?))
}

fn refused(address: &str, reason: String) -> BackendError {
    BackendError::Unsupported { operation: Operation::Open, name: address.to_owned(), reason }
}
