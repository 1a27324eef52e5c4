//! Configuration files: devices by name or file, with overrides, and the keys that files can have.

mod device;
mod device_schema;
mod files;
mod keys;
mod layers;
mod origins;
mod profiles;
pub(crate) mod schema;
mod suggest;
#[cfg(not(target_arch = "wasm32"))]
mod unpack;

pub use device::{
    DeviceSummary, ResolvedDevice, base_layers, device_from_text, load_device, resolve,
};
pub use device_schema::{device_schema, overridable_keys};
pub(crate) use device_schema::{overridden, table as device_table};
pub use files::Files;
pub use keys::{Key, keys};
pub use layers::Layers;
pub use profiles::{Profile, profile, profiles, shipped_files};
pub use suggest::did_you_mean;
#[cfg(not(target_arch = "wasm32"))]
pub use unpack::unpack;
