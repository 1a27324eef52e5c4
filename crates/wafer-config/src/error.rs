//! Errors of configurations, and the formatting of errors with their causes.

use std::fmt;
use std::path::PathBuf;

/// An error of a configuration or of an argument. Every message is one line; causes are in the source chain.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A configuration or argument is invalid.
    #[error("{place}: {reason}{}", with(overrides))]
    Invalid {
        /// The key or argument.
        place: Place,
        /// The reason, and the expected value if it is known.
        reason: String,
        /// Overrides that may have made a value of a file invalid, as `KEY=VALUE`.
        overrides: Vec<String>,
    },
    /// A data file named by a configuration does not exist.
    #[error("{place}: no such file: {}{}", file.display(), looked_in(looked))]
    MissingData {
        /// The key that names it.
        place: Place,
        /// The file, as the configuration names it.
        file: PathBuf,
        /// Folders searched; empty for an absolute path.
        looked: Vec<PathBuf>,
    },
    /// A file could not be written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
}

impl ConfigError {
    /// Returns an error in the user's input.
    pub fn new(place: impl Into<Place>, reason: impl Into<String>) -> Self {
        ConfigError::Invalid { place: place.into(), reason: reason.into(), overrides: Vec::new() }
    }

    /// Reports whether the user's input is at fault.
    pub fn is_usage(&self) -> bool {
        !matches!(self, ConfigError::Io { .. })
    }

    /// Returns an error about a file that could not be written.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        ConfigError::Io { path: path.into(), source }
    }
}

/// The place of an error. Front ends spell it in their own way: [`Place::Argument`] is `--pace` on a command line and
/// `pace=` in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A device, file or study, by name.
    Named(String),
    /// A configuration file.
    File {
        /// Name of the file.
        file: String,
        /// The line, counted from 1, if it is known.
        line: Option<usize>,
        /// The dotted key; `None` if the file as a whole is invalid.
        key: Option<String>,
    },
    /// A key that the caller overrides.
    Override {
        /// The owner of the key.
        of: Overridden,
        /// The dotted key.
        key: String,
    },
    /// An argument of the caller, by the name of the option that it sets.
    Argument(&'static str),
}

/// The target of an override.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overridden {
    /// A key of the device.
    Device,
    /// An option of all traces.
    Traces,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Named(name) => f.write_str(name),
            Place::File { file, line, key } => {
                f.write_str(file)?;
                line.iter().try_for_each(|line| write!(f, ":{line}"))?;
                key.iter().try_for_each(|key| write!(f, ": {key}"))
            }
            Place::Override { key, .. } => f.write_str(key),
            Place::Argument(name) => f.write_str(name),
        }
    }
}

impl From<&str> for Place {
    fn from(name: &str) -> Self {
        Place::Named(name.to_owned())
    }
}

impl From<String> for Place {
    fn from(name: String) -> Self {
        Place::Named(name)
    }
}

impl From<wafer_record::RecordError> for ConfigError {
    fn from(error: wafer_record::RecordError) -> Self {
        match error {
            wafer_record::RecordError::Input { place, reason } => ConfigError::new(place, reason),
            wafer_record::RecordError::Io { path, source } => ConfigError::Io { path, source },
        }
    }
}

/// Joins an error and its causes, each formatted by `describe`, into one line.
pub fn line(
    error: &(dyn std::error::Error + 'static),
    describe: impl Fn(&(dyn std::error::Error + 'static)) -> String,
) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(|cause| one_line(&describe(cause))).collect();
    texts.join(": ")
}

/// Joins the lines of a text into one.
pub fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("; ")
}

fn with(overrides: &[String]) -> String {
    match overrides {
        [] => String::new(),
        _ => format!(" (with {})", overrides.join(", ")),
    }
}

fn looked_in(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders.iter().map(|path| path.display().to_string()).collect();
    match folders.as_slice() {
        [] => String::new(),
        _ => format!("; looked in {}", folders.join(", ")),
    }
}
