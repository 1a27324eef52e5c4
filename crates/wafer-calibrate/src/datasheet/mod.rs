//! Infers a device from a data sheet.
//!
//! A data sheet gives rates. Over-provisioning (`spare.rs`) and the program time (`flash.rs`) follow
//! from them. Everything else is assumed as typical for such drives and marked so (`profile.rs`).

mod flash;
mod profile;
mod spare;

pub use profile::{Basis, Line, Profile};
use serde::Serialize;
use wafer_interface::Bytes;
use wafer_lab::LabError;

/// The figures of a drive's data sheet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Datasheet {
    /// Logical capacity.
    pub capacity: Bytes,
    /// Bytes per second of sequential reads.
    pub seq_read: Bytes,
    /// Bytes per second of sequential writes.
    pub seq_write: Bytes,
    /// Random reads of 4 KiB per second.
    pub rand_read: f64,
    /// Random writes of 4 KiB per second, in steady state.
    pub rand_write: f64,
    /// Latency of a single read of 4 KiB in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_latency: Option<f64>,
    /// Latency of a single write of 4 KiB in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_latency: Option<f64>,
    /// Drive writes per day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dwpd: Option<f64>,
    /// Power while writing sequentially, in watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<f64>,
}

/// Bytes of a data sheet's random read or write.
const PAGE: f64 = 4096.0;

impl Datasheet {
    /// Returns the device, with the reason for each line.
    ///
    /// # Errors
    /// If the data sheet contradicts itself; the message names the argument.
    pub fn profile(&self) -> Result<Profile, LabError> {
        self.check()?;
        profile::of(self)
    }

    /// Refuses impossible figures.
    fn check(&self) -> Result<(), LabError> {
        let wrong = |name, reason: String| Err(LabError::argument(name, reason));
        let capacity = self.capacity.0;
        if !(1_000_000_000..=64 << 40).contains(&capacity) {
            return wrong("capacity", format!("expected 1GB to 64TiB, not {}", self.capacity));
        }
        for (name, rate) in [("seq_read", self.seq_read), ("seq_write", self.seq_write)] {
            if !(1_000_000..=1_000_000_000_000).contains(&rate.0) {
                return wrong(name, format!("expected 1MB/s to 1TB/s, not {rate}/s"));
            }
        }
        for (name, iops) in [("rand_read", self.rand_read), ("rand_write", self.rand_write)] {
            if !(100.0..=1e9).contains(&iops) {
                return wrong(name, format!("expected 100 to 1000000000 per second, not {iops}"));
            }
        }
        let latencies =
            [("read_latency", self.read_latency), ("write_latency", self.write_latency)];
        for (name, latency) in latencies {
            let known = latency.unwrap_or(1.0);
            if !(0.1..=100_000.0).contains(&known) {
                return wrong(name, format!("expected 0.1 to 100000 microseconds, not {known}"));
            }
        }
        if let Some(dwpd) = self.dwpd.filter(|dwpd| !(0.001..=100.0).contains(dwpd)) {
            return wrong("dwpd", format!("expected 0.001 to 100 drive writes a day, not {dwpd}"));
        }
        if let Some(power) = self.power.filter(|power| !(0.1..=1000.0).contains(power)) {
            return wrong("power", format!("expected 0.1 to 1000 watts, not {power}"));
        }
        if self.seq_write.0 as f64 > 1.25 * self.seq_read.0 as f64 {
            let reason = format!(
                "{}/s are more than sequential reads, {}/s: are they exchanged?",
                self.seq_write, self.seq_read
            );
            return wrong("seq_write", reason);
        }
        let random = self.rand_write * PAGE;
        if random > self.seq_write.0 as f64 {
            let reason = format!(
                "{} IOPS are {:.0} MB/s, more than the {:.0} MB/s of sequential writes: one of them is not the rate in \
                 steady state",
                self.rand_write,
                random / 1e6,
                self.seq_write.0 as f64 / 1e6
            );
            return wrong("rand_write", reason);
        }
        let random = self.rand_read * PAGE;
        if random > 1.1 * self.seq_read.0 as f64 {
            let reason = format!(
                "{} IOPS are {:.0} MB/s, more than the {:.0} MB/s of sequential reads",
                self.rand_read,
                random / 1e6,
                self.seq_read.0 as f64 / 1e6
            );
            return wrong("rand_read", reason);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
