//! The wafer device model.

mod bytes;
mod command;
mod config;
mod counters;
mod ids;

pub use bytes::{Bytes, ParseBytesError};
pub use command::{Command, Op, Placement};
pub use config::{
    DeviceConfig, GcConfig, Isolation, NamespaceConfig, ReclaimUnitConfig, ServiceConfig,
};
pub use counters::{Counters, HandleCounters};
pub use ids::{LBA_BYTES, NsId, RgId, RuId, RuhId};
mod device;
mod error;
pub use device::{Device, Geometry, Observer, PolicyInfo, policies};
pub use error::ConfigError;
