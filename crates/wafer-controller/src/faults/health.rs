//! Values of the SMART log.

use serde::{Deserialize, Serialize};

use crate::features::temperature::COMPOSITE;
use crate::logs::smart::AVAILABLE_SPARE;
use crate::{Kind, Subsystem};

/// Injected values of the SMART log; none is the drive's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Health {
    /// Available Spare, percent.
    pub available_spare: Option<u8>,
    /// Composite Temperature, kelvin.
    pub temperature: Option<u16>,
    /// Percentage Used.
    pub percentage_used: Option<u8>,
    /// Bits of Critical Warning beside those that follow from the values.
    pub critical_warning: u8,
}

impl Health {
    pub(crate) fn available_spare(&self) -> u8 {
        self.available_spare.unwrap_or(AVAILABLE_SPARE)
    }

    pub(crate) fn temperature(&self) -> u16 {
        self.temperature.unwrap_or(COMPOSITE)
    }
}

impl Subsystem {
    /// Has SMART report other values. Hosts that enabled them get an event for each critical warning that comes up.
    pub fn set_health(&self, health: Health) {
        let controllers = self.controllers();
        let of_hosts = || controllers.iter().filter(|c| c.kind == Kind::Io);
        let before: Vec<_> = of_hosts().map(|c| c.warnings()).collect();
        let temperatures = (self.faults.health().temperature(), health.temperature());
        let warnings = || self.warnings(self.drive.is_saved(), Default::default());
        let own = warnings();
        self.faults.lock().health = health;
        self.log_warnings(own, warnings());
        self.log_temperature(temperatures);
        for (controller, before) in of_hosts().zip(before) {
            controller.warnings_changed(before, controller.warnings());
        }
    }
}
