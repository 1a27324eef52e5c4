//! The handlers of Get Features and Set Features.
//!
//! The scope of each feature, and whether it can be changed and saved, are in the table of `wafer_nvme`.

mod controller;
mod error_recovery;
mod fdp;
mod kept;
mod ocp;
mod reservation;
pub(super) mod temperature;
mod write_protection;

use wafer_nvme::{FeatureInfo, Fid, GetFeaturesCdw10, Sqe};

use super::{Controller, Failure, Kind, Reply};

/// Get Features of one feature.
pub(super) struct Get<'a> {
    pub(super) sqe: &'a Sqe,
    /// Whether the host selects the default rather than the current value.
    pub(super) default: bool,
    /// Whether the host selects the saved value, which is the default if there is none.
    pub(super) saved: bool,
}

impl Get<'_> {
    /// Returns whether the host selects the default of a feature whose current value is always saved.
    fn is_default(&self) -> bool {
        self.default && !self.saved
    }
}

/// Set Features of one feature.
pub(super) struct Set<'a> {
    pub(super) sqe: &'a Sqe,
    pub(super) data: &'a [u8],
    /// Whether to save the value.
    pub(super) save: bool,
}

impl Set<'_> {
    /// Returns command dword 11, the value of most features.
    fn value(&self) -> u32 {
        self.sqe.cdw11.get()
    }
}

/// A supported feature.
pub(super) struct Feature {
    pub(super) fid: Fid,
    pub(super) get: fn(&Controller, &Get<'_>) -> Result<Reply, Failure>,
    pub(super) set: fn(&Controller, &Set<'_>) -> Result<Reply, Failure>,
}

/// Every supported feature.
pub(super) const FEATURES: &[Feature] = &[
    kept::ARBITRATION,
    kept::POWER_MANAGEMENT,
    temperature::TEMPERATURE_THRESHOLD,
    error_recovery::ERROR_RECOVERY,
    kept::WRITE_ATOMICITY,
    controller::VOLATILE_WRITE_CACHE,
    controller::NUMBER_OF_QUEUES,
    controller::ASYNC_EVENT,
    controller::TIMESTAMP,
    controller::KEEP_ALIVE_TIMER,
    controller::HOST_BEHAVIOR,
    controller::HOST_IDENTIFIER,
    fdp::FDP,
    fdp::FDP_EVENTS,
    reservation::NOTIFICATION_MASK,
    reservation::PERSISTENCE,
    write_protection::WRITE_PROTECTION,
    ocp::ERROR_INJECTION,
    ocp::CLEAR_FIRMWARE_HISTORY,
    ocp::FAILURE_MODE,
    ocp::LATENCY_MONITOR,
    ocp::HEALTH_CHECK,
    ocp::POWER_STATE,
];

/// Returns a feature and its row.
///
/// # Errors
/// The controller does not support it.
pub(super) fn find(
    controller: &Controller,
    fid: Fid,
) -> Result<(&'static Feature, &'static FeatureInfo), Failure> {
    let feature = FEATURES.iter().find(|feature| feature.fid == fid);
    (feature.zip(fid.info()))
        .filter(|(_, info)| controller.kind == Kind::Io || info.discovery)
        .ok_or_else(|| GetFeaturesCdw10::new().with_fid(1).location().into())
}
