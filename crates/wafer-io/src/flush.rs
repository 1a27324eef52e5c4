//! Flush.

use wafer_nvme::Sqe;

use super::{Failure, IoCommand, IoQueue, Step};
use wafer_controller::nsid::BROADCAST;

pub(super) struct Flush {
    nsid: u32,
}

impl IoCommand for Flush {
    fn parse(sqe: &Sqe) -> Result<Self, Failure> {
        Ok(Flush { nsid: sqe.nsid.get() })
    }

    fn execute(self, queue: &mut IoQueue, _: &[u8], _: &mut Vec<u8>) -> Result<Step, Failure> {
        queue.end_batch()?;
        let namespace = match self.nsid {
            BROADCAST => None,
            nsid => Some(queue.namespace(nsid)?.id()),
        };
        queue.flush(namespace)?;
        Ok(Step::Done)
    }
}
