//! The handles of recent writes. With `gc.destination = "writer"`, forced GC relocates to the reclaim unit of one of
//! them.
//!
//! Such a device collects on behalf of whichever command in flight comes next, which depends on queues and pollers that
//! are not modelled. Instead, the handle is drawn in proportion to the commands of each, excluding that of the command
//! just served, since those of other jobs are ahead of its job's next one.

use serde::{Deserialize, Serialize};

use wafer_policies::DeviceRng;

/// Number of commands after which older ones count half: a few queues of depth 32.
const WINDOW: u32 = 128;

/// Number of recent write commands by handle, older ones with less weight. Empty unless requested.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Writers {
    counts: Vec<u32>,
    total: u32,
}

impl Writers {
    /// Creates counts for `handles` handles; with 0, nothing is counted.
    pub(crate) fn new(handles: u16) -> Self {
        Writers { counts: vec![0; usize::from(handles)], total: 0 }
    }

    /// Returns whether the counts are consistent and those of `handles` handles.
    pub(crate) fn is_whole(&self, handles: usize) -> bool {
        let sum: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        self.counts.len() == handles && sum == u64::from(self.total) && self.total < WINDOW
    }

    /// Counts commands. Counting them one by one or all at once gives the same result.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, handle: u32, commands: u32) {
        if !self.counts.is_empty() {
            self.count(handle, commands);
        }
    }

    #[cold]
    fn count(&mut self, handle: u32, mut commands: u32) {
        while commands > 0 {
            let step = commands.min(WINDOW - self.total);
            self.counts[handle as usize] += step;
            self.total += step;
            commands -= step;
            if self.total == WINDOW {
                self.counts.iter_mut().for_each(|count| *count /= 2);
                self.total = self.counts.iter().sum();
            }
        }
    }

    /// Draws a handle in proportion to their commands, excluding `asking` unless no other handle writes.
    pub(crate) fn draw(&self, asking: u32, rng: &mut DeviceRng) -> u32 {
        let others = self.total - self.counts[asking as usize];
        if others == 0 {
            return asking;
        }
        let mut at = rng.below(others);
        for (handle, count) in self.counts.iter().enumerate() {
            match at.checked_sub(*count) {
                _ if handle == asking as usize => {}
                None => return handle as u32,
                Some(rest) => at = rest,
            }
        }
        asking
    }
}

#[cfg(test)]
mod tests;
