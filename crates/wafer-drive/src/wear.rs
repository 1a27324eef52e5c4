//! Wear of the media: the used share of the rated life.

use wafer_interface::RuId;
use wafer_record::endurance;

use super::{Drive, snapshot};

/// Wear of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wear {
    /// Media bytes that the rating allows.
    pub rated_bytes: u64,
    /// Used share of them in percent, rounded down. It may exceed 100.
    pub used_percent: u64,
    /// Mean erase count of the reclaim units over the life of the drive, rounded down.
    pub mean_erases: u64,
    /// Erase count of the most erased reclaim unit.
    pub most_erases: u64,
    /// Erase count of the least erased reclaim unit.
    pub least_erases: u64,
    /// Free reclaim units in percent of all, rounded down.
    pub free_percent: u8,
}

impl Drive {
    /// Returns the current wear. Walks over the reclaim units under the lock.
    pub fn wear(&self) -> Wear {
        let now = self.counters();
        let inner = self.lock();
        let (device, geometry) = (&inner.device, inner.device.geometry());
        let ru_bytes = geometry.page_bytes * u64::from(geometry.pages_per_ru);
        let physical = (ru_bytes * u64::from(geometry.ru_count)).max(1);
        // A change of the FDP configuration restarts the counts of the reclaim units.
        let before = inner.life.earlier.erased_bytes / physical;
        let erases = || (0..geometry.ru_count).map(|ru| u64::from(device.erase_count(RuId(ru))));
        let free = snapshot::free(device);
        let pe_cycles = inner.config.endurance.as_ref().map(|endurance| endurance.pe_cycles);
        let rated = endurance::Drive::of_device(now.capacity_bytes, physical, pe_cycles);
        let rated = rated.media_bytes();
        Wear {
            rated_bytes: rated as u64,
            used_percent: (now.lifetime.media_bytes as f64 / rated * 100.0) as u64,
            mean_erases: now.lifetime.erased_bytes / physical,
            most_erases: before + erases().max().unwrap_or(0),
            least_erases: before + erases().min().unwrap_or(0),
            free_percent: (free * 100 / u64::from(geometry.ru_count).max(1)) as u8,
        }
    }
}
