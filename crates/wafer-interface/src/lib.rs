//! The interface of a drive: the commands that it receives, and its reports.
//!
//! # What it is
//! [`Command`]s, the [`CommandStream`]s that generate them, their identifiers and units, and the reports of a device:
//! [`Counters`], [`FdpEvent`]s, and the hooks of an [`Observer`]. Traffic (fio jobs, traces, applications) needs to
//! know nothing else about a device, nor a device about traffic.
//!
//! # Invariants
//! A [`Command`] is 16 bytes. A [`CommandStream`] is deterministic, however its commands are batched.
//!
//! # Error model
//! Only [`Bytes`] can fail: [`ParseBytesError`] for text that is not a size. A command may name an address that the
//! device does not have; the device rejects it.
//!
//! # What it does not implement
//! Encodings: byte layouts of NVMe are in `wafer-nvme`, records in `wafer-record`.

mod attribution;
mod bytes;
mod command;
mod counters;
mod endurance;
mod event;
mod features;
mod firmware;
mod ids;
mod invalid_key;
mod isolation;
mod observer;
mod service;
pub mod stream;
mod timing;

pub use attribution::{Attribution, Collected};
pub use bytes::{Bytes, ParseBytesError};
pub use command::{Command, Op, Placement};
pub use counters::{Counters, HandleCounters};
pub use endurance::EnduranceConfig;
pub use event::FdpEvent;
pub use features::{Features, OWNER_GC};
pub use firmware::FirmwareConfig;
pub use ids::{LBA_BYTES, NsId, RgId, RuId, RuhId};
pub use invalid_key::InvalidKey;
pub use isolation::Isolation;
pub use observer::{Cause, Closed, Collection, MediaWork, Observer, Owner};
pub use service::ServiceConfig;
pub use stream::{
    Batch, CommandStream, Completion, Figure, StreamDescription, StreamState, Surplus,
};
pub use timing::{GcPacing, OneOrMany, PowerConfig, TimingConfig};
