//! The configurations that the library carries: devices, workloads, experiments, published curves.

use std::path::Path;

use rust_embed::RustEmbed;
use wafer_record::write_file;

use crate::error::LabError;

#[derive(RustEmbed)]
#[folder = "../../configs"]
struct Shipped;

/// Folder of the device profiles: a file in it is a profile, named after the file.
const DEVICES: &str = "devices/";

/// A shipped device profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name.
    pub name: String,
    /// Path in the repository, for messages.
    pub path: String,
    /// The file, with a source for every value.
    pub text: String,
}

/// Returns all shipped profiles, ordered by name.
pub fn profiles() -> Vec<Profile> {
    let name = |path: String| Some(path.strip_prefix(DEVICES)?.strip_suffix(".toml")?.to_owned());
    let mut names: Vec<String> = shipped_files().filter_map(name).collect();
    names.sort();
    names.iter().filter_map(|name| profile(name)).collect()
}

/// Returns the shipped profile of a name.
pub fn profile(name: &str) -> Option<Profile> {
    let path = format!("{DEVICES}{name}.toml");
    let text = String::from_utf8(Shipped::get(&path)?.data.into_owned()).ok()?;
    Some(Profile { name: name.to_owned(), path: format!("configs/{path}"), text })
}

/// Returns the paths of all shipped configurations, in order.
pub fn shipped_files() -> impl Iterator<Item = String> {
    let mut paths: Vec<String> = Shipped::iter().map(|path| path.into_owned()).collect();
    paths.sort();
    paths.into_iter()
}

/// Writes all shipped configurations below `folder`, laid out as in the repository.
///
/// # Errors
/// A file cannot be written.
pub fn unpack(folder: &Path) -> Result<(), LabError> {
    for name in Shipped::iter() {
        let path = folder.join(name.as_ref());
        let failed = |source| LabError::Io { path: path.clone(), source };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let file =
            Shipped::get(&name).ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
        write_file(&path, |out| out.write_all(&file.data))?;
    }
    Ok(())
}
