//! Configuration files: devices by name or file, with overrides, and the keys that files can have.
//!
//! # What it is
//! - [`load_device`]: from profiles and TOML files with overrides to a checked configuration;
//! - [`Layers`]: a TOML document that remembers where each key was set;
//! - [`Files`]: lookup of the files that a configuration names;
//! - [`device_schema`], [`keys`] and [`schema`]: the JSON Schema of configuration files, generated from the types that
//!   read them, and its keys as a list.
//!
//! # Error model
//! [`ConfigError`], one line each, with the file, line and key at fault. Errors name arguments by their role; the
//! command line and Python spell them in their own way. No input file causes a panic.

mod device;
mod device_schema;
mod error;
mod files;
mod keys;
mod layers;
mod origins;
mod profiles;
pub mod schema;
mod suggest;
pub mod tables;
#[cfg(not(target_arch = "wasm32"))]
mod unpack;

pub use device::{
    DeviceSummary, ResolvedDevice, base_layers, device_from_text, load_device, resolve,
};
pub use device_schema::{device_schema, overridable_keys, overridden, table as device_table};
pub use error::{ConfigError, Overridden, Place, line, one_line};
pub use files::Files;
pub use keys::{Key, keys};
pub use layers::Layers;
pub use profiles::{Profile, profile, profiles, shipped_files};
pub use suggest::did_you_mean;
#[cfg(not(target_arch = "wasm32"))]
pub use unpack::unpack;
