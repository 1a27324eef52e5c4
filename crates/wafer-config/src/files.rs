//! Lookup of the files that a configuration names, next to it or in data folders.

use std::path::{Path, PathBuf};

use crate::error::ConfigError;
use crate::error::Place;

/// Environment variable that names a data folder.
const VARIABLE: &str = "WAFER_DATA";
/// Name of the data folder of a checkout.
const FOLDER: &str = "data";

/// Finds the files that a configuration names.
#[derive(Clone, Debug)]
pub struct Files {
    /// Folder of the configuration, which relative paths start from.
    pub folder: PathBuf,
    /// Data folders, in order of precedence.
    data: Vec<PathBuf>,
}

impl Files {
    /// Returns the lookup for a configuration in `folder`. Data is looked for in `chosen`, in `WAFER_DATA`, and in the
    /// nearest `data` folder of the current directory and of `folder`, or of their parents.
    pub fn new(folder: &Path, chosen: Option<&Path>) -> Self {
        let variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
        Self::in_folders(folder, chosen, variable.map(PathBuf::from), Path::new("."))
    }

    fn in_folders(
        folder: &Path,
        chosen: Option<&Path>,
        variable: Option<PathBuf>,
        current: &Path,
    ) -> Self {
        let given = chosen.map(Path::to_owned).into_iter().chain(variable);
        let near = [current, folder].into_iter().filter_map(nearest);
        let mut data: Vec<PathBuf> = Vec::new();
        for folder in given.chain(near) {
            if !data.contains(&folder) {
                data.push(folder);
            }
        }
        Files { folder: folder.to_owned(), data }
    }

    /// Returns the path of a file relative to the configuration.
    pub fn beside(&self, file: impl AsRef<Path>) -> PathBuf {
        self.folder.join(file)
    }

    /// Returns the path of a data file, next to the configuration or in the first data folder that has it.
    ///
    /// # Errors
    /// [`ConfigError::MissingData`] if no folder has it.
    pub fn data(&self, place: impl Into<Place>, file: &Path) -> Result<PathBuf, ConfigError> {
        let folders = || std::iter::once(&self.folder).chain(&self.data);
        let found = folders().map(|folder| folder.join(file)).find(|path| path.exists());
        found.ok_or_else(|| ConfigError::MissingData {
            place: place.into(),
            file: file.to_owned(),
            looked: folders().filter(|_| file.is_relative()).map(|folder| shown(folder)).collect(),
        })
    }
}

/// Returns the folder to show; an empty path is the current directory.
fn shown(folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() }
}

/// Returns the data folder of the nearest folder, upwards from `from`, that has one.
fn nearest(from: &Path) -> Option<PathBuf> {
    let here = shown(from).join(FOLDER);
    if here.is_dir() {
        return Some(here.strip_prefix(".").map(Path::to_owned).unwrap_or(here));
    }
    let absolute = std::path::absolute(from).ok()?;
    absolute.ancestors().skip(1).map(|folder| folder.join(FOLDER)).find(|path| path.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(root: &Path, name: &str) -> PathBuf {
        let folder = root.join(name);
        std::fs::create_dir_all(folder.join("traces")).unwrap();
        std::fs::write(folder.join("traces").join(name), "").unwrap();
        folder
    }

    #[test]
    fn data_is_found_beside_then_chosen_then_variable_then_checkout() {
        let root = tempfile::tempdir().unwrap();
        let (chosen, variable) = (data(root.path(), "chosen"), data(root.path(), "variable"));
        let checkout = data(root.path(), "data");
        let (configs, deep) = (root.path().join("configs"), root.path().join("a/b"));
        for folder in [&configs, &deep] {
            std::fs::create_dir_all(folder.join("traces")).unwrap();
        }
        std::fs::write(configs.join("traces/own"), "").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let files = |folder: &Path, current: &Path| {
            Files::in_folders(folder, Some(&chosen), Some(variable.clone()), current)
        };
        let near = files(&configs, elsewhere.path());
        let find = |name: &str| near.data("x", Path::new(name)).unwrap();
        assert_eq!(find("traces/own"), configs.join("traces/own"));
        assert_eq!(find("traces/chosen"), chosen.join("traces/chosen"));
        assert_eq!(find("traces/variable"), variable.join("traces/variable"));
        assert_eq!(find("traces/data"), checkout.join("traces/data"));

        // The first folder that has the file wins.
        for folder in [&variable, &checkout] {
            std::fs::write(folder.join("traces/chosen"), "").unwrap();
        }
        assert_eq!(find("traces/chosen"), chosen.join("traces/chosen"));

        // The current directory or one above it may also have the data.
        let far = files(elsewhere.path(), &deep);
        assert_eq!(far.data("x", Path::new("traces/data")).unwrap(), checkout.join("traces/data"));
        let missing = far.data("e.toml: trace", Path::new("traces/none")).unwrap_err().to_string();
        assert!(
            missing.starts_with("e.toml: trace: no such file: traces/none; looked in "),
            "{missing}"
        );
        assert!(missing.contains(&*chosen.to_string_lossy()), "{missing}");
    }
}
