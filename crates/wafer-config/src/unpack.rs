//! Writing the shipped configurations to files.

use std::path::Path;

use wafer_record::write_file;

use crate::error::ConfigError;
use crate::profiles::{shipped, shipped_files};

/// Writes all shipped configurations below `folder`, laid out as in the repository.
///
/// # Errors
/// A file cannot be written.
pub fn unpack(folder: &Path) -> Result<(), ConfigError> {
    for name in shipped_files() {
        let path = folder.join(&name);
        let failed = |source| ConfigError::Io { path: path.clone(), source };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let file = shipped(&name).ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
        write_file(&path, |out| out.write_all(&file))?;
    }
    Ok(())
}
