//! The device's configuration: every key with its unit and default.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use wafer_interface::{
    Bytes, EnduranceConfig, FirmwareConfig, Isolation, ServiceConfig, TimingConfig,
};
use wafer_separation::Separation;

/// A device as configuration files describe it. Keys are those of `--set` (dotted).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Logical capacity, 1 GiB to 64 TiB (smaller is allowed down to a few reclaim units, for
    /// tests). Rounded down to whole pages.
    pub capacity: Bytes,
    /// Mapping unit: 4, 8, 16, 32 or 64 KiB.
    #[serde(default = "default_page")]
    pub page: Bytes,
    /// Size and number of reclaim units.
    pub reclaim_unit: ReclaimUnitConfig,
    /// (physical - logical) / logical capacity. The number of reclaim units becomes
    /// `floor(capacity * (1 + overprovisioning) / reclaim_unit.size)`. Give this or
    /// `reclaim_unit.count`, not both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overprovisioning: Option<f64>,
    /// Number of reclaim unit handles, 1 to 128.
    #[serde(default = "default_handles")]
    pub handles: u16,
    /// Number of reclaim groups, 1 to 256.
    #[serde(default = "default_groups")]
    pub groups: u16,
    /// Isolation type of every handle that `handle_isolation` does not name.
    #[serde(default)]
    pub isolation: Isolation,
    /// Isolation type of a single handle, by its number: `handle_isolation.2 = "persistently"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handle_isolation: BTreeMap<String, Isolation>,
    /// Enables Flexible Data Placement. If false, the device is conventional: it has one handle, which all placement
    /// identifiers mean, and one more for each of its `streams`.
    #[serde(default = "default_true")]
    pub fdp: bool,
    /// With `fdp = false`: number of streams that can be open at a time, 0 to 127. Stream *n* is handle *n* of every
    /// namespace; writes without a stream go to handle 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub streams: u16,
    /// Garbage collection.
    #[serde(default)]
    pub gc: GcConfig,
    /// What the drive does beside garbage collection.
    #[serde(default, skip_serializing_if = "is_default")]
    pub firmware: FirmwareConfig,
    /// Namespaces in order of NSID, from 1. Default: one namespace of the whole capacity with a
    /// placement handle for each reclaim unit handle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<NamespaceConfig>,
    /// Service times. They only divide the device among jobs in a closed loop.
    #[serde(default)]
    pub service: ServiceConfig,
    /// Times of media, controller and link, for runs with a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingConfig>,
    /// How long the media last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<EnduranceConfig>,
}

/// Returns whether a value is what a configuration without its key has.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl DeviceConfig {
    /// Returns the configuration without what changes no byte: its times and its endurance.
    pub fn of_bytes(&self) -> DeviceConfig {
        DeviceConfig { timing: None, endurance: None, ..self.clone() }
    }
}

/// Size and number of reclaim units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReclaimUnitConfig {
    /// Size of a reclaim unit, 1 MiB to 64 GiB, a multiple of the page.
    pub size: Bytes,
    /// Number of physical reclaim units in all groups. Give this or `overprovisioning`, not both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Garbage collection: the choice of victims, and when it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// Victim selection policy.
    pub policy: String,
    /// Number of reclaim units that the d-choices policy compares, 1 to 10000.
    pub choices: u32,
    /// Share of the closed reclaim units, oldest first, from which the windowed-greedy policy
    /// chooses: above 0, up to 1.
    pub window: f64,
    /// Background GC runs while free reclaim units are at most this share of all, rounded down;
    /// 0 switches it off. The default is that of WARP's emulator.
    pub background_free: f64,
    /// Background GC collects its victim only if at most this share of it is valid ("lazy"). The
    /// default is that of WARP's emulator.
    pub background_max_valid: f64,
    /// Forced GC runs while free reclaim units are at most this share of all, rounded down, and
    /// always while fewer than two are free. The default is that of WARP's emulator.
    pub forced_free: f64,
    /// With `fdp = false`: whether relocated data goes to an open reclaim unit of its own (true)
    /// or into the one that the host writes (false).
    pub separate: bool,
    /// Open reclaim unit that takes relocated data. Default: the policy's choice, which is
    /// "isolation" for all but `gittins`; `adaptive` changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// With `gc.destination = "generation"`: number of generations of relocated data that get reclaim
    /// units of their own, 1 to 8. Data moved more often joins the last generation.
    pub generations: u8,
    /// Separation of data by lifetime within each handle, without hints from the host, for written
    /// and relocated data alike. It excludes `gc.destination`. Default: none, except for `gittins`, which
    /// chooses "deathtime" if there is no `gc.destination` and enough space, and `adaptive`, which changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separation: Option<Separation>,
    /// Which of a victim's pages fill the open reclaim unit if not all of them fit.
    pub order: RelocationOrder,
}

/// The open reclaim unit that takes relocated data.
///
/// The specification requires that data of a persistently isolated handle never shares a reclaim unit
/// with that of another handle. The rest is the firmware's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Destination {
    /// By the handle's isolation: one shared by all initially isolated handles, and one for each
    /// persistently isolated handle.
    Isolation,
    /// The one that the host writes through the same handle.
    Host,
    /// One for all data. Refused where a handle is persistently isolated.
    Shared,
    /// One for each handle, regardless of its isolation.
    Handle,
    /// One for each handle and number of times the data was moved, up to `gc.generations`. If the policy
    /// chooses this: fewer, so that each has at least five spare reclaim units.
    Generation,
    /// As "isolation", but by the handle whose command finds too few free units, instead of the victim's.
    /// That handle is drawn in proportion to recent commands, leaving out the handle that took the last
    /// unit; background GC uses handle 0. Data of persistently isolated handles mixes, which violates the
    /// specification. WARP's emulator does this (docs/studies/validation.md).
    Writer,
}

/// The order in which a victim's valid pages are moved: it decides which of them share a reclaim unit
/// with those of the previous victim, and which begin the next.
///
/// No specification defines it. It matters if pages of different age or stream share reclaim units,
/// because pages written together tend to be invalidated together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RelocationOrder {
    /// In the order in which they were written: runs of pages stay together.
    Written,
    /// Every run is spread over both reclaim units, in proportion to their free space: as in a device
    /// that moves its victim die by die, with consecutive pages on different dies. FEMU, the basis of
    /// WARP's emulator, does this, and its measured curves tell the two orders apart (docs/studies/validation.md).
    #[default]
    Spread,
}

/// One namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceConfig {
    /// Capacity of the namespace, rounded down to whole pages.
    pub size: Bytes,
    /// Reclaim unit handles behind placement handles 0, 1, ... of this namespace. An empty list means
    /// handle 0 alone.
    #[serde(default)]
    pub handles: Vec<u16>,
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
