//! Device Self-test: of the drive alone, or also of one namespace, or of all that the host sees.

use wafer_nvme::{SelfTestCdw10, SelfTestCode, Sqe, Status};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::nsid::BROADCAST;

pub(super) struct SelfTest {
    code: SelfTestCode,
    nsid: u32,
}

impl AdminCommand<'_> for SelfTest {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let code = SelfTestCode(SelfTestCdw10::of(sqe).stc());
        if ![SelfTestCode::SHORT, SelfTestCode::EXTENDED, SelfTestCode::ABORT].contains(&code) {
            return Err(SelfTestCdw10::new().with_stc(1).location().into());
        }
        Ok(SelfTest { code, nsid: sqe.nsid.get() })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let SelfTest { code, nsid } = self;
        let drive = &controller.subsystem.drive;
        if code == SelfTestCode::ABORT {
            drive.abort_self_test();
            return Ok(Reply::default());
        }
        let nsids = match nsid {
            0 => Vec::new(),
            BROADCAST => controller.nsids(true),
            nsid => {
                controller.active(nsid)?.ok_or(Status::INVALID_FIELD)?;
                vec![nsid]
            }
        };
        drive.begin_self_test(code, nsids, controller.cntlid)?;
        Ok(Reply::default())
    }
}
