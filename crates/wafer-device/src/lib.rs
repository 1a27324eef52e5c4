//! The wafer device model: an FDP drive that counts what it would write.
//!
//! # What it is
//! [`Device`] takes [`Command`](wafer_interface::Command)s (write, deallocate, read, flush, reclaim unit update) and
//! counts what a drive would write and erase on its media for them. It models NVMe Flexible Data Placement (NVMe Base
//! 2.1, 8.1.10): reclaim units (RUs), reclaim groups, reclaim unit handles and placement identifiers, and garbage
//! collection with a choice of policies. With `fdp = false`, it is a conventional drive. Nothing is scaled down: a
//! drive of terabytes takes 4 bytes of memory per page.
//!
//! # Architecture
//! - [`DeviceConfig`] is the configuration, [`Geometry`] has the resolved sizes, and [`Layout`] determines where data
//!   goes; `slots.rs` numbers the resulting open RUs.
//! - `flash/write.rs` is the path of every command: look up the map, invalidate, append. `flash/open.rs` opens and
//!   closes segments and RUs.
//! - `flash/mapping.rs` and `flash/segment.rs`: the map has a page's *segment*, a run of pages appended to one RU.
//!   Write amplification depends only on which RU a page is in and how many pages of that RU are valid, so relocation
//!   moves whole segments. `flash/merge.rs` keeps the number of segments small.
//! - `gc/collect.rs`: when garbage is collected, and where valid pages go. [`policy`], the crate `wafer-policies`,
//!   keeps the states and valid counts of RUs and chooses the victim; a rule of `wafer-separation` chooses the class of
//!   a page.
//! - `firmware`: caches in front of the RUs, media maintenance (wear levelling, refresh, retirement), and a map that is
//!   partly in flash.
//! - `namespace.rs`: namespaces that are created and deleted while the device runs.
//! - `state`: the whole device as a value that can be saved and restored, and the check of its invariants.
//! - `tuning`: the adaptive policy, which simulates miniatures of the device and changes its arrangement.
//! - The outputs are counters, events and the hooks of an [`Observer`](wafer_interface::Observer). With `()` as the
//!   observer, the hooks vanish at compile time.
//! - `attribution.rs`: which handle's writes cause relocations of which handle's data, for an observer that requests
//!   it.
//! - The crate `wafer-oracle` is the same device page by page, slow but obvious. Property tests compare the two.
//!
//! The path of a page write has no dynamic dispatch, no allocation and no logging.
//!
//! # Invariants
//! [`Device::check_invariants`] checks them from scratch:
//! - each mapped page is valid in exactly one place, and valid counts equal the map;
//! - free + open + closed + retired RUs are all RUs, and at least one RU of each group is free;
//! - media bytes are the page size times the number of host pages, relocated pages, parity, SLC programs and
//!   translation pages;
//! - the media bytes of the handles, plus what was relocated again out of shared GC RUs, are those of host pages and
//!   relocation.
//!
//! Configuration, seed and commands determine every counter: there is no clock, thread, I/O or randomness except two
//! generators derived from the seed. How commands are split into batches makes no difference.
//!
//! # Error model
//! [`DeviceConfig::resolve`] refuses an invalid configuration with an [`InvalidKey`](wafer_interface::InvalidKey),
//! which names the key and, if there is one, the nearest value that works. Once created, a device cannot get stuck.
//! When it is worn out and has no spare reclaim units left, it is read-only, and [`Device::check_writable`] returns
//! [`ReadOnly`]. A command that it refuses, or whose address the device does not have, has no effect and is counted in
//! [`Counters::rejected`](wafer_interface::Counters::rejected); a write with a placement identifier that its namespace
//! does not define goes to the default handle, with an event, as the specification requires. Internal invariants are
//! asserted.
//!
//! # What it does not implement
//! - Time: latency, bandwidth, dies and channels. Reclaim unit time limits count host writes.
//! - Data, encodings of log pages, and controllers, which are above this crate.
//! - Media faults, and writes of the drive's own metadata other than its map.
//! - Dynamic wear levelling, except that free RUs are used in the order in which they were erased.

mod attribution;
mod config;
mod device;
mod firmware;
mod flash;
mod gc;
mod geometry;
mod layout;
mod namespace;
mod slots;
mod state;
#[cfg(test)]
#[path = "../tests/unit/mod.rs"]
mod tests;
mod tuning;

pub use config::{DeviceConfig, NamespaceConfig, ReclaimUnitConfig};
pub use device::Device;
pub use firmware::maintenance::ReadOnly;
pub use geometry::Geometry;
pub use layout::{Layout, Relocation};
pub use namespace::NamespaceError;
pub use state::{DeviceState, StateError};
pub use wafer_interface::{Attribution, Collected, EnduranceConfig, Isolation};
pub use wafer_policies as policy;
pub use wafer_policies::{Destination, GcConfig, RelocationOrder};
pub use wafer_separation::Separation;
