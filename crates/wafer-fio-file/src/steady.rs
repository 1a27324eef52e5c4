//! The options of `steadystate`.

use super::value;
use wafer_fio::job::{Measure, SteadyState};

/// Options that have no effect without `steadystate_duration`.
pub(super) const STEADY_STATE: [&str; 4] =
    ["steadystate", "steadystate_ramp_time", "steadystate_check_interval", "group_reporting"];

/// The values of the options, initially fio's defaults.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steady {
    measure: Measure,
    slope: bool,
    limit: f64,
    percent: bool,
    /// 0: off.
    pub(super) duration_us: u64,
    pub(super) ramp_us: u64,
    pub(super) interval_us: u64,
}

impl Default for Steady {
    fn default() -> Self {
        Steady {
            measure: Measure::Iops,
            slope: true,
            limit: 0.01,
            percent: true,
            duration_us: 0,
            ramp_us: 0,
            interval_us: SECOND_US,
        }
    }
}

const SECOND_US: u64 = 1_000_000;

const MEASURES: &[(&str, (Measure, bool))] = &[
    ("iops", (Measure::Iops, false)),
    ("iops_slope", (Measure::Iops, true)),
    ("bw", (Measure::Bandwidth, false)),
    ("bw_slope", (Measure::Bandwidth, true)),
    ("lat", (Measure::Latency, false)),
    ("lat_slope", (Measure::Latency, true)),
];

impl Steady {
    /// Reads `steadystate`, such as "iops_slope:0.3%".
    pub(super) fn criterion(&mut self, text: &str, kb: u64) -> Result<(), String> {
        let Some((measure, limit)) = text.split_once(':') else {
            return Err("needs a limit after a colon, such as iops_slope:0.3%".to_owned());
        };
        (self.measure, self.slope) = value::word(measure.trim(), MEASURES)?;
        let percent = limit.trim().strip_suffix('%');
        self.percent = percent.is_some();
        self.limit = match (percent, self.measure) {
            (Some(percent), _) => value::float(percent.trim())?,
            (None, Measure::Iops) => value::float(limit.trim())?,
            (None, Measure::Bandwidth) => value::size(limit.trim(), kb)? as f64,
            (None, Measure::Latency) => value::time_us(limit.trim(), false)? as f64 * 1e3,
        };
        if self.limit < 0.0 {
            return Err("the limit is below 0".to_owned());
        }
        Ok(())
    }

    /// Returns the criterion that ends a job, or the option at fault and why.
    pub(super) fn resolve(&self) -> Result<Option<SteadyState>, (&'static str, String)> {
        if self.duration_us == 0 {
            return Ok(None);
        }
        if self.interval_us < SECOND_US {
            return Err(("steadystate_check_interval", "less than a second".to_owned()));
        }
        let intervals = self.duration_us / self.interval_us;
        if intervals < 2 || !self.duration_us.is_multiple_of(self.interval_us) {
            let why = "must be a multiple of steadystate_check_interval, at least twice";
            return Err(("steadystate_duration", why.to_owned()));
        }
        let Steady { measure, slope, limit, percent, .. } = *self;
        Ok(Some(SteadyState {
            measure,
            slope,
            limit,
            percent,
            intervals: intervals as usize,
            interval: self.interval_us.saturating_mul(1000),
            ramp: self.ramp_us.saturating_mul(1000),
        }))
    }
}
