//! Application models: programs whose state is simulated as far as it decides what they write.
//!
//! To add a model, copy a file of this folder, implement [`Model`] for its configuration, and name the
//! file twice here: in a `mod` line and in [`MODELS`]. Its keys, their documentation and their defaults
//! are the fields of the configuration; `make docs` puts them into the reference.

mod aerospike;
mod application;
mod area;
mod cachelib;
mod f2fs;
mod interface;
mod jesd219a;
mod kernel_build;
mod lsm;

pub use aerospike::{AerospikeConfig, KeyOrder, Ycsb};
pub use cachelib::CachelibConfig;
pub use f2fs::{Discard, F2fsConfig, Temperature};
pub use interface::{Extent, Model, ModelError, ModelInfo, ReadError, Space};
pub use jesd219a::Jesd219aConfig;
pub use kernel_build::KernelBuildConfig;
pub use lsm::LsmConfig;

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

/// Returns the model of a name.
pub fn find(name: &str) -> Option<&'static ModelInfo> {
    MODELS.iter().find(|model| model.name == name)
}

#[cfg(test)]
mod tests;
