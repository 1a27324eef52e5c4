//! Results of a fit.

use serde::Serialize;

use super::edit::Change;
use super::measured::{Latency, Row};

/// A fitted device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The original device.
    pub device: String,
    /// The measurements.
    pub files: Vec<String>,
    /// Random seed of the runs.
    pub seed: u64,
    /// Keys of `timing`.
    pub parameters: Vec<Parameter>,
    /// Measured rows next to ours.
    pub rows: Vec<RowResult>,
    /// Notices about what could not be used or fitted, one line each.
    pub notices: Vec<String>,
    /// The device file.
    #[serde(skip)]
    pub toml: String,
}

/// A key of `timing`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// The key below `timing`.
    pub key: &'static str,
    /// The device's value.
    pub before: f64,
    /// The fitted value.
    pub after: f64,
    /// The 95 % interval, or the range that the rows allow.
    pub interval: Option<(f64, f64)>,
    /// Whether the rows identify it.
    pub identified: bool,
    /// What it follows from, or why it is unchanged.
    pub why: String,
}

impl Parameter {
    /// Returns an unchanged parameter.
    pub(super) fn kept(key: &'static str, value: f64, why: &str) -> Self {
        Parameter {
            key,
            before: value,
            after: value,
            interval: None,
            identified: false,
            why: why.to_owned(),
        }
    }

    /// Returns the change of the file; none if the value is unchanged.
    pub(super) fn change(&self) -> Option<Change> {
        let interval = match self.interval {
            Some((low, high)) => format!(", {low} to {high}"),
            None => String::new(),
        };
        let how = if self.identified { "fitted" } else { "fitted, hardly identified" };
        let why = format!("{how}: {}{interval}; was {}", self.why, self.before);
        (self.after != self.before).then_some(Change { key: self.key, value: self.after, why })
    }
}

/// What a row was used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Used by the fit.
    Fitted,
    /// Above the highest rate: determines that rate, but no latency.
    Saturated,
    /// Not used by the fit.
    Predicted,
}

/// A row with our figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowResult {
    /// Its name.
    pub name: String,
    /// Writes of 4 KiB per second.
    pub writes_per_s: f64,
    /// What it was used for.
    pub role: Role,
    /// The measured figures.
    pub figures: Vec<Figure>,
}

/// A measured figure and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name, such as `read_p99_us`.
    pub name: String,
    /// Measured value in microseconds.
    pub measured: f64,
    /// Our value in microseconds.
    pub ours: f64,
    /// (ours - measured) / measured, in percent.
    pub error_percent: f64,
}

/// Error of a fitted mean read latency above which a row contradicts the others, in percent.
const MISFIT: f64 = 10.0;
/// Ratio of fitted and measured write latency, either way, above which it does. Near the knee some writes wait and
/// others do not.
const MISFIT_OF_WRITES: f64 = 2.0;

impl RowResult {
    /// Returns lines about the reads and the writes of a fitted row that do not fit.
    pub(super) fn misfits(&self) -> Vec<String> {
        let figures = || self.figures.iter().filter(|_| self.role == Role::Fitted);
        let read = figures().find(|figure| figure.name == "read_mean_us");
        let read = read.filter(|figure| figure.error_percent.abs() > MISFIT);
        let ratio = |figure: &&Figure| (figure.ours / figure.measured).ln().abs();
        // The figure that covers most writes; the tail only if nothing else was measured.
        let write = figures().find(|figure| figure.name.starts_with("write_"));
        let write = write.filter(|figure| ratio(figure) > MISFIT_OF_WRITES.ln());
        let line = |figure: &Figure| {
            let name = figure.name.trim_end_matches("_us");
            let (direction, name) = name.split_once('_').unwrap_or_default();
            let (measured, ours) = (figure.measured, figure.ours);
            format!(
                "row {}: {name} {direction} {measured:.0} µs, {ours:.0} µs here: nothing fits this row and the others",
                self.name
            )
        };
        read.into_iter().chain(write).map(line).collect()
    }

    pub(super) fn of(row: &Row, role: Role, read: &Latency, write: &Latency) -> Self {
        let mut figures = Vec::new();
        for (direction, measured, ours) in [("read", &row.read, read), ("write", &row.write, write)]
        {
            for ((name, measured), (_, ours)) in measured.figures().zip(ours.figures()) {
                let (Some(measured), Some(ours)) = (measured, ours) else { continue };
                figures.push(Figure {
                    name: format!("{direction}_{name}_us"),
                    measured,
                    ours,
                    error_percent: 100.0 * (ours / measured - 1.0),
                });
            }
        }
        RowResult { name: row.name.clone(), writes_per_s: row.writes_per_s, role, figures }
    }
}
