//! Files of tables that `wafer serve` reads, and what several of them hold.

use std::path::Path;

use serde::Deserialize;
use wafer_config::{ConfigError, Layers};
use wafer_record::files::read_text;

/// What a file holds besides its tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Reads the tables `[[key]]` of a file; `none` is what is wrong with a file without one.
///
/// # Errors
/// The file cannot be read, or holds something else.
pub(super) fn read(path: &Path, key: &str, none: &str) -> Result<Vec<Layers>, ConfigError> {
    parse(&path.display().to_string(), &read_text(path)?, key, none)
}

/// As [`read`], of a text.
pub(super) fn parse(
    name: &str,
    text: &str,
    key: &str,
    none: &str,
) -> Result<Vec<Layers>, ConfigError> {
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
