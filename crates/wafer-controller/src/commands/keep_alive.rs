//! Keep Alive.

use wafer_nvme::Sqe;

use super::{AdminCommand, Controller, Failure, Reply};

pub(super) struct KeepAlive;

impl AdminCommand<'_> for KeepAlive {
    fn parse(_sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        Ok(KeepAlive)
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        controller.touch();
        Ok(Reply::default())
    }
}
