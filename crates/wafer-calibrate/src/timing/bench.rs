//! A scaled drive that stands in for a larger one: same dies, times and OP, smaller reclaim units.
//!
//! Latency does not depend on capacity: a die's work per second follows from the write rate and the WAF, and the WAF
//! from over-provisioning. The number of reclaim units is kept.

use std::path::PathBuf;

use toml_edit::DocumentMut;
use wafer_config::{ResolvedDevice, device_from_text};
use wafer_fio_file::Target;
use wafer_interface::{GcPacing, TimingConfig};
use wafer_lab::{Control, Experiment, FioSource, LabError, Options, Workload, run};

use super::jobs;
use super::measured::{Latency, PERCENTILES, Row};
use super::writes::Amplification;

/// Bytes of a scaled reclaim unit.
const UNIT: u64 = 4 << 20;
/// Approximate maximum capacity of the scaled drive in bytes.
const MOST: u64 = 5 << 30;
/// Minimum pages of a scaled reclaim unit.
const LEAST_PAGES: u64 = 256;

/// The scaled drive.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    device: ResolvedDevice,
    /// Bytes of the full-size drive.
    whole: u64,
}

/// The measurements of one load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) read: Latency,
    pub(crate) write: Latency,
    pub(crate) work: Amplification,
    /// Writes of 4 KiB per second.
    pub(crate) writes_per_s: f64,
}

impl Bench {
    /// Scales a device whose file has this text.
    ///
    /// # Errors
    /// If the scaled device is invalid.
    pub(crate) fn new(device: &ResolvedDevice, text: &str) -> Result<Self, LabError> {
        let whole = device.config.reclaim_unit.size.0;
        let page = device.geometry.page_bytes;
        let count = u64::from(device.geometry.ru_count);
        let mut unit = whole.min(UNIT.max(LEAST_PAGES * page));
        while unit * count > MOST && unit / 2 >= LEAST_PAGES * page {
            unit /= 2;
        }
        Self::with_unit(device, text, unit / page * page)
    }

    /// Scales a device to reclaim units of `unit` bytes.
    ///
    /// # Errors
    /// If the scaled device is invalid.
    pub(crate) fn with_unit(
        device: &ResolvedDevice,
        text: &str,
        unit: u64,
    ) -> Result<Self, LabError> {
        let page = device.geometry.page_bytes;
        let whole = device.config.reclaim_unit.size.0;
        let capacity = (device.config.capacity.0 as f64 * (unit as f64 / whole as f64)
            / page as f64) as u64
            * page;
        let mut document: DocumentMut = (text.parse()).map_err(|e: toml_edit::TomlError| {
            LabError::config(device.name.clone(), e.message())
        })?;
        // Namespaces have the sizes of the full-size drive.
        document.remove("namespaces");
        let scale = [format!("capacity={capacity}"), format!("reclaim_unit.size={unit}")];
        let scaled = device_from_text(&device.name, &document.to_string(), &scale)?;
        Ok(Bench { device: scaled, whole: device.geometry.namespace_bytes().iter().sum() })
    }

    /// Runs the load of a row for `seconds` of model time.
    ///
    /// # Errors
    /// If the drive or its times are invalid, or the run was stopped.
    pub(crate) fn run(
        &self,
        timing: &TimingConfig,
        row: &Row,
        seconds: f64,
        seed: u64,
        control: Control<'_>,
    ) -> Result<Outcome, LabError> {
        let mut device = self.device.clone();
        // A scaled reclaim unit cannot hold a burst, so reads do not wait for bursts.
        device.config.timing = Some(TimingConfig { gc_pacing: GcPacing::Smooth, ..timing.clone() });
        let milliseconds = (seconds * 1e3).round();
        // Repeating passes would invalidate all data of a reclaim unit at the same time.
        let limits =
            format!("time_based\nruntime={milliseconds}ms\nramp_time=100ms\nrandrepeat=0\n");
        let geometry = &self.device.geometry;
        let measured = Target {
            namespace_bytes: vec![row.drive_bytes.unwrap_or(self.whole)],
            namespace_handles: (geometry.namespace_handles.iter())
                .map(|handles| handles.len() as u16 * geometry.groups)
                .collect(),
            page_bytes: geometry.page_bytes,
        };
        let bytes = geometry.namespace_bytes().iter().sum();
        let jobs = jobs::scaled(&row.jobs, &row.name, &measured, bytes)?;
        let text = jobs.replacen("[global]\n", &format!("[global]\n{limits}"), 1);
        let source = FioSource { path: PathBuf::from(format!("{}.fio", row.name)), text };
        let options = Options {
            seed: Some(seed),
            timed: Some(true),
            precondition: Some(row.before.parse().unwrap_or_default()),
            samples: Some(2),
            ..Options::default()
        };
        let experiment = Experiment::of(device, Workload::new(source), &options);
        let record = run(&experiment, control)?;
        let time = record.time.unwrap_or_default();
        let latency = |requests: Option<&wafer_record::time::Requests>| {
            let Some(requests) = requests else { return Latency::default() };
            let percentile =
                |(_, percent): (&str, &str)| requests.percentiles_us.get(percent).copied();
            Latency { mean: Some(requests.mean_us), percentiles: PERCENTILES.map(percentile) }
        };
        let job = |name: &str| time.jobs.get(name);
        let (reads, writes) = (&row.probes.0, &row.probes.1);
        Ok(Outcome {
            read: latency(job(reads).and_then(|job| job.read.as_ref())),
            write: latency(job(writes).and_then(|job| job.write.as_ref())),
            writes_per_s: time.write.map_or(0.0, |all| all.bytes_per_second / 4096.0),
            work: Amplification::of(&record.summary, geometry.page_bytes),
        })
    }
}
