//! Files that consist of a list of tables, such as the subsystems or the hosts of a server.

use std::path::Path;

use serde::Deserialize;
use wafer_record::files::read_text;

use crate::error::ConfigError;
use crate::layers::Layers;

/// The other keys of such a file: none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Reads the tables `[[key]]` of a file; `none` is the error for a file without them.
///
/// # Errors
/// The file cannot be read, or has other contents.
pub fn read(path: &Path, key: &str, none: &str) -> Result<Vec<Layers>, ConfigError> {
    parse(&path.display().to_string(), &read_text(path)?, key, none)
}

/// Like [`read`], from the text of a file.
///
/// # Errors
/// The text has other contents.
pub fn parse(name: &str, text: &str, key: &str, none: &str) -> Result<Vec<Layers>, ConfigError> {
    let mut file = Layers::from_text(name, text)?;
    let place = file.clone();
    let tables = match file.split_off_list(key) {
        Some(Ok(tables)) => tables,
        Some(Err(_)) => return Err(place.error(key, &format!("expected tables [[{key}]]"))),
        None => Vec::new(),
    };
    let Nothing {} = file.read()?;
    if tables.is_empty() {
        return Err(ConfigError::new(name, none));
    }
    Ok(tables)
}
