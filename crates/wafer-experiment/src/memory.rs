//! Available memory, the memory that a run took, and whether one fits.

use std::fs;

use crate::error::LabError;

/// Refuses a run that needs more bytes of memory than are available, if that is known. The message begins with `what`.
///
/// # Errors
/// The run does not fit.
pub fn refuse_if_short(what: String, needed: u64, available: Option<u64>) -> Result<(), LabError> {
    match available {
        Some(available) if needed > available => Err(LabError::Memory { what, needed, available }),
        _ => Ok(()),
    }
}

/// Returns the value of the line `key` of a `/proc` file, converted from kB to bytes.
fn kilobytes(path: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

/// Returns the peak resident set size of this process so far in bytes; 0 if the system does not report it.
pub fn peak_rss_bytes() -> u64 {
    kilobytes("/proc/self/status", "VmHWM").unwrap_or(0)
}

/// Returns the memory available to runs in bytes: the minimum of the system's available memory and the rest of the
/// control group's limit. `None` if neither is known.
#[cfg(not(target_arch = "wasm32"))]
pub fn available_memory() -> Option<u64> {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    [kilobytes("/proc/meminfo", "MemAvailable"), group].into_iter().flatten().min()
}

/// Returns the memory available to runs in bytes: the rest of the 4 GiB that a module may take.
#[cfg(target_arch = "wasm32")]
pub fn available_memory() -> Option<u64> {
    const PAGE: u64 = 64 << 10;
    let taken = std::arch::wasm32::memory_size::<0>() as u64 * PAGE;
    Some((4 << 30) - taken.min(4 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_fit_is_refused_with_the_estimate() {
        let check = |available| refuse_if_short("a on device b".into(), 3 << 30, available);
        let error = check(Some(1 << 30)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a on device b needs 3.0 GiB of memory, but only 1.0 GiB are available"
        );
        assert!(error.is_usage());
        assert!(check(Some(3 << 30)).is_ok() && check(None).is_ok());
    }
}
