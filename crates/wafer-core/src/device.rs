//! Interface stub; the engine lands here.
use crate::*;

/// Sizes that follow from a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Logical pages of the device.
    pub logical_pages: u64,
    /// Pages of one reclaim unit.
    pub pages_per_ru: u32,
    /// Physical reclaim units.
    pub ru_count: u32,
    /// Forced GC runs while at most this many are free.
    pub forced_free: u32,
    /// Background GC runs while at most this many are free.
    pub background_free: u32,
    /// Bytes of each namespace.
    pub namespace_bytes: Vec<u64>,
}

impl Geometry {
    /// Checks and resolves a configuration.
    pub fn resolve(config: &DeviceConfig) -> Result<Geometry, ConfigError> {
        let _ = config;
        Err(ConfigError::new("capacity", "stub"))
    }

    /// Bytes of memory that a device of this geometry needs.
    pub fn memory_bytes(&self) -> u64 {
        self.logical_pages * 4
    }
}

/// Sees what the device does. Every method has an empty default.
pub trait Observer {}
impl Observer for () {}

/// A simulated FDP drive.
pub struct Device<O: Observer = ()> {
    geometry: Geometry,
    counters: Counters,
    observer: O,
}

impl Device<()> {
    /// A fresh device: nothing mapped, every handle with an empty open reclaim unit. `seed` feeds the policies that draw.
    pub fn new(config: &DeviceConfig, seed: u64) -> Result<Self, ConfigError> {
        Self::with_observer(config, seed, ())
    }
}

impl<O: Observer> Device<O> {
    /// As [`Device::new`] with an observer.
    pub fn with_observer(config: &DeviceConfig, _seed: u64, observer: O) -> Result<Self, ConfigError> {
        Ok(Device { geometry: Geometry::resolve(config)?, counters: Counters::default(), observer })
    }
    /// Applies commands in order.
    pub fn apply(&mut self, commands: &[Command]) {
        for c in commands {
            self.counters.host_bytes += c.bytes();
        }
    }
    /// Sizes.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
    /// Device counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// Counters of each handle.
    pub fn handle_counters(&self) -> &[HandleCounters] {
        &[]
    }
    /// Counters of the GC open reclaim unit that initially isolated handles share; none without one.
    pub fn gc_counters(&self) -> Option<HandleCounters> {
        None
    }
    /// Sets all counters to zero; data stays.
    pub fn reset_counters(&mut self) {
        self.counters = Counters::default();
    }
    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }
}

/// One line about a GC policy.
pub struct PolicyInfo {
    /// Value of `gc.policy`.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
}

/// All GC policies.
pub fn policies() -> &'static [PolicyInfo] {
    &[PolicyInfo { name: "greedy", summary: "fewest valid pages" }]
}
