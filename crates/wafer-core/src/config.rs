//! The device's configuration: every key, its unit, its default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;

/// A device as configuration files describe it. Keys are those of `--set` (dotted).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Logical capacity, 1 GiB to 64 TiB (smaller is allowed down to a few reclaim units, for
    /// tests). Rounded down to whole pages.
    pub capacity: Bytes,
    /// Mapping unit: 4, 8, 16, 32 or 64 KiB. Default 4 KiB.
    #[serde(default = "default_page")]
    pub page: Bytes,
    /// Size and number of reclaim units.
    pub reclaim_unit: ReclaimUnitConfig,
    /// (physical - logical) / logical capacity; gives the number of reclaim units as
    /// `floor(capacity * (1 + overprovisioning) / reclaim_unit.size)`. Give this or
    /// `reclaim_unit.count`, not both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overprovisioning: Option<f64>,
    /// Reclaim unit handles, 1 to 128. Default 8.
    #[serde(default = "default_handles")]
    pub handles: u16,
    /// Reclaim groups, 1 to 256. Default 1.
    #[serde(default = "default_groups")]
    pub groups: u16,
    /// Isolation type of every handle that `handle_isolation` does not name.
    /// Default "initially".
    #[serde(default)]
    pub isolation: Isolation,
    /// Isolation type of single handles, by handle number: `handle_isolation.2 = "persistently"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handle_isolation: BTreeMap<String, Isolation>,
    /// Flexible Data Placement enabled. When false the device is conventional: one stream,
    /// placement identifiers are ignored. Default true.
    #[serde(default = "default_true")]
    pub fdp: bool,
    /// Garbage collection.
    #[serde(default)]
    pub gc: GcConfig,
    /// Namespaces in order of NSID from 1; none: one namespace of the whole capacity with a
    /// placement handle per reclaim unit handle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<NamespaceConfig>,
    /// Service times, used only to share the device among jobs in a closed loop.
    #[serde(default)]
    pub service: ServiceConfig,
}

/// Size and number of reclaim units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReclaimUnitConfig {
    /// Bytes of one reclaim unit, 1 MiB to 64 GiB, a multiple of the page.
    pub size: Bytes,
    /// Physical reclaim units over all groups. Give this or `overprovisioning`, not both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// What becomes of the isolation of a handle's data when garbage collection moves it
/// (NVMe Base 2.1, 8.1.10.1: RUHT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// II: relocated data of all initially isolated handles shares one open reclaim unit.
    #[default]
    Initially,
    /// PI: relocated data stays with the data of its handle.
    Persistently,
}

/// Garbage collection: who is collected, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// Victim selection, a name of `wafer policies`. Default "greedy".
    pub policy: String,
    /// Reclaim units compared by the d-choices policy. Default 10.
    pub choices: u32,
    /// Share of the closed reclaim units, oldest first, among which the windowed-greedy policy
    /// chooses. Default 0.5.
    pub window: f64,
    /// Background GC runs while free reclaim units are at most this share of all, rounded down;
    /// 0 switches it off. Default 0.10 (WARP's emulator).
    pub background_free: f64,
    /// Background GC takes its victim only if at most this share of it is valid ("lazy").
    /// Default 0.05 (WARP's emulator).
    pub background_max_valid: f64,
    /// Forced GC runs while free reclaim units are at most this share of all, rounded down, and
    /// in any case while fewer than two are free. Default 0.01 (WARP's emulator).
    pub forced_free: f64,
    /// With `fdp = false`: whether relocated data goes to an open reclaim unit of its own (true)
    /// or into the one that the host writes (false). Default true.
    pub separate: bool,
    /// Which open reclaim unit takes relocated data. Default: what the policy asks for, which for
    /// all but `adaptive` is "isolation".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// With `gc.destination = "generation"`: how many times relocated data keeps a reclaim unit of
    /// its own, 1 to 8; what is moved more often joins the last. Default 3.
    pub generations: u8,
    /// Separates data of different lifespan within each handle, without hints of the host, and
    /// relocated data with it; not together with `gc.destination`. Default: none, but for
    /// `adaptive`, which asks for "deathtime" where there is no `gc.destination` and space enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separation: Option<Separation>,
    /// Which of a victim's pages go to the open reclaim unit when not all fit. Default "spread".
    pub order: RelocationOrder,
}

/// Which open reclaim unit takes relocated data.
///
/// The specification demands one thing: data of a persistently isolated handle never shares a
/// reclaim unit with that of another. The rest is the firmware's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Destination {
    /// What the handle's isolation says: one shared by all initially isolated handles, one for each
    /// persistently isolated handle.
    Isolation,
    /// The one that the host writes through the same handle.
    Host,
    /// One for all data. Refused where a handle is persistently isolated.
    Shared,
    /// One for each handle, whatever its isolation.
    Handle,
    /// One for each handle and number of times the data was moved, up to `gc.generations`. Where the policy asks
    /// for it: fewer, as far as there are not five spare reclaim units for each.
    Generation,
    /// As "isolation", but by the handle whose command finds too few free units instead of by that of the
    /// victim: drawn in proportion to recent commands of the others than the one that took the last unit;
    /// background GC takes handle 0. Data of persistently isolated handles mixes, against the
    /// specification. WARP's emulator does so (docs/validation.md).
    Writer,
}

/// How a drive separates data of different lifespan by itself, within the data of each handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Separation {
    /// Written pages in two classes, by whether their last content lived longer than reclaim units of the
    /// short-lived class do; relocated ones in four, by age (SepBIT, FAST '22; ages are those of
    /// reclaim units, not pages).
    Sepbit,
    /// Written pages in the two classes of `sepbit`, relocated ones in four by how often they were moved
    /// (after MiDAS, FAST '24, without its sizing of groups).
    Midas,
    /// Written pages in four classes a factor of four apart, by how long their last content lived;
    /// relocated ones stay in their class (after multi-log, Stoica and Ailamaki, VLDB '13).
    MultiLog,
    /// Pages that overwrite data of a regular stream before its time, by when it will pass there; relocated
    /// ones of these apart, others by up to `gc.generations`. Only handles that do so are split, and as many
    /// as the spare reclaim units allow. The policy may ask for it.
    DeathTime,
}

/// The order in which a victim's valid pages are moved: it decides which of them share a reclaim
/// unit with those of the victim before, and which begin the next.
///
/// No specification gives it. It matters where pages of different age or stream share reclaim
/// units, for pages written together tend to die together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelocationOrder {
    /// In the order in which they were written: runs of pages stay together.
    Written,
    /// Every run is spread over both, in proportion to the room: as in a device that moves its
    /// victim die by die, where consecutive pages lie on different dies. So does FEMU, on which
    /// WARP's emulator is built, and its measured curves tell the two apart (docs/validation.md).
    #[default]
    Spread,
}

/// One namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamespaceConfig {
    /// Capacity of the namespace, rounded down to whole pages.
    pub size: Bytes,
    /// The reclaim unit handles behind placement handles 0, 1, ... of this namespace. Empty:
    /// handle 0 alone.
    #[serde(default)]
    pub handles: Vec<u16>,
}

/// Service times: a command of `b` bytes of a job with `q` outstanding takes
/// `max(submit, (latency + b / bandwidth) / q)`.
///
/// A model assumption, not a specification: the defaults give the shares 0.58 : 0.21 : 0.21 that
/// WARP's three-stream runs show for 128 KiB at QD 1 beside two 4 KiB streams at QD 32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceConfig {
    /// Host time to submit and complete one command, microseconds, serial within a job.
    pub submit_us: f64,
    /// Time of a command apart from its data transfer, microseconds.
    pub latency_us: f64,
    /// Data rate of one command's transfer, bytes per second.
    pub bandwidth: Bytes,
}

impl Default for GcConfig {
    fn default() -> Self {
        GcConfig {
            policy: "greedy".to_owned(),
            choices: 10,
            window: 0.5,
            background_free: 0.10,
            background_max_valid: 0.05,
            forced_free: 0.01,
            separate: true,
            destination: None,
            generations: 3,
            separation: None,
            order: RelocationOrder::Spread,
        }
    }
}

impl Default for ServiceConfig {
    fn default() -> Self {
        ServiceConfig { submit_us: 10.0, latency_us: 20.0, bandwidth: Bytes(1_365_000_000) }
    }
}

fn default_page() -> Bytes {
    Bytes(4096)
}

fn default_handles() -> u16 {
    8
}

fn default_groups() -> u16 {
    1
}

fn default_true() -> bool {
    true
}
