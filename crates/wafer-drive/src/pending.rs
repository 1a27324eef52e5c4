//! What the device reports while it executes commands.

use wafer_interface::{FdpEvent, MediaWork, Observer};

/// Maximum number of pending events. On a drive of realistic size, a batch of commands causes fewer.
const MOST_PENDING: usize = 4096;

/// Reports that the drive has not handled yet.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) events: Vec<FdpEvent>,
    /// Media work of the last command, if wanted.
    pub(crate) work: Vec<MediaWork>,
    pub(crate) wants_work: bool,
}

impl Observer for Pending {
    #[inline(always)]
    fn wants_media(&self) -> bool {
        self.wants_work
    }

    fn media(&mut self, work: &MediaWork) {
        self.work.push(*work);
    }

    fn event(&mut self, event: &FdpEvent) {
        if self.events.len() < MOST_PENDING {
            self.events.push(*event);
        }
    }
}
