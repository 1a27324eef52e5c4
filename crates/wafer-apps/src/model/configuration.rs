//! Derives a [`Model`] and its table entry from an application's configuration.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;
use wafer_interface::CommandStream;

use super::application::{Application, Steps};
use super::interface::{Model, ModelInfo, ReadError};
use super::space::Space;
use wafer_interface::InvalidKey;

/// The configuration of an application: its keys with their defaults.
pub(super) trait Configuration:
    Debug + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// See [`ModelInfo::name`].
    const NAME: &'static str;
    /// See [`ModelInfo::summary`].
    const SUMMARY: &'static str;
    /// See [`ModelInfo::queue_depth`].
    const QUEUE_DEPTH: u32 = 32;
    /// See [`ModelInfo::paths`].
    const PATHS: &'static [&'static str] = &[];
    /// The running application.
    type Application: Application + 'static;

    /// See [`Model::memory_bytes`]. Refuses whatever [`Self::application`] would refuse: nothing is computed from
    /// unchecked parameters.
    fn memory(&self, space: &Space) -> Result<u64, InvalidKey>;

    /// Starts the application; refuses parameters that are invalid by themselves or for this space.
    fn application(&self, space: &Space, seed: u64) -> Result<Self::Application, InvalidKey>;
}

impl<C: Configuration> Model for C {
    fn memory_bytes(&self, space: &Space) -> Result<u64, InvalidKey> {
        self.memory(space)
    }

    fn start(&self, space: &Space, seed: u64) -> Result<Box<dyn CommandStream>, InvalidKey> {
        Ok(Box::new(Steps::new(self.application(space, seed)?, C::QUEUE_DEPTH)))
    }

    fn parameters(&self) -> Table {
        // Configurations hold only numbers, strings and lists of them, as TOML does.
        Table::try_from(self).expect("a configuration is a table")
    }
}

/// Returns a configuration's entry in the table of models.
pub(super) const fn info<C: Configuration>() -> ModelInfo {
    ModelInfo {
        name: C::NAME,
        summary: C::SUMMARY,
        queue_depth: C::QUEUE_DEPTH,
        make: read::<C>,
        defaults: || C::default().parameters(),
        schema: C::json_schema,
        paths: C::PATHS,
    }
}

fn read<C: Configuration>(table: Table) -> Result<Box<dyn Model>, ReadError> {
    let config: C = serde_path_to_error::deserialize(toml::Value::Table(table))?;
    Ok(Box::new(config))
}
