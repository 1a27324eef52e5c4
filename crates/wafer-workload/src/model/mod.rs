//! Application models: programs whose state is simulated as far as it decides what they write.
//!
//! To add one: copy a file of this folder, implement [`Model`] for its configuration, and name the
//! file twice here: in a `mod` line and in [`MODELS`]. Its keys, their documentation and their defaults
//! are the fields of the configuration; `make docs` puts them into the reference.

mod aerospike;
mod application;
mod area;
mod cachelib;
mod f2fs;
mod jesd219a;
mod kernel_build;
mod lsm;

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;

use crate::stream::CommandStream;

pub use aerospike::{AerospikeConfig, KeyOrder, Ycsb};
pub use cachelib::CachelibConfig;
pub use f2fs::{Discard, F2fsConfig, Temperature};
pub use jesd219a::Jesd219aConfig;
pub use kernel_build::KernelBuildConfig;
pub use lsm::LsmConfig;

/// An application with its parameters.
pub trait Model: Debug + Send + Sync {
    /// Bytes of memory that [`Model::start`] takes on this space; 0 when it is little.
    fn memory_bytes(&self, space: &Space) -> u64;

    /// The application, about to begin.
    ///
    /// # Errors
    /// Parameters that cannot work, by themselves or on this space.
    fn start(&self, space: &Space, seed: u64) -> Result<Box<dyn CommandStream>, ModelError>;

    /// Every key with its value.
    fn parameters(&self) -> Table;
}

/// What an application has to write on.
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
    /// One namespace of `bytes` bytes with `handles` placement handles and pages of 4 KiB.
    pub fn single(bytes: u64, handles: u16) -> Self {
        Space { page_bytes: 4096, namespaces: vec![Extent { bytes, handles: Some(handles) }] }
    }

    /// The first namespace.
    fn first(&self) -> Extent {
        self.namespaces.first().copied().unwrap_or(Extent { bytes: 0, handles: None })
    }

    /// Refuses a placement handle that namespace `namespace` does not have.
    fn check_handle(&self, key: &str, namespace: usize, handle: u16) -> Result<(), ModelError> {
        match self.namespaces.get(namespace).and_then(|n| n.handles) {
            Some(handles) if handle >= handles => Err(ModelError::new(
                key,
                format!("{handle}: the namespace has placement handles 0 to {}", handles - 1),
            )),
            _ => Ok(()),
        }
    }
}

/// A parameter that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ModelError {
    /// The key.
    pub key: String,
    /// Why, and where there is one, what would work.
    pub message: String,
}

impl ModelError {
    pub(crate) fn new(key: &str, message: impl Into<String>) -> Self {
        ModelError { key: key.to_owned(), message: message.into() }
    }
}

/// Why a table is not a model's configuration, with the path of the key.
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
    /// Keys that are paths of files, relative to the file that has the keys.
    pub paths: &'static [&'static str],
}

/// All models, in the order in which `wafer models` lists them.
#[rustfmt::skip] // one model, one line
pub const MODELS: &[ModelInfo] = &[
    jesd219a::INFO,
    aerospike::INFO,
    cachelib::INFO,
    f2fs::INFO,
    kernel_build::INFO,
    lsm::INFO,
];

/// The model of a name.
pub fn find(name: &str) -> Option<&'static ModelInfo> {
    MODELS.iter().find(|model| model.name == name)
}

/// [`ModelInfo::make`] of a configuration type.
fn read<C: Model + DeserializeOwned + 'static>(table: Table) -> Result<Box<dyn Model>, ReadError> {
    let config: C = serde_path_to_error::deserialize(toml::Value::Table(table))?;
    Ok(Box::new(config))
}

/// [`ModelInfo::defaults`] of a configuration type.
fn defaults<C: Default + Serialize>() -> Table {
    table(&C::default())
}

/// A configuration as a table.
fn table(config: &impl Serialize) -> Table {
    // Configurations hold numbers, texts and lists of them: nothing that TOML could refuse.
    Table::try_from(config).expect("a configuration is a table")
}

/// Refuses a number outside `low..=high`.
fn between(key: &str, value: f64, low: f64, high: f64) -> Result<(), ModelError> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(ModelError::new(key, format!("{value} is not between {low} and {high}")))
}

#[cfg(test)]
mod tests;
