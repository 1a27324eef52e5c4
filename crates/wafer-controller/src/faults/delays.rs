//! Slow reads, as on a drive whose error recovery rereads a block many times.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use wafer_nvme::{NvmOpcode, RwCdw12, Sqe};

use super::{Faults, TooMany, add};
use crate::Subsystem;

/// Longest delay.
pub const MAX_DELAY: Duration = Duration::from_secs(60);

/// Blocks whose reads are slow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadDelay {
    /// NSID.
    pub namespace: u32,
    /// First logical block.
    pub lba: u64,
    /// Number of logical blocks.
    pub blocks: u64,
    /// Time until the completion.
    pub milliseconds: u32,
}

impl ReadDelay {
    fn overlaps(&self, namespace: u32, lba: u64, blocks: u64) -> bool {
        self.namespace == namespace
            && lba < self.lba.saturating_add(self.blocks)
            && self.lba < lba.saturating_add(blocks)
    }
}

impl Faults {
    /// Returns the delay of a Read or Verify, if any: that of its slowest block.
    pub fn delay(&self, sqe: &Sqe) -> Option<Duration> {
        if !self.is_armed()
            || ![NvmOpcode::READ, NvmOpcode::VERIFY].contains(&NvmOpcode(sqe.opcode))
        {
            return None;
        }
        let blocks = u64::from(RwCdw12::of(sqe).nlb_z()) + 1;
        let injected = self.lock();
        let delays = injected.delays.iter();
        let slow = delays.filter(|d| d.overlaps(sqe.nsid.get(), sqe.cdw10_11(), blocks));
        slow.map(|d| Duration::from_millis(d.milliseconds.into()).min(MAX_DELAY)).max()
    }
}

impl Subsystem {
    /// Injects slow reads.
    ///
    /// # Errors
    /// There are too many faults.
    pub fn delay_reads(&self, delay: ReadDelay) -> Result<(), TooMany> {
        self.faults.change(|injected| add(&mut injected.delays, delay))
    }

    /// Removes the delays that overlap a range, and returns their number.
    pub fn clear_delays(&self, namespace: u32, lba: u64, blocks: u64) -> usize {
        self.faults.change(|injected| {
            let before = injected.delays.len();
            injected.delays.retain(|delay| !delay.overlaps(namespace, lba, blocks));
            before - injected.delays.len()
        })
    }
}
