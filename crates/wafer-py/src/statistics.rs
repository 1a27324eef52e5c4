//! Statistics and endurance, computed by `wafer-record`.

use pyo3::prelude::*;
use wafer_interface::Bytes;
use wafer_record::endurance::{CONSTANTS, Drive, Rating};
use wafer_record::statistics::{self, Change, Mean};
use wafer_record::{RecordError, Volume};

use crate::error::raise;

/// Returns the bytes of a size such as `3.84TB`; `name` is its name in messages.
#[pyfunction]
pub(crate) fn parse_size(py: Python<'_>, size: &str, name: &str) -> PyResult<u64> {
    let parsed = size.parse::<Bytes>();
    Ok(parsed.map_err(|e| raise(py, "ConfigError", &format!("{name}: {e}")))?.0)
}

/// Returns the bytes of a volume such as `8x` or `2TiB` on a device of `capacity` bytes.
#[pyfunction]
pub(crate) fn volume_bytes(py: Python<'_>, volume: &str, capacity: u64) -> PyResult<u64> {
    let parsed = volume.parse::<Volume>();
    match parsed.map_err(|e| raise(py, "ConfigError", &format!("volume: {e}")))? {
        Volume::Multiple(times) => Ok((capacity as f64 * times).round() as u64),
        Volume::Bytes(bytes) => Ok(bytes.0),
    }
}

/// Returns the two-sided quantile of Student's t; NaN without degrees of freedom.
#[pyfunction]
pub(crate) fn student(py: Python<'_>, freedom: u64, confidence: f64) -> PyResult<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        let reason = format!("confidence: {confidence} is not between 0 and 1");
        return Err(raise(py, "ConfigError", &reason));
    }
    Ok(statistics::student(usize::try_from(freedom).unwrap_or(usize::MAX), confidence))
}

/// Returns the mean and half the width of its interval, NaN for a single value; none without values.
#[pyfunction]
pub(crate) fn mean(values: Vec<f64>) -> Option<(f64, f64)> {
    Mean::of(&values).map(|mean| (mean.value, mean.half_width.unwrap_or(f64::NAN)))
}

/// Compares pairs (A, B). Returns the change as a share of A, and the bounds of its interval.
#[pyfunction]
pub(crate) fn change(py: Python<'_>, pairs: Vec<(f64, f64)>) -> PyResult<(f64, f64, f64)> {
    let change = Change::of(&pairs).map_err(|e| wrong(py, &e))?;
    let (low, high) = change.bounds.unwrap_or((f64::NAN, f64::NAN));
    Ok((change.share, low, high))
}

/// Returns the defaults of the data sheet: name, value, low, high, unit and source.
#[pyfunction]
pub(crate) fn endurance_constants() -> Vec<(&'static str, f64, f64, f64, &'static str, &'static str)>
{
    CONSTANTS.iter().map(|c| (c.name, c.value, c.low, c.high, c.unit, c.source)).collect()
}

/// The attributes of `wafer.endurance.Drive`.
#[derive(FromPyObject)]
pub(crate) struct DataSheet {
    bytes: u64,
    dwpd: Option<f64>,
    tbw: Option<f64>,
    rated_waf: f64,
    warranty_years: f64,
    price: Option<f64>,
    watts: f64,
    embodied_carbon: f64,
    grid_intensity: f64,
    longest_life: Option<f64>,
}

impl DataSheet {
    fn drive(self, py: Python<'_>) -> PyResult<Drive> {
        let rating = match (self.dwpd, self.tbw) {
            (Some(dwpd), None) => Rating::Dwpd(dwpd),
            (None, Some(tbw)) => Rating::Tbw(tbw),
            _ => return Err(raise(py, "ConfigError", "drive: give either dwpd or tbw")),
        };
        let drive = Drive {
            bytes: self.bytes,
            rating,
            rated_waf: self.rated_waf,
            warranty_years: self.warranty_years,
            price: self.price,
            watts: self.watts,
            embodied_carbon: self.embodied_carbon,
            grid_intensity: self.grid_intensity,
            longest_life: self.longest_life,
        };
        drive.check().map_err(|e| wrong(py, &e))?;
        Ok(drive)
    }
}

/// Returns the bytes of media writes that a drive is rated for.
#[pyfunction]
pub(crate) fn rated_media_bytes(py: Python<'_>, drive: DataSheet) -> PyResult<f64> {
    Ok(drive.drive(py)?.media_bytes())
}

/// Returns the attributes of `wafer.endurance.Life` in order; the cost is NaN without a price.
#[pyfunction]
pub(crate) fn life(
    py: Python<'_>,
    drive: DataSheet,
    waf: f64,
    host_bytes_per_day: f64,
) -> PyResult<(f64, f64, f64, f64, f64, f64)> {
    let life = drive.drive(py)?.life(waf, host_bytes_per_day).map_err(|e| wrong(py, &e))?;
    let cost = life.cost_per_year.unwrap_or(f64::NAN);
    Ok((life.years, life.dwpd, life.tbw, life.dwpd_over_warranty, cost, life.carbon_per_year))
}

fn wrong(py: Python<'_>, error: &RecordError) -> PyErr {
    raise(py, "ConfigError", &error.to_string())
}
