//! Abort. Only asynchronous event requests wait long enough to be aborted; every other command completes before an
//! Abort is processed. Reads that an operator delays are not aborted.

use wafer_nvme::{AbortCdw10, Sqe};

use super::{AdminCommand, Controller, Failure, Reply};

pub(super) struct Abort {
    sqid: u16,
    cid: u16,
}

/// Bit 0 of dword 0 of the completion: the command was not aborted.
const NOT_ABORTED: u32 = 1;

impl AdminCommand<'_> for Abort {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let cdw10 = AbortCdw10::of(sqe);
        Ok(Abort { sqid: cdw10.sqid(), cid: cdw10.cid() })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let mut state = controller.state();
        let mut waiting = state.async_requests.iter();
        let Some(at) = waiting.position(|cid| self.sqid == 0 && *cid == self.cid) else {
            return Ok(Reply::dw0(NOT_ABORTED));
        };
        state.async_requests.remove(at);
        state.aborted.push(self.cid);
        drop(state);
        controller.wake.notify_one();
        Ok(Reply::default())
    }
}
