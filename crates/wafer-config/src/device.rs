//! Loads devices by name or file, with overrides, into a resolved configuration, or an error that names file, line and
//! key.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_device::policy::POLICIES;
use wafer_device::{DeviceConfig, Geometry, Layout};
use wafer_interface::{Bytes, GcPacing};
use wafer_record::files::read_text;
use wafer_record::record::GeometryRecord;

use crate::error::{ConfigError, one_line};
use crate::layers::Layers;
use crate::profiles::{profile, profiles};
use crate::schema::names;
use crate::suggest::did_you_mean;

/// The description of a device in its file, in addition to its configuration.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct About {
    /// One-line description of the device.
    description: Option<String>,
    /// Maximum media write rate of the real drive, in bytes per second; used only to compare times.
    write_rate: Option<Bytes>,
}

/// A device with all keys and sizes resolved.
#[derive(Clone, Debug)]
pub struct ResolvedDevice {
    /// Profile name, or the file's path as given.
    pub name: String,
    /// One-line description of the device, from its file.
    pub description: Option<String>,
    /// Maximum media write rate of the real drive, in bytes per second; used only to compare times.
    pub write_rate: Option<Bytes>,
    /// The configuration with every key resolved.
    pub config: DeviceConfig,
    /// Sizes that follow from the configuration.
    pub geometry: Geometry,
    /// Where the device puts data.
    pub layout: Layout,
    /// Notes for the user, such as an unexpected consequence of overrides.
    pub notices: Vec<String>,
}

/// One line of a list of devices.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceSummary {
    /// Profile name or file.
    pub name: String,
    /// One-line description.
    pub description: String,
    /// Logical capacity in bytes.
    pub capacity: u64,
    /// Bytes of a reclaim unit.
    pub reclaim_unit_size: u64,
    /// Physical reclaim units.
    pub reclaim_unit_count: u32,
    /// (physical - logical) / logical.
    pub overprovisioning: f64,
    /// Reclaim unit handles.
    pub handles: u16,
    /// "initially" or "persistently"; "none" for a device without FDP.
    pub isolation: String,
    /// Bytes of memory that a simulation takes.
    pub memory_bytes: u64,
}

impl ResolvedDevice {
    /// Logical capacity in bytes.
    pub fn logical_bytes(&self) -> u64 {
        self.geometry.logical_bytes()
    }

    /// Returns (physical - logical) / logical capacity.
    pub fn overprovisioning(&self) -> f64 {
        overprovisioning(&self.geometry)
    }

    /// Returns the maximum memory that a simulation of the device takes, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.layout.memory_bytes(&self.geometry)
    }

    /// Returns the sizes of the device for a record.
    pub fn geometry_record(&self) -> GeometryRecord {
        let geometry = &self.geometry;
        let group = geometry.group_range(0).len() as u32;
        GeometryRecord {
            page_bytes: geometry.page_bytes,
            logical_pages: geometry.logical_pages,
            pages_per_ru: geometry.pages_per_ru,
            ru_count: geometry.ru_count,
            groups: geometry.groups,
            forced_free: geometry.forced_free(group),
            background_free: geometry.background_free(group),
            overprovisioning: self.overprovisioning(),
        }
    }

    /// Returns the entry of the device in a list of devices.
    pub fn summary(&self) -> DeviceSummary {
        let isolation = match (self.config.fdp, self.config.isolation) {
            (false, _) => "none",
            (true, wafer_device::Isolation::Initially) => "initially",
            (true, wafer_device::Isolation::Persistently) => "persistently",
        };
        DeviceSummary {
            name: self.name.clone(),
            description: self.description.clone().unwrap_or_default(),
            capacity: self.logical_bytes(),
            reclaim_unit_size: self.config.reclaim_unit.size.0,
            reclaim_unit_count: self.geometry.ru_count,
            overprovisioning: self.overprovisioning(),
            handles: self.config.handles,
            isolation: isolation.to_owned(),
            memory_bytes: self.memory_bytes(),
        }
    }
}

/// Loads a device from a shipped profile, by name, or a TOML file, and applies `KEY=VALUE` overrides.
///
/// # Errors
/// There is no such profile or file, or the configuration is invalid.
pub fn load_device(device: &str, overrides: &[String]) -> Result<ResolvedDevice, ConfigError> {
    let unknown = |reason: String| ConfigError::new(format!("device {device}"), reason);
    resolve(device, base_layers(device, Path::new(""), unknown)?, overrides)
}

/// Loads a device from the text of a TOML file, and applies `KEY=VALUE` overrides; `label` names the text in messages.
///
/// # Errors
/// Like [`load_device`].
pub fn device_from_text(
    label: &str,
    text: &str,
    overrides: &[String],
) -> Result<ResolvedDevice, ConfigError> {
    resolve(label, Layers::from_text(label, text)?, overrides)
}

/// Reads a profile by name, or a file relative to `folder`. `unknown` creates the error if there is neither.
pub fn base_layers(
    device: &str,
    folder: &Path,
    unknown: impl FnOnce(String) -> ConfigError,
) -> Result<Layers, ConfigError> {
    if let Some(profile) = profile(device) {
        return Layers::from_text(&profile.path, &profile.text);
    }
    let path = folder.join(device);
    if !path.exists() {
        if device.contains('/') || path.extension().is_some() {
            return Err(unknown(format!("no such file: {}", path.display())));
        }
        let names: Vec<String> = profiles().into_iter().map(|profile| profile.name).collect();
        return Err(unknown(format!("no such profile{}", did_you_mean(device, &names))));
    }
    Layers::from_text(&path.display().to_string(), &read_text(&path)?)
}

/// Applies overrides, checks everything and resolves the sizes.
pub fn resolve(
    name: &str,
    mut layers: Layers,
    overrides: &[String],
) -> Result<ResolvedDevice, ConfigError> {
    let about: About = layers.take(&names::<About>())?;
    let before = layers.clone();
    layers.set_all(overrides)?;
    let config: DeviceConfig = layers.read()?;
    check_policy(&layers, &config)?;
    let (geometry, layout) =
        config.resolve().map_err(|e| layers.error(&e.key, &one_line(&e.message)))?;
    if let Some(timing) = &config.timing {
        let checked = timing.check_limits();
        let checked = checked.and_then(|()| timing.check(geometry.page_bytes, geometry.groups));
        checked.map_err(|(key, reason)| layers.error(key, &reason))?;
    }
    let media_pages = u64::from(geometry.ru_count) * u64::from(geometry.pages_per_ru);
    let spare = media_pages.saturating_sub(geometry.logical_pages) * geometry.page_bytes;
    let timing = config.timing.as_ref().filter(|timing| timing.gc_pacing == GcPacing::Burst);
    let endless = timing.is_some_and(|timing| timing.gc_burst.0 > spare);
    let mut device = ResolvedDevice {
        name: name.to_owned(),
        description: about.description,
        write_rate: about.write_rate,
        config,
        geometry,
        layout,
        notices: Vec::new(),
    };
    if endless {
        device.notices.push(format!(
            "timing.gc_burst is more than the spare space of {}: garbage collection stays that far behind",
            Bytes(spare)
        ));
    }
    for (key, needed) in idle_keys(&device.config) {
        if layers.is_overridden(key) {
            device.notices.push(format!("{key} has no effect without {needed}"));
        }
    }
    let resized = layers.is_overridden("capacity") || layers.is_overridden("reclaim_unit.size");
    let kept = layers.has("reclaim_unit.count") && !layers.is_overridden("reclaim_unit.count");
    if resized && kept && is_respaced(&before, &device.geometry) {
        device.notices.push(format!(
            "reclaim_unit.count stays {} from {name}, so over-provisioning is now {:.1} %; set \
             overprovisioning or reclaim_unit.count to choose it",
            device.geometry.ru_count,
            100.0 * device.overprovisioning()
        ));
    }
    Ok(device)
}

/// Returns keys without effect in a configuration, each with the setting that would give it one.
fn idle_keys(config: &DeviceConfig) -> impl Iterator<Item = (&'static str, &'static str)> {
    let policy = config.gc.policy.as_str();
    let keys = [
        ("streams", "fdp = false", config.fdp),
        ("gc.separate", "fdp = false", config.fdp),
        ("handles", "fdp = true", !config.fdp),
        ("groups", "fdp = true", !config.fdp),
        ("gc.choices", "gc.policy = \"d-choices\"", policy != "d-choices"),
        ("gc.window", "gc.policy = \"windowed-greedy\"", policy != "windowed-greedy"),
    ];
    let timing = config.timing.as_ref().map(|timing| {
        let never_yields = timing.slice_us == 0.0 && timing.erase_slice_us == 0.0;
        let slices = "timing.slice_us or timing.erase_slice_us";
        let burst = timing.gc_pacing == GcPacing::Burst;
        let no_cache = config.firmware.slc_cache.0 == 0;
        [
            ("timing.arbitration_burst", "timing.command_slots", timing.command_slots.is_none()),
            ("timing.gc_knee", "timing.gc_credit", timing.gc_credit.is_none()),
            ("timing.gc_burst", "timing.gc_pacing = \"burst\"", !burst),
            ("timing.missed_slices", slices, never_yields),
            ("timing.resume_us", slices, never_yields),
            ("timing.slc_program_us", "firmware.slc_cache", no_cache),
            ("timing.slc_read_us", "firmware.slc_cache", no_cache),
        ]
    });
    let keys = keys.into_iter().chain(timing.into_iter().flatten());
    keys.filter(|(.., idle)| *idle).map(|(key, needed, _)| (key, needed))
}

/// Reports whether overrides changed the over-provisioning by more than a tenth.
fn is_respaced(before: &Layers, now: &Geometry) -> bool {
    let Ok(Ok((before, _))) = before.read().map(|config: DeviceConfig| config.resolve()) else {
        return true;
    };
    let (before, now) = (overprovisioning(&before), overprovisioning(now));
    (now - before).abs() > 0.1 * before
}

fn overprovisioning(geometry: &Geometry) -> f64 {
    let physical = f64::from(geometry.ru_count) * f64::from(geometry.pages_per_ru);
    physical / geometry.logical_pages as f64 - 1.0
}

fn check_policy(layers: &Layers, config: &DeviceConfig) -> Result<(), ConfigError> {
    let known: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
    if known.contains(&config.gc.policy.as_str()) {
        return Ok(());
    }
    let reason =
        format!("no policy `{}`{}", config.gc.policy, did_you_mean(&config.gc.policy, &known));
    Err(layers.error("gc.policy", &reason))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
