//! What hosts may do during a Sanitize operation, or after a failed one (Base 2.1, 8.1.24).

use wafer_nvme::{AdminOpcode, Fid, GetLogCdw10, Lid, SetFeaturesCdw10, Sqe};

use super::{Controller, Failure, Kind, Subsystem};

/// Allowed admin commands; Get Log Page and Set Features are allowed in part.
const COMMANDS: [AdminOpcode; 8] = [
    AdminOpcode::GET_LOG_PAGE,
    AdminOpcode::IDENTIFY,
    AdminOpcode::ABORT,
    AdminOpcode::SET_FEATURES,
    AdminOpcode::GET_FEATURES,
    AdminOpcode::ASYNC_EVENT_REQUEST,
    AdminOpcode::KEEP_ALIVE,
    AdminOpcode::SANITIZE,
];
/// Allowed log pages: those that hosts need to connect and to follow the operation.
const LOG_PAGES: [Lid; 10] = [
    Lid::SUPPORTED,
    Lid::ERROR,
    Lid::SMART,
    Lid::FIRMWARE,
    Lid::CHANGED_NAMESPACES,
    Lid::EFFECTS,
    Lid::FEATURE_EFFECTS,
    Lid::ANA,
    Lid::RESERVATION_NOTIFICATION,
    Lid::SANITIZE_STATUS,
];
/// Features that must not change, because they belong to namespaces and their data.
const FIXED_FEATURES: [Fid; 3] = [Fid::FDP, Fid::FDP_EVENTS, Fid::WRITE_PROTECTION];

impl Controller {
    /// Checks that an admin command may be executed now.
    ///
    /// # Errors
    /// Sanitize In Progress, Sanitize Failed.
    pub(crate) fn check_sanitize(&self, sqe: &Sqe) -> Result<(), Failure> {
        let Err(status) = self.subsystem.drive.check_sanitize() else { return Ok(()) };
        let opcode = AdminOpcode(sqe.opcode);
        let allowed = self.kind == Kind::Discovery
            || match opcode {
                AdminOpcode::GET_LOG_PAGE => LOG_PAGES.contains(&Lid(GetLogCdw10::of(sqe).lid())),
                AdminOpcode::SET_FEATURES => {
                    !FIXED_FEATURES.contains(&Fid(SetFeaturesCdw10::of(sqe).fid()))
                }
                _ => COMMANDS.contains(&opcode),
            };
        if allowed { Ok(()) } else { Err(status.into()) }
    }
}

impl Subsystem {
    /// Notifies all controllers that a Sanitize operation has ended.
    pub(crate) fn sanitized(&self) {
        self.log_sanitize_completion();
        for controller in self.controllers().iter().filter(|c| c.kind == Kind::Io) {
            controller.state().events.sanitize.raise();
            controller.wake.notify_one();
        }
    }
}
