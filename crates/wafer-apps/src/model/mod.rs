//! Application models: programs simulated to the extent that their state decides what they write.
//!
//! To add a model, copy a file of this folder, implement `Configuration` and `Application`, and name the
//! file twice here: in a `mod` line and in [`MODELS`]. Its keys, their documentation and their defaults
//! are the fields of the configuration; `make docs` adds them to the reference.

mod aerospike;
mod application;
mod area;
mod cachelib;
mod checks;
mod configuration;
mod f2fs;
mod interface;
mod jesd219a;
mod kernel_build;
mod keys;
mod lsm;
mod space;
mod zones;

pub use aerospike::{AerospikeConfig, Ycsb};
pub use cachelib::CachelibConfig;
use configuration::info;
pub use f2fs::{Discard, F2fsConfig, Temperature};
pub use interface::{Model, ModelInfo, ReadError};
pub use jesd219a::Jesd219aConfig;
pub use kernel_build::KernelBuildConfig;
pub use keys::KeyOrder;
pub use lsm::LsmConfig;
pub use space::{Extent, Space};
pub use zones::ZonesConfig;

/// All models, in the order in which `wafer models` lists them.
pub const MODELS: &[ModelInfo] = &[
    info::<Jesd219aConfig>(),
    info::<AerospikeConfig>(),
    info::<CachelibConfig>(),
    info::<F2fsConfig>(),
    info::<KernelBuildConfig>(),
    info::<LsmConfig>(),
    info::<ZonesConfig>(),
];

/// Returns the model with a name.
pub fn find(name: &str) -> Option<&'static ModelInfo> {
    MODELS.iter().find(|model| model.name == name)
}

#[cfg(test)]
mod tests;
