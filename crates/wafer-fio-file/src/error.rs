//! The error of the job file reader: a single line that names the file, the line and the option.

use std::path::{Path, PathBuf};

/// Maximum length of a quotation from a job file in a message, in characters.
const QUOTE_MAX: usize = 60;

/// Why a job file cannot be used. Its `Display` is exactly one line, whatever the file contains.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FioError {
    /// An error of the whole file: it cannot be read, or it defines no job.
    #[error("{}: {message}", shown(file))]
    File {
        /// The job file, as the user named it.
        file: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// An error of a line that is not an option: a section header, or text outside all sections.
    #[error("{}:{line}: {message}", shown(file))]
    Line {
        /// The job file, or the file it includes.
        file: PathBuf,
        /// Line, from 1.
        line: u32,
        /// What is wrong.
        message: String,
    },
    /// An error of an option.
    #[error("{}:{line}: {option}: {message}", shown(file))]
    Option {
        /// The job file, or the file it includes.
        file: PathBuf,
        /// Line, from 1.
        line: u32,
        /// The option as the file spells it.
        option: String,
        /// What is wrong.
        message: String,
    },
}

impl FioError {
    /// Creates an error of the whole file.
    pub(super) fn file(file: &Path, message: impl AsRef<str>) -> Self {
        Self::File { file: file.to_owned(), message: one_line(message.as_ref()) }
    }

    /// Creates an error at a place that is not an option.
    pub(super) fn line(at: &Origin, message: impl AsRef<str>) -> Self {
        Self::Line {
            file: at.file.to_path_buf(),
            line: at.line,
            message: one_line(message.as_ref()),
        }
    }

    /// An error of an option.
    pub(super) fn option(at: &Origin, option: &str, message: impl AsRef<str>) -> Self {
        Self::Option {
            file: at.file.to_path_buf(),
            line: at.line,
            option: clip(&one_line(option)),
            message: one_line(message.as_ref()),
        }
    }
}

/// A place in a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) file: std::sync::Arc<Path>,
    /// From 1.
    pub(super) line: u32,
}

/// Quotes a piece of the file for a message: in backquotes, without control characters, not too long.
pub(super) fn quote(text: &str) -> String {
    format!("`{}`", clip(&one_line(text)))
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(QUOTE_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Escapes everything that would end or hide the line (control characters, line separators).
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

fn shown(file: &Path) -> String {
    one_line(&file.display().to_string())
}

#[cfg(test)]
mod tests;
