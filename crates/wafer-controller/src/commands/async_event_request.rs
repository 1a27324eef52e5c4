//! Asynchronous Event Request.

use wafer_nvme::{Sqe, Status};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::MAX_ASYNC_EVENTS;

pub(super) struct AsyncEventRequest {
    cid: u16,
}

impl AdminCommand<'_> for AsyncEventRequest {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        Ok(AsyncEventRequest { cid: sqe.cid.get() })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let mut state = controller.state();
        if state.async_requests.len() >= MAX_ASYNC_EVENTS {
            return Err(Status::ASYNC_EVENT_LIMIT.into());
        }
        state.async_requests.push_back(self.cid);
        Ok(Reply { deferred: true, ..Default::default() })
    }
}
