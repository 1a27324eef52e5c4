//! Log pages and features of the OCP Datacenter NVMe SSD specification 2.0 (2.5 where noted) for a drive.
//!
//! # What it is
//! [`Ocp`] is the drive's state for the specification, in addition to its files. The functions create log pages;
//! nothing here depends on controllers or commands.
//!
//! # Architecture
//! - `smart.rs` C0h, `firmware_history.rs` C2h, `latency.rs` C3h, `capabilities.rs` C4h; C1h is [`error_recovery`].
//! - `settings.rs`: features with a single number.
//!
//! # Invariants
//! A setting is valid or refused. Settings that a host saves are in effect when the drive is opened again; the others
//! end with the process.
//!
//! # Error model
//! Features fail with the [`Status`](wafer_nvme::Status) of their command.
//!
//! # What it does not implement
//! Whatever needs PCI Express, TCG, a panic, or capacitors: `docs/reference/nvme.md` lists it.

pub mod capabilities;
pub mod firmware_history;
pub mod latency;
mod settings;
pub mod smart;

use wafer_drive::Drive;
use wafer_nvme::{ERROR_RECOVERY_GUID, OcpErrorRecoveryLog};

use latency::LatencyMonitor;
use settings::Settings;
pub use settings::{FailureMode, Setting, Value};

/// UUID of the specification, in the order of the UUID List of Identify.
pub const UUID: [u8; 16] = 0xc194_d55b_e094_4794_a21d_2999_8f56_be6f_u128.to_be_bytes();
/// The drive's only DSSD Power State, in watts.
pub const POWER: u8 = 25;

/// The drive's state for the specification.
pub struct Ocp {
    /// Latencies of commands, if a host enabled the monitor.
    pub latency: LatencyMonitor,
    settings: Settings,
}

impl Ocp {
    /// Creates the state from the settings saved with a drive.
    pub fn new(drive: &Drive) -> Self {
        Ocp { latency: LatencyMonitor::new(drive), settings: Settings::new(drive) }
    }
}

/// Returns the Error Recovery log: the drive has had no panic, so there is nothing to recover from.
pub fn error_recovery() -> OcpErrorRecoveryLog {
    OcpErrorRecoveryLog { version: 2.into(), guid: ERROR_RECOVERY_GUID, ..Default::default() }
}
