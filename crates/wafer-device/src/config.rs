//! The device's configuration: every key with its unit and default.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use wafer_interface::{
    Bytes, EnduranceConfig, FirmwareConfig, Isolation, ServiceConfig, TimingConfig,
};
use wafer_policies::GcConfig;

/// The configuration of a device. Its keys, dotted, are those of `--set`.
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
    /// (physical - logical) / logical capacity. The number of reclaim units is `floor(capacity * (1 + overprovisioning)
    /// / reclaim_unit.size)`. Give this or `reclaim_unit.count`, not both.
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
    /// Enables Flexible Data Placement. If false, the device is conventional: it has one handle, to which all placement
    /// identifiers map, and one more for each of its `streams`.
    #[serde(default = "default_true")]
    pub fdp: bool,
    /// With `fdp = false`: number of streams that can be open at once, 0 to 127. Stream *n* is handle *n* of every
    /// namespace; writes without a stream go to handle 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub streams: u16,
    /// Garbage collection.
    #[serde(default)]
    pub gc: GcConfig,
    /// Functions of the drive besides garbage collection.
    #[serde(default, skip_serializing_if = "is_default")]
    pub firmware: FirmwareConfig,
    /// Namespaces in order of NSID, from 1. Default: one namespace of the whole capacity with a
    /// placement handle for each reclaim unit handle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<NamespaceConfig>,
    /// Service times. They only determine how jobs share the device in a closed loop.
    #[serde(default)]
    pub service: ServiceConfig,
    /// Times of media, controller and link, for runs with a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingConfig>,
    /// Endurance of the media.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endurance: Option<EnduranceConfig>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl DeviceConfig {
    /// Returns the configuration without the tables that do not change bytes: timing and endurance.
    pub fn of_bytes(&self) -> DeviceConfig {
        DeviceConfig { timing: None, endurance: None, ..self.clone() }
    }

    /// Checks that the configuration has all times that a run with a clock needs.
    ///
    /// # Errors
    /// A key is missing or contradicts another.
    pub fn check_clock(&self) -> Result<(), &'static str> {
        let Some(timing) = &self.timing else {
            return Err("`timing` is missing; a clock needs it");
        };
        let has_cache_times = timing.slc_program_us.and(timing.slc_read_us).is_some();
        if self.firmware.slc_cache.0 > 0 && !has_cache_times {
            return Err(
                "with `firmware.slc_cache` a clock needs `timing.slc_program_us` and `timing.slc_read_us`",
            );
        }
        if self.firmware.write_buffer.0 > 0 && !timing.buffer_protected {
            return Err(
                "`firmware.write_buffer` survives a power loss, but `timing.buffer_protected` is false",
            );
        }
        Ok(())
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

/// One namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamespaceConfig {
    /// Capacity of the namespace, rounded down to whole pages.
    pub size: Bytes,
    /// Reclaim unit handles of placement handles 0, 1, ... of this namespace. An empty list means handle 0 alone. With
    /// several reclaim groups, workloads number placement identifiers as Reclaim Unit Handle Status lists them:
    /// placement handle 0 in every group, then 1 in every group, ...
    #[serde(default)]
    pub handles: Vec<u16>,
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
