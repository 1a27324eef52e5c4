//! Files of tables that `wafer serve` reads: errors with their line, and what several of them hold.

use std::path::Path;

use serde::de::DeserializeOwned;
use wafer_lab::LabError;

/// An error: its offset, and the reason.
pub(super) type Wrong = (usize, String);

/// Returns the number of the line of an offset.
pub(super) fn line(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

/// Reads a file.
///
/// # Errors
/// It cannot be read, or is wrong in a line.
pub(super) fn read<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, Wrong>,
) -> Result<T, LabError> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|e| LabError::config(name.clone(), e.to_string()))?;
    parse(&text)
        .map_err(|(at, reason)| LabError::config(format!("{name}:{}", line(&text, at)), reason))
}

/// Reads TOML.
pub(super) fn toml<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    toml::from_str(text).map_err(|e| {
        let message = e.message().lines().next().unwrap_or_default();
        (e.span().map_or(0, |span| span.start), message.to_owned())
    })
}

/// Returns what is wrong with an NVMe Qualified Name.
pub(super) fn wrong_nqn(nqn: &str) -> Option<&'static str> {
    let holds = nqn.starts_with("nqn.") && nqn.len() <= 223;
    (!holds).then_some("an NVMe Qualified Name begins with `nqn.` and has at most 223 bytes")
}
