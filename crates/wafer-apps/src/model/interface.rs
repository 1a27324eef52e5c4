//! The interface of application models.

use std::fmt::Debug;

use schemars::{Schema, SchemaGenerator};
use toml::Table;
use wafer_interface::CommandStream;

use super::space::Space;
use wafer_interface::InvalidKey;

/// An application with its parameters.
pub trait Model: Debug + Send + Sync {
    /// Returns the memory that [`Model::start`] takes on this space in bytes, or 0 if negligible.
    ///
    /// # Errors
    /// As [`Model::start`].
    fn memory_bytes(&self, space: &Space) -> Result<u64, InvalidKey>;

    /// Starts the application.
    ///
    /// # Errors
    /// If parameters are invalid by themselves or for this space.
    fn start(&self, space: &Space, seed: u64) -> Result<Box<dyn CommandStream>, InvalidKey>;

    /// Returns every key with its value.
    fn parameters(&self) -> Table;
}

/// The error of a table that is not a model's configuration, with the path of the key.
pub type ReadError = serde_path_to_error::Error<toml::de::Error>;

/// A model that can be named in an experiment.
pub struct ModelInfo {
    /// Value of `model`.
    pub name: &'static str,
    /// One line for `wafer models`.
    pub summary: &'static str,
    /// Number of commands it keeps in flight unless configured otherwise.
    pub queue_depth: u32,
    /// Reads its keys, except `model` itself.
    pub make: fn(Table) -> Result<Box<dyn Model>, ReadError>,
    /// Its keys with their defaults.
    pub defaults: fn() -> Table,
    /// JSON Schema of its keys.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Keys that are file paths, relative to the file that contains the keys.
    pub paths: &'static [&'static str],
}
