//! The wafer device model: an FDP drive that counts.
//!
//! # What it is
//! [`Device`] takes [`Command`](wafer_interface::Command)s (write, deallocate, read, flush, reclaim unit update) and
//! counts what a drive would write to its media and erase for them. It is the device of NVMe Flexible Data Placement
//! (NVMe Base 2.1, 8.1.10): reclaim units (RUs), reclaim groups, reclaim unit handles and placement identifiers, and
//! garbage collection with a policy of choice. With `fdp = false` it is a conventional drive. Nothing in it is scaled
//! down: a drive of terabytes takes 4 bytes of memory per page.
//!
//! # Architecture
//! - [`DeviceConfig`] is the configuration, [`Geometry`] the resolved sizes, [`Layout`] where data goes; `slots.rs`
//!   numbers the open RUs that these imply.
//! - `flash/write.rs` is the path of every command: look up the map, invalidate, append. `flash/open.rs` opens and
//!   closes segments and RUs.
//! - `flash/mapping.rs` and `flash/segment.rs`: the map names a page's *segment*, a run of pages appended to one RU.
//!   Write amplification depends only on which RU a page is in and how many of its pages are valid, so relocation
//!   re-labels whole segments. `flash/merge.rs` keeps the number of segments small.
//! - `gc/collect.rs`: when garbage is collected and where valid pages go. [`policy`], the crate `wafer-policies`,
//!   keeps the states and valid counts of RUs and chooses the victim; a rule of `wafer-separation` the class of a page.
//! - `firmware`: caches in front of the RUs, and media maintenance: wear levelling, refresh, retirement; and a map that
//!   is partly in flash.
//! - `namespace.rs`: namespaces that are created and deleted while the device runs.
//! - `state`: the whole device as a value, to save and to restore, and the check of its invariants.
//! - `tuning`: the adaptive policy, which simulates miniatures of the device and changes its arrangement.
//! - Counters, events and the hooks of an [`Observer`](wafer_interface::Observer) are its outputs. With `()` as
//!   observer the hooks vanish at compile time.
//! - `attribution.rs`: whose writes cause relocations of whose data, for an observer that requests it.
//! - The crate `wafer-oracle` is the same device page by page, slow but obvious. Property tests compare the two.
//!
//! The path of a page write has no dynamic dispatch, no allocation and no logging.
//!
//! # Invariants
//! [`Device::check_invariants`] checks them from scratch:
//! - each mapped page is valid in exactly one place, and valid counts equal the map;
//! - free + open + closed + retired RUs are all RUs, and at least one RU of each group is free;
//! - media bytes are the pages that hosts wrote, those relocated, parity, SLC programs and translation pages, times the page size;
//! - the media bytes of the handles, plus what was moved again out of shared GC RUs, are those of host pages and
//!   relocation.
//!
//! Configuration, seed and commands decide every counter: there is no clock, no thread, no I/O and no randomness except
//! two generators derived from the seed. Splitting commands into batches differently changes nothing.
//!
//! # Error model
//! [`DeviceConfig::resolve`] refuses what cannot work with an [`InvalidKey`](wafer_interface::InvalidKey) that names
//! the key and, where there is one, the nearest value that works. Once created, a device cannot get stuck. One that is
//! worn out and has nothing left to spare is read-only: [`Device::check_writable`] says so with [`ReadOnly`]. A command
//! that it refuses, or that names no place of the device, has no effect and is counted in
//! [`Counters::rejected`](wafer_interface::Counters::rejected); a placement identifier that its namespace does not
//! define goes to the default, with an event, as the specification requires. Internal invariants are asserted.
//!
//! # What it does not implement
//! - Time: no latency, bandwidth, dies or channels. Reclaim unit time limits count host writes.
//! - Data, encodings of log pages, and controllers: those are above this crate.
//! - Media faults, and writes of the drive's own metadata other than its map.
//! - Dynamic wear levelling: free RUs are taken in order of erasing, nothing more.

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
