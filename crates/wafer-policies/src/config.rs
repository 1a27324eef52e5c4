//! The configuration of garbage collection: every key with its unit and default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use wafer_separation::Separation;

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
    /// Background GC collects its victim only if at most this share of it is valid ("lazy"), and never
    /// a full one. The default is that of WARP's emulator.
    pub background_max_valid: f64,
    /// Forced GC runs while free reclaim units are at most this share of all, rounded down, and
    /// always while fewer than two are free. The default is that of WARP's emulator.
    pub forced_free: f64,
    /// With `fdp = false`: whether relocated data goes to a separate open reclaim unit (true) or to the one that the
    /// host writes (false).
    pub separate: bool,
    /// Open reclaim unit that receives relocated data. Default: the policy's choice, which is "isolation" except for
    /// `gittins` and `midas`, which choose "generation", and `adaptive`, which changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// With `gc.destination = "generation"`: number of generations of relocated data that get separate reclaim units, 1
    /// to 8. Data moved more often joins the last generation.
    pub generations: u8,
    /// Separation of data by lifetime within each handle, without hints from the host, for written and relocated data
    /// alike. Excludes `gc.destination`. Default: none, except that without `gc.destination` and with enough space
    /// `gittins` chooses "deathtime" and `midas` "midas"; `adaptive` changes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separation: Option<Separation>,
    /// Which of a victim's pages fill the open reclaim unit if not all of them fit.
    pub order: RelocationOrder,
}

/// The open reclaim unit that receives relocated data.
///
/// The specification requires that data of a persistently isolated handle never shares a reclaim unit with that of
/// another handle. Everything else is up to the firmware.
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
    /// One for each handle and number of times the data was moved, up to `gc.generations`. If the policy chooses this:
    /// fewer if needed, so that each has at least five spare reclaim units.
    Generation,
    /// As "isolation", but by the handle whose command finds too few free units instead of the victim's. That handle is
    /// drawn in proportion to recent commands, excluding the handle that took the last unit; background GC uses handle
    /// 0. This mixes data of persistently isolated handles, which violates the specification. WARP's emulator does this
    /// (docs/studies/validation.md).
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
    /// Every run is spread over both reclaim units, in proportion to their free space: as in a device that moves its
    /// victim die by die, with consecutive pages on different dies. FEMU, the basis of WARP's emulator, does this, and
    /// its measured curves distinguish the two orders (docs/studies/validation.md).
    #[default]
    Spread,
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
