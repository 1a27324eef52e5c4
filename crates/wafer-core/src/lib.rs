//! The wafer device model.

mod bytes;
mod collect;
mod command;
mod config;
mod counters;
mod device;
mod error;
mod event;
mod geometry;
mod ids;
mod invariants;
mod mapping;
mod merge;
mod observer;
pub mod oracle;
pub mod policy;
mod reclaim;
mod rng;
mod segment;
#[cfg(test)]
mod tests;
mod write;

pub use bytes::{Bytes, ParseBytesError};
pub use command::{Command, Op, Placement};
pub use config::{
    DeviceConfig, GcConfig, Isolation, NamespaceConfig, ReclaimUnitConfig, ServiceConfig,
};
pub use counters::{Counters, HandleCounters};
pub use device::Device;
pub use error::ConfigError;
pub use event::FdpEvent;
pub use geometry::{Geometry, MAX_GROUPS, MAX_HANDLES, Relocation};
pub use ids::{LBA_BYTES, NsId, RgId, RuId, RuhId};
pub use observer::{Closed, Collection, Observer, Owner};
pub use rng::DeviceRng;
