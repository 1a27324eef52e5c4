//! The machine of a run.

use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine of a run in a result record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Name of the machine.
    pub hostname: String,
    /// Processor model.
    pub cpu: String,
    /// Logical processors.
    pub cpus: usize,
    /// Operating system and kernel release.
    pub kernel: String,
}

impl Host {
    /// Describes this machine; a value that the system does not report is "unknown".
    pub fn this() -> Self {
        let first_line = |path: &str| {
            let text = fs::read_to_string(path).ok()?;
            Some(text.lines().next()?.trim().to_owned())
        };
        let unknown = || "unknown".to_owned();
        let cpu = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        });
        let release = first_line("/proc/sys/kernel/osrelease");
        Host {
            hostname: first_line("/proc/sys/kernel/hostname").unwrap_or_else(unknown),
            cpu: cpu.unwrap_or_else(unknown),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: release
                .map_or_else(unknown, |release| format!("{} {release}", std::env::consts::OS)),
        }
    }
}
