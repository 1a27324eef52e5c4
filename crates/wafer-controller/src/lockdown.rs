//! Commands and features that hosts have locked, until the server exits, which is a power cycle (Base 2.1, 8.1.5).

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wafer_nvme::{AdminOpcode, LockdownScope, SetFeaturesCdw10, Sqe, Status};

use super::features::FEATURES;
use super::{Controller, Failure};

/// Admin commands that can be prohibited. Hosts need the others to detect the lockdown and to use namespaces.
const COMMANDS: [AdminOpcode; 10] = [
    AdminOpcode::SET_FEATURES,
    AdminOpcode::NAMESPACE_MANAGEMENT,
    AdminOpcode::FIRMWARE_COMMIT,
    AdminOpcode::FIRMWARE_DOWNLOAD,
    AdminOpcode::SELF_TEST,
    AdminOpcode::NAMESPACE_ATTACHMENT,
    AdminOpcode::DIRECTIVE_SEND,
    AdminOpcode::LOCKDOWN,
    AdminOpcode::FORMAT_NVM,
    AdminOpcode::SANITIZE,
];

/// The prohibitions of a subsystem.
#[derive(Default)]
pub(crate) struct Lockdown {
    commands: Mutex<BTreeSet<u8>>,
    features: Mutex<BTreeSet<u8>>,
}

impl Lockdown {
    fn of(&self, scope: LockdownScope) -> Option<MutexGuard<'_, BTreeSet<u8>>> {
        let locked = match scope {
            LockdownScope::ADMIN_COMMAND => &self.commands,
            LockdownScope::SET_FEATURES => &self.features,
            _ => return None,
        };
        Some(locked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the prohibited identifiers, ascending; `None` for an unsupported scope.
    pub(crate) fn prohibited(&self, scope: LockdownScope) -> Option<Vec<u8>> {
        Some(self.of(scope)?.iter().copied().collect())
    }

    /// Prohibits a command or feature, or allows it again.
    ///
    /// # Errors
    /// `PROHIBITION_NOT_SUPPORTED`: it cannot be prohibited.
    pub(crate) fn set(
        &self,
        scope: LockdownScope,
        identifier: u8,
        prohibit: bool,
    ) -> Result<(), Status> {
        let can = supported(scope).is_some_and(|identifiers| identifiers.contains(&identifier));
        let locked = self.of(scope).filter(|_| can);
        let mut locked = locked.ok_or(Status::PROHIBITION_NOT_SUPPORTED)?;
        if prohibit {
            locked.insert(identifier)
        } else {
            locked.remove(&identifier)
        };
        Ok(())
    }
}

/// Returns the identifiers that can be prohibited, ascending; `None` for an unsupported scope.
pub(crate) fn supported(scope: LockdownScope) -> Option<Vec<u8>> {
    match scope {
        LockdownScope::ADMIN_COMMAND => Some(COMMANDS.iter().map(|opcode| opcode.0).collect()),
        LockdownScope::SET_FEATURES => {
            let changeable = FEATURES.iter().map(|feature| feature.fid);
            let changeable = changeable.filter(|fid| fid.info().is_some_and(|row| row.changeable));
            Some(changeable.map(|fid| fid.0).collect::<BTreeSet<_>>().into_iter().collect())
        }
        _ => None,
    }
}

impl Controller {
    /// Checks that an admin command is not prohibited.
    ///
    /// # Errors
    /// `PROHIBITED_BY_LOCKDOWN`.
    pub(crate) fn check_lockdown(&self, sqe: &Sqe) -> Result<(), Failure> {
        let is_locked = |scope, identifier| {
            let locked = self.subsystem.lockdown.of(scope);
            locked.is_some_and(|locked| locked.contains(&identifier))
        };
        let feature = SetFeaturesCdw10::of(sqe).fid();
        let sets = sqe.opcode == AdminOpcode::SET_FEATURES.0;
        if is_locked(LockdownScope::ADMIN_COMMAND, sqe.opcode)
            || sets && is_locked(LockdownScope::SET_FEATURES, feature)
        {
            return Err(Status::PROHIBITED_BY_LOCKDOWN.into());
        }
        Ok(())
    }
}
