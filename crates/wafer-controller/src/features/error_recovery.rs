//! Error Recovery of a namespace: whether reading a deallocated or unwritten block is an error. The retry time limit is
//! kept without effect, because nothing is retried. Everything lasts until a reset.

use std::sync::atomic::Ordering;

use wafer_nvme::{ErrorRecovery, Fid, Status};

use super::{Controller, Feature, Get, Reply};
use crate::nsid::BROADCAST;

pub(super) const ERROR_RECOVERY: Feature = Feature {
    fid: Fid::ERROR_RECOVERY,
    get: |controller, Get { sqe, default, .. }| {
        let namespace = controller.active(sqe.nsid.get())?.ok_or(Status::INVALID_FIELD)?;
        let current = controller.error_recovery(namespace.nsid);
        Ok(Reply::dw0(if *default { 0 } else { current.into_bits() }))
    },
    set: |controller, set| {
        let mut state = controller.state();
        if set.sqe.nsid.get() == BROADCAST {
            state.error_recovery.clear();
        }
        state.error_recovery.insert(set.sqe.nsid.get(), ErrorRecovery::from_bits(set.value()));
        let any = state.error_recovery.values().any(|recovery| recovery.dulbe());
        controller.dulbe.store(any, Ordering::Release);
        Ok(Reply::default())
    },
};

impl Controller {
    /// Returns the Error Recovery feature of a namespace: its own, or the one set for all.
    fn error_recovery(&self, nsid: u32) -> ErrorRecovery {
        let state = self.state();
        let found = [nsid, BROADCAST].iter().find_map(|key| state.error_recovery.get(key));
        found.copied().unwrap_or_default()
    }

    /// Returns whether reading a deallocated or unwritten block of a namespace is an error.
    pub fn is_deallocated_error(&self, nsid: u32) -> bool {
        self.dulbe.load(Ordering::Acquire) && self.error_recovery(nsid).dulbe()
    }
}
