//! Host files of `wafer serve --hosts` and `wafer ctl hosts`.

use std::path::Path;

use wafer_config::{ConfigError, Layers, tables};
use wafer_controller::{Access, HostEntry};

const NONE: &str = "no hosts; write [[host]] tables with an nqn";

/// Reads a file, and returns its hosts and their access.
///
/// # Errors
/// If the file cannot be read, or a line is invalid.
pub fn read(path: &Path) -> Result<(Vec<HostEntry>, Access), ConfigError> {
    of(&tables::read(path, "host", NONE)?)
}

fn of(tables: &[Layers]) -> Result<(Vec<HostEntry>, Access), ConfigError> {
    let entries = tables.iter().map(Layers::read).collect::<Result<Vec<HostEntry>, _>>()?;
    match Access::listed(entries.clone()) {
        Ok(access) => Ok((entries, access)),
        Err(wrong) => Err(tables[wrong.index].error(wrong.key, &wrong.reason)),
    }
}

#[cfg(test)]
mod tests;
