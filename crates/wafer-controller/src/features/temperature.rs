//! Temperature Threshold: the limits of the composite temperature. Beyond them, SMART raises a critical warning.

use wafer_nvme::{Fid, TemperatureThreshold};

use super::{Controller, Failure, Feature, Get, Reply, Set};
use crate::identify::WARNING_TEMPERATURE;

/// Composite temperature, kelvin: 30 degrees Celsius, unless another is injected. Nothing is measured.
pub(crate) const COMPOSITE: u16 = 303;
/// Temperature Select: the composite temperature, the only one supported.
const SELECT_COMPOSITE: u8 = 0;
/// Temperature Select of Set Features: all temperatures.
const SELECT_ALL: u8 = 0xf;

pub(super) const TEMPERATURE_THRESHOLD: Feature =
    Feature { fid: Fid::TEMPERATURE_THRESHOLD, get, set };

/// Limits of the composite temperature, kelvin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thresholds {
    over: u16,
    under: u16,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { over: WARNING_TEMPERATURE, under: 0 }
    }
}

impl Thresholds {
    /// Returns whether a temperature is beyond a limit.
    pub(crate) fn exceeded(self, temperature: u16) -> bool {
        temperature >= self.over || temperature <= self.under
    }

    /// Returns the limit that a command selects.
    fn select(&mut self, threshold: TemperatureThreshold) -> Result<&mut u16, Failure> {
        match threshold.thsel() {
            0 => Ok(&mut self.over),
            1 => Ok(&mut self.under),
            _ => Err(TemperatureThreshold::new().with_thsel(1).location().into()),
        }
    }
}

fn get(controller: &Controller, get: &Get<'_>) -> Result<Reply, Failure> {
    let asked = TemperatureThreshold::of(get.sqe);
    if asked.tmpsel() != SELECT_COMPOSITE {
        return Err(TemperatureThreshold::new().with_tmpsel(1).location().into());
    }
    let current = if get.default { Thresholds::default() } else { controller.state().thresholds };
    let limit = *current.clone().select(asked)?;
    Ok(Reply::dw0(TemperatureThreshold::new().with_tmpth(limit).into_bits()))
}

fn set(controller: &Controller, set: &Set<'_>) -> Result<Reply, Failure> {
    let wanted = TemperatureThreshold::of(set.sqe);
    if ![SELECT_COMPOSITE, SELECT_ALL].contains(&wanted.tmpsel()) {
        return Err(TemperatureThreshold::new().with_tmpsel(1).location().into());
    }
    // One event each time that the temperature passes a limit.
    let before = controller.warnings();
    *controller.state().thresholds.select(wanted)? = wanted.tmpth();
    controller.warnings_changed(before, controller.warnings());
    Ok(Reply::default())
}
