//! Placement that the drive assigns to commands of hosts without placement support.

use std::ops::Range;

use wafer_interface::{Command, Placement};

/// Logical blocks of a namespace with a placement handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedRange {
    /// The blocks.
    pub blocks: Range<u64>,
    /// Their placement handle.
    pub handle: u16,
}

/// Placement of a tenant's commands without a placement directive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantPlacement {
    handle: Option<u16>,
    /// In order, without overlap.
    ranges: Vec<PlacedRange>,
}

impl TenantPlacement {
    /// Places by address range. Commands outside all ranges get `handle`, by default the namespace's
    /// first.
    ///
    /// # Errors
    /// Returns the position of the first range that is empty or overlaps an earlier one.
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

    /// Returns the same placement with each handle replaced by `identifier` of it.
    pub fn map(&self, identifier: impl Fn(u16) -> u16) -> Self {
        let mut mapped = self.clone();
        mapped.handle = mapped.handle.map(&identifier);
        mapped.ranges.iter_mut().for_each(|range| range.handle = identifier(range.handle));
        mapped
    }

    /// Appends a command with its placement, split where it crosses the border of a range.
    pub(crate) fn place(&self, command: Command, out: &mut Vec<Command>) {
        if command.placement != Placement::NONE || !command.op.has_range() {
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
