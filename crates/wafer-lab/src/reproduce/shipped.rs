//! The configurations that the binary carries: devices, workloads, experiments, references, studies.

use std::path::{Path, PathBuf};

use rust_embed::RustEmbed;

use crate::LabError;

#[derive(RustEmbed)]
#[folder = "../../configs"]
struct Configs;

/// Writes all configurations below `folder`, as they are in `configs` of the repository.
///
/// # Errors
/// A file cannot be written.
pub fn unpack(folder: &Path) -> Result<(), LabError> {
    for name in Configs::iter() {
        let path = folder.join(name.as_ref());
        let failed = |source| LabError::Io { path: path.clone(), source };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let file =
            Configs::get(&name).ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
        std::fs::write(&path, file.data).map_err(failed)?;
    }
    Ok(())
}

/// The studies of a folder of experiments, in order of name.
///
/// # Errors
/// The folder cannot be read, or has none.
pub fn study_files(experiments: &Path) -> Result<Vec<PathBuf>, LabError> {
    let place = || experiments.display().to_string();
    let broken = |e: std::io::Error| LabError::config(place(), format!("{}", e.kind()));
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(experiments).map_err(broken)? {
        let path = entry.map_err(broken)?.path().join("study.toml");
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(LabError::config(place(), "no folder with a study.toml"));
    }
    Ok(files)
}
