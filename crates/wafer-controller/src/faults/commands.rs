//! Injected command failures.

use serde::{Deserialize, Serialize};
use wafer_nvme::{Sqe, Status};

use super::{Faults, TooMany, add};
use crate::{Controller, Failure, Subsystem};

/// A number of commands of an opcode to fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailingCommand {
    /// Whether it is a command of the admin queue.
    pub admin: bool,
    /// Its opcode.
    pub opcode: u8,
    /// Status Code Type in bits 10:8, Status Code in bits 7:0.
    pub status: u16,
    /// Do Not Retry.
    pub dnr: bool,
    /// Number of commands still to fail.
    pub count: u32,
    /// NQN of the host whose commands fail. Default: every host.
    pub host: Option<String>,
    /// NSID of the commands. Default: any.
    pub namespace: Option<u32>,
}

impl FailingCommand {
    fn concerns(&self, controller: &Controller, qid: u16, sqe: &Sqe) -> bool {
        (self.admin, self.opcode) == (qid == 0, sqe.opcode)
            && self.host.as_ref().is_none_or(|host| *host == controller.hostnqn)
            && self.namespace.is_none_or(|nsid| nsid == sqe.nsid.get())
    }
}

impl Faults {
    /// Returns the failure of a command that is to fail, and counts it.
    pub fn fail(&self, controller: &Controller, qid: u16, sqe: &Sqe) -> Option<Failure> {
        if !self.is_armed() {
            return None;
        }
        self.change(|injected| {
            let mut rules = injected.failing.iter_mut();
            let rule = rules.find(|rule| rule.concerns(controller, qid, sqe))?;
            rule.count = rule.count.saturating_sub(1);
            let status = Status(rule.status);
            // Unrecovered Read Error and failed checks of data, which SMART counts as media errors.
            let medium = (0x281..=0x284).contains(&status.0);
            let failure = Failure { retry: !rule.dnr, medium, ..status.into() };
            injected.failing.retain(|rule| rule.count > 0);
            Some(failure)
        })
    }
}

impl Subsystem {
    /// Injects failures of commands.
    ///
    /// # Errors
    /// There are too many faults.
    pub fn fail_commands(&self, commands: FailingCommand) -> Result<(), TooMany> {
        self.faults.change(|injected| add(&mut injected.failing, commands))
    }
}
