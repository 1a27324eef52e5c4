//! The commands of hosts: one 16-byte value each.

use crate::ids::NsId;

/// The operation of a command.
///
/// Streams, traces, captures and journals all use this set of operations. The numbers are the codes of the capture and
/// journal formats and must not change. Format NVM has none: it reaches the device as a deallocation of the whole
/// namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// Write: maps the range to new media pages.
    Write = 0,
    /// Dataset management, deallocate (TRIM): unmaps every page that lies wholly in the range.
    Deallocate = 1,
    /// Read: counted, changes nothing.
    Read = 2,
    /// Flush of the volatile write cache, without an address: changes and counts nothing.
    Flush = 3,
    /// Reclaim unit update (I/O Management Send), without an address: moves the handle of the placement identifier to
    /// an empty reclaim unit.
    Update = 4,
}

impl Op {
    /// Every operation, in the order of the codes.
    pub const ALL: [Op; 5] = [Op::Write, Op::Deallocate, Op::Read, Op::Flush, Op::Update];

    /// Returns the operation with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Op::ALL.get(usize::from(code)).copied()
    }

    /// Returns whether the operation addresses a range of logical blocks.
    pub fn has_range(self) -> bool {
        !matches!(self, Op::Flush | Op::Update)
    }
}

/// The placement identifier (PID) of a write: directive type 2 with this value in DSPEC
/// (NVM Command Set 1.1, Write command, CDW13), or [`Placement::NONE`] without a directive.
///
/// The upper RGIF bits of a PID are the reclaim group, and the rest is the placement handle, an index into the
/// namespace's list of RUHs (NVMe Base 2.1, 8.1.10). With one reclaim group, the PID *is* the placement handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Placement(pub u16);

impl Placement {
    /// No placement directive: the namespace's first handle, in a reclaim group that the device chooses.
    pub const NONE: Placement = Placement(u16::MAX);

    /// Returns the bits of an identifier that are the reclaim group, for `groups` reclaim groups (RGIF).
    pub fn group_bits(groups: u16) -> u32 {
        u32::from(groups).next_power_of_two().trailing_zeros()
    }

    /// Returns the identifier of a placement handle in a group of a device with `groups` reclaim groups.
    pub fn of(groups: u16, group: u16, handle: u16) -> Self {
        Placement((u32::from(group) << (16 - Self::group_bits(groups))) as u16 | handle)
    }

    /// Returns the reclaim group and the placement handle of an identifier on a device with `groups` reclaim groups. The
    /// device need not have either.
    pub fn split(self, groups: u16) -> (u16, u16) {
        let bits = 16 - Self::group_bits(groups);
        let group = u32::from(self.0) >> bits;
        (group as u16, self.0 & ((1u32 << bits) - 1) as u16)
    }
}

/// One command of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Command {
    /// First logical block of the namespace, in units of [`crate::LBA_BYTES`]; 0 without a range.
    pub lba: u64,
    /// Length in logical blocks (not zero-based). A command with a range of length 0 has no effect.
    pub blocks: u32,
    /// Placement identifier of a write or a reclaim unit update.
    pub placement: Placement,
    /// The operation.
    pub op: Op,
    /// The namespace addressed.
    pub namespace: NsId,
}

impl Command {
    /// Returns a write of `blocks` logical blocks at `lba` of namespace 0.
    pub fn write(lba: u64, blocks: u32, placement: Placement) -> Self {
        Command { lba, blocks, placement, op: Op::Write, namespace: NsId(0) }
    }

    /// Returns a deallocation of `blocks` logical blocks at `lba` of namespace 0.
    pub fn deallocate(lba: u64, blocks: u32) -> Self {
        Command { lba, blocks, placement: Placement::NONE, op: Op::Deallocate, namespace: NsId(0) }
    }

    /// Returns a flush of a namespace.
    pub fn flush(namespace: NsId) -> Self {
        Command { lba: 0, blocks: 0, placement: Placement::NONE, op: Op::Flush, namespace }
    }

    /// Returns a reclaim unit update for one placement identifier.
    pub fn update(namespace: NsId, placement: Placement) -> Self {
        Command { lba: 0, blocks: 0, placement, op: Op::Update, namespace }
    }

    /// Returns the same command on another namespace.
    pub fn on(self, namespace: NsId) -> Self {
        Command { namespace, ..self }
    }

    /// Packs placement, operation and namespace into one number, equal for commands that differ only
    /// in their range.
    #[inline(always)]
    pub fn target(&self) -> u32 {
        u32::from(self.placement.0) | (self.op as u32) << 16 | u32::from(self.namespace.0) << 24
    }

    /// Returns the number of bytes that the command covers.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.blocks) * crate::LBA_BYTES
    }

    /// Returns the number of bytes that the command writes: 0 unless it is a write.
    #[inline]
    pub fn written_bytes(&self) -> u64 {
        if self.op == Op::Write { self.bytes() } else { 0 }
    }
}

const _: () = assert!(size_of::<Command>() == 16);

#[cfg(test)]
mod tests {
    use super::Placement;

    #[test]
    fn identifiers_have_the_group_in_their_upper_bits() {
        assert_eq!(
            (Placement::of(1, 0, 5), Placement::of(2, 1, 5)),
            (Placement(5), Placement(0x8005))
        );
        assert_eq!(
            (Placement::of(3, 2, 1), Placement(0xc001).split(3)),
            (Placement(0x8001), (3, 1))
        );
        assert_eq!(Placement::NONE.split(1), (0, u16::MAX));
        for groups in [1, 2, 3, 5, 255, 256] {
            for group in [0, groups / 2, groups - 1] {
                for handle in [0, 1, 127] {
                    assert_eq!(Placement::of(groups, group, handle).split(groups), (group, handle));
                }
            }
        }
    }
}
