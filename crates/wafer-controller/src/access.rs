//! What a host may do on its controller.

use std::sync::Arc;

use wafer_auth::Credentials;
use wafer_nvme::{AdminOpcode, CommandInfo, Status};

use super::{Controller, Failure, Kind};

/// Admin commands that need [`Rights::manage`](wafer_auth::Rights::manage), as do some features of Set Features.
const MANAGEMENT: [AdminOpcode; 7] = [
    AdminOpcode::NAMESPACE_MANAGEMENT,
    AdminOpcode::FIRMWARE_COMMIT,
    AdminOpcode::FIRMWARE_DOWNLOAD,
    AdminOpcode::LOCKDOWN,
    AdminOpcode::NAMESPACE_ATTACHMENT,
    AdminOpcode::FORMAT_NVM,
    AdminOpcode::SANITIZE,
];

impl Controller {
    /// Returns how the host authenticates, or `None` if it does not have to.
    pub fn credentials(&self) -> Option<Arc<Credentials>> {
        // Every host may use discovery.
        let asks = self.kind == Kind::Discovery;
        if asks { None } else { self.subsystem.access().credentials(&self.hostnqn) }
    }

    /// Checks that the host may manage the drive.
    ///
    /// # Errors
    /// Operation Denied: the host lacks the access right (Base 2.1, Generic Command Status).
    pub(crate) fn check_manage(&self) -> Result<(), Failure> {
        if self.rights.manage { Ok(()) } else { Err(Status::OPERATION_DENIED.into()) }
    }

    /// Returns the rows of the admin commands that the host may use.
    pub(crate) fn admin_commands(&self) -> impl Iterator<Item = &'static CommandInfo> {
        let all = self.subsystem.support.admin_commands();
        all.filter(|row| self.check_right(AdminOpcode(row.opcode)).is_ok())
    }

    /// Checks that the host may use an admin command.
    ///
    /// # Errors
    /// As [`Self::check_manage`].
    pub(crate) fn check_right(&self, opcode: AdminOpcode) -> Result<(), Failure> {
        if MANAGEMENT.contains(&opcode) { self.check_manage() } else { Ok(()) }
    }
}
