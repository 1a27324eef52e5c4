//! Injected values of the SMART log.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use wafer_drive::Spare;

use crate::features::temperature::COMPOSITE;
use crate::{Kind, Subsystem};

/// Injected values of the SMART log; `None` leaves the drive's own value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Health {
    /// Available Spare, percent.
    pub available_spare: Option<u8>,
    /// Composite Temperature, kelvin.
    pub temperature: Option<u16>,
    /// Percentage Used.
    pub percentage_used: Option<u8>,
    /// Bits of Critical Warning in addition to those implied by the values.
    pub critical_warning: u8,
}

impl Health {
    pub(crate) fn available_spare(&self, own: Spare) -> u8 {
        self.available_spare.unwrap_or(own.percent)
    }

    pub(crate) fn temperature(&self) -> u16 {
        self.temperature.unwrap_or(COMPOSITE)
    }
}

impl Subsystem {
    /// Has SMART report injected values.
    pub fn set_health(&self, health: Health) {
        let temperatures = (self.faults.health().temperature(), health.temperature());
        self.with_warnings(|| {
            self.faults.worn_out.store(health.available_spare == Some(0), Ordering::Relaxed);
            self.faults.lock().health = health;
        });
        self.log_temperature(temperatures);
    }

    /// Makes a change that may raise critical warnings, each of which is sent to the hosts that enabled it.
    pub(crate) fn with_warnings<T>(&self, change: impl FnOnce() -> T) -> T {
        let controllers = self.controllers();
        let of_hosts = || controllers.iter().filter(|c| c.kind == Kind::Io);
        let before: Vec<_> = of_hosts().map(|c| c.warnings()).collect();
        let warnings = || self.warnings(Default::default());
        let own = warnings();
        let changed = change();
        self.log_warnings(own, warnings());
        for (controller, before) in of_hosts().zip(before) {
            controller.warnings_changed(before, controller.warnings());
        }
        changed
    }
}
