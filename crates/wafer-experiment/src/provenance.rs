//! The provenance of a record: version, configuration, workload, seed and host.

use std::time::SystemTime;

use wafer_config::ResolvedDevice;
use wafer_record::Kind;
use wafer_record::host::Host;
use wafer_record::record::{IgnoredOption, Provenance, WorkloadRecord, rfc3339};

use crate::experiment::Experiment;

/// The commit that the library was built from, or "unknown".
pub const GIT: &str = env!("WAFER_GIT");

/// Returns the provenance of a record of a device whose run started at `started`.
pub fn provenance(device: &ResolvedDevice, kind: Kind, started: SystemTime) -> Provenance {
    Provenance {
        kind,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git: Some(GIT.to_owned()),
        config: serde_json::to_value(&device.config).ok(),
        geometry: Some(device.geometry_record()),
        device: device.name.clone(),
        started: Some(rfc3339(started)),
        host: Some(Host::this()),
        ..Provenance::default()
    }
}

impl Experiment {
    /// Returns the provenance of a run of this experiment.
    pub fn provenance(&self, started: SystemTime, ignored: Vec<IgnoredOption>) -> Provenance {
        let workload = WorkloadRecord {
            kind: self.workload.kind().to_owned(),
            path: self.workload.path(),
            text: self.workload.text(),
            volume: self.volume,
            pace: self.pace.clone(),
            pace_from: self.pace_from.as_deref().map(|path| path.display().to_string()),
            precondition: self.precondition,
            ignored,
            jobs: self.workload.jobs(&self.target()).unwrap_or_default(),
        };
        Provenance {
            workload: Some(workload),
            seed: Some(self.seed),
            ..provenance(&self.device, Kind::Simulated, started)
        }
    }
}
