//! The machine of a run.

use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a result record says about the machine.
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
    /// Describes this machine; "unknown" where the system does not report a value.
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

/// Returns the value of the line `key` of a `/proc` file in kB, in bytes.
fn kilobytes(path: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

/// Returns the largest resident set of this process so far, bytes; 0 if the system does not report it.
pub fn peak_rss_bytes() -> u64 {
    kilobytes("/proc/self/status", "VmHWM").unwrap_or(0)
}

/// Returns the memory available to runs, bytes: the minimum of the system's and what is left of the control group's
/// limit. None if neither is known.
#[cfg(not(target_arch = "wasm32"))]
pub fn available_memory() -> Option<u64> {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    [kilobytes("/proc/meminfo", "MemAvailable"), group].into_iter().flatten().min()
}

/// Returns the memory available to runs, bytes: what a module may still take of its 4 GiB.
#[cfg(target_arch = "wasm32")]
pub fn available_memory() -> Option<u64> {
    const PAGE: u64 = 64 << 10;
    let taken = std::arch::wasm32::memory_size::<0>() as u64 * PAGE;
    Some((4 << 30) - taken.min(4 << 30))
}
