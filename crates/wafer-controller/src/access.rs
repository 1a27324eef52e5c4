//! Which hosts may connect, and what they may do.
//!
//! Names are not proof: whoever knows the NQN of a host can use it. Access keeps hosts from harming each other by
//! mistake; a network that only the hosts reach keeps out everybody else.

use std::collections::BTreeMap;

use wafer_nvme::{AdminOpcode, CommandInfo, Status};

use super::{Controller, Failure};

/// Admin commands that need [`Rights::manage`]. Set Features needs it for FDP and write protection.
const MANAGEMENT: [AdminOpcode; 7] = [
    AdminOpcode::NAMESPACE_MANAGEMENT,
    AdminOpcode::FIRMWARE_COMMIT,
    AdminOpcode::FIRMWARE_DOWNLOAD,
    AdminOpcode::LOCKDOWN,
    AdminOpcode::NAMESPACE_ATTACHMENT,
    AdminOpcode::FORMAT_NVM,
    AdminOpcode::SANITIZE,
];

/// What a host may do beside reading and writing the namespaces attached to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Create, delete, attach, detach, format and write protect namespaces, sanitize, switch FDP, update
    /// firmware, and lock commands and features.
    pub manage: bool,
}

/// The rights of all hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Those of every host.
    Everyone(Rights),
    /// Those of the hosts listed by NQN; no other host may connect.
    Listed(BTreeMap<String, Rights>),
}

impl Default for Access {
    /// Every host may do everything.
    fn default() -> Self {
        Access::Everyone(Rights { manage: true })
    }
}

impl Access {
    /// Returns the rights of a host, or `None` if it may not connect.
    pub fn rights(&self, hostnqn: &str) -> Option<Rights> {
        match self {
            Access::Everyone(rights) => Some(*rights),
            Access::Listed(hosts) => hosts.get(hostnqn).copied(),
        }
    }
}

impl Controller {
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
