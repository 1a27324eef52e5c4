//! What every application model implements, and what helps it to.

use schemars::{Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use toml::Table;
use wafer_interface::CommandStream;

/// An application with its parameters.
pub trait Model: Debug + Send + Sync {
    /// Returns the bytes of memory that [`Model::start`] takes on this space, or 0 if negligible.
    fn memory_bytes(&self, space: &Space) -> u64;

    /// Starts the application.
    ///
    /// # Errors
    /// Returns parameters that cannot work, by themselves or on this space.
    fn start(&self, space: &Space, seed: u64) -> Result<Box<dyn CommandStream>, ModelError>;

    /// Returns every key with its value.
    fn parameters(&self) -> Table;
}

/// The namespaces that an application writes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// Bytes of a page, the mapping unit of the device.
    pub page_bytes: u64,
    /// The namespaces that it may use.
    pub namespaces: Vec<Extent>,
}

/// One namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its capacity.
    pub bytes: u64,
    /// Placement handles that it has; none when the device has no FDP and takes any.
    pub handles: Option<u16>,
}

impl Space {
    /// Returns one namespace of `bytes` bytes with `handles` placement handles and pages of 4 KiB.
    pub fn single(bytes: u64, handles: u16) -> Self {
        Space { page_bytes: 4096, namespaces: vec![Extent { bytes, handles: Some(handles) }] }
    }

    /// Returns the first namespace.
    pub(super) fn first(&self) -> Extent {
        self.namespaces.first().copied().unwrap_or(Extent { bytes: 0, handles: None })
    }

    /// Refuses a placement handle that namespace `namespace` does not have.
    pub(super) fn check_handle(
        &self,
        key: &str,
        namespace: usize,
        handle: u16,
    ) -> Result<(), ModelError> {
        match self.namespaces.get(namespace).and_then(|n| n.handles) {
            Some(handles) if handle >= handles => Err(ModelError::new(
                key,
                format!("{handle}: the namespace has placement handles 0 to {}", handles - 1),
            )),
            _ => Ok(()),
        }
    }
}

/// An invalid parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ModelError {
    /// The key.
    pub key: String,
    /// The reason, and a value that works, if there is one.
    pub message: String,
}

impl ModelError {
    pub(crate) fn new(key: &str, message: impl Into<String>) -> Self {
        ModelError { key: key.to_owned(), message: message.into() }
    }
}

/// The error of a table that is not a model's configuration, with the path of the key.
pub type ReadError = serde_path_to_error::Error<toml::de::Error>;

/// A model that can be named in an experiment.
pub struct ModelInfo {
    /// Value of `model`.
    pub name: &'static str,
    /// One line for `wafer models`.
    pub summary: &'static str,
    /// Reads its keys, `model` itself left out.
    pub make: fn(Table) -> Result<Box<dyn Model>, ReadError>,
    /// Its keys with their defaults.
    pub defaults: fn() -> Table,
    /// JSON Schema of its keys.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Keys that are paths of files, relative to the file that has the keys.
    pub paths: &'static [&'static str],
}

/// [`ModelInfo::make`] of a configuration type.
pub(super) fn read<C: Model + DeserializeOwned + 'static>(
    table: Table,
) -> Result<Box<dyn Model>, ReadError> {
    let config: C = serde_path_to_error::deserialize(toml::Value::Table(table))?;
    Ok(Box::new(config))
}

/// [`ModelInfo::defaults`] of a configuration type.
pub(super) fn defaults<C: Default + Serialize>() -> Table {
    table(&C::default())
}

/// A configuration as a table.
pub(super) fn table(config: &impl Serialize) -> Table {
    // Configurations hold numbers, texts and lists of them: nothing that TOML could refuse.
    Table::try_from(config).expect("a configuration is a table")
}

/// Refuses a number outside `low..=high`.
pub(super) fn between(key: &str, value: f64, low: f64, high: f64) -> Result<(), ModelError> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(ModelError::new(key, format!("{value} is not between {low} and {high}")))
}
