//! Lockdown.

use wafer_nvme::{LockdownCdw10, LockdownScope, Sqe};

use super::{AdminCommand, Controller, Failure, Reply};

/// Interface: admin submission queues. There is no out-of-band management.
const ADMIN_QUEUES: u8 = 0;

pub(super) struct Lockdown(LockdownCdw10);

impl AdminCommand<'_> for Lockdown {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let cdw10 = LockdownCdw10::of(sqe);
        if cdw10.interface() != ADMIN_QUEUES {
            return Err(LockdownCdw10::new().with_interface(1).location().into());
        }
        if LockdownScope(cdw10.scope()).name().is_none() {
            return Err(LockdownCdw10::new().with_scope(1).location().into());
        }
        Ok(Lockdown(cdw10))
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let (scope, identifier) = (LockdownScope(self.0.scope()), self.0.identifier());
        controller.subsystem.lockdown.set(scope, identifier, self.0.prohibit())?;
        Ok(Reply::default())
    }
}
