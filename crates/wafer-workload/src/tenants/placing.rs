//! Placement that the drive gives to commands of hosts that know nothing of it.

use std::ops::Range;

use wafer_core::{Command, Placement};

/// Logical blocks of a namespace that have a placement handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedRange {
    /// The blocks.
    pub blocks: Range<u64>,
    /// Their placement handle.
    pub handle: u16,
}

/// Placement of the commands of a tenant that have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantPlacement {
    handle: Option<u16>,
    /// In order, without overlap.
    ranges: Vec<PlacedRange>,
}

impl TenantPlacement {
    /// By range of addresses, and `handle` for what no range has; without it the namespace's first.
    ///
    /// # Errors
    /// Ranges that are empty or overlap: the position of the first that does.
    pub fn new(handle: Option<u16>, mut ranges: Vec<PlacedRange>) -> Result<Self, usize> {
        for (i, range) in ranges.iter().enumerate() {
            let overlaps = |other: &PlacedRange| {
                range.blocks.start < other.blocks.end && other.blocks.start < range.blocks.end
            };
            if range.blocks.is_empty() || ranges[..i].iter().any(overlaps) {
                return Err(i);
            }
        }
        ranges.sort_by_key(|range| range.blocks.start);
        Ok(TenantPlacement { handle, ranges })
    }

    /// Gives a command its placement. One that crosses the border of a range becomes two.
    pub(crate) fn place(&self, command: Command, out: &mut Vec<Command>) {
        if command.placement != Placement::NONE {
            out.push(command);
            return;
        }
        let default = self.handle.map_or(Placement::NONE, Placement);
        if self.ranges.is_empty() {
            out.push(Command { placement: default, ..command });
            return;
        }
        let (mut at, end) = (command.lba, command.lba + u64::from(command.blocks));
        let first = self.ranges.partition_point(|range| range.blocks.end <= at);
        let mut part = |at: u64, to: u64, placement| {
            if to > at {
                out.push(Command { lba: at, blocks: (to - at) as u32, placement, ..command });
            }
        };
        for range in &self.ranges[first..] {
            if range.blocks.start >= end {
                break;
            }
            part(at, range.blocks.start, default);
            at = at.max(range.blocks.start);
            let to = end.min(range.blocks.end);
            part(at, to, Placement(range.handle));
            at = to;
        }
        part(at, end, default);
    }
}
