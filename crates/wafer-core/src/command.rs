//! What a host asks of the device: one 16-byte value per command.

use crate::ids::NsId;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// Write: maps the range to new media pages.
    Write = 0,
    /// Dataset management, deallocate (TRIM): unmaps every page that lies wholly in the range.
    Deallocate = 1,
    /// Read: counted, changes nothing.
    Read = 2,
}

/// The placement identifier (PID) of a write: directive type 2 with this value in DSPEC
/// (NVM Command Set 1.1, Write command, CDW13), or [`Placement::NONE`] without a directive.
///
/// A PID holds the reclaim group in its upper RGIF bits and the placement handle, an index into
/// the namespace's list of RUHs, in the rest (NVMe Base 2.1, 8.1.10). With one reclaim group the
/// PID *is* the placement handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Placement(pub u16);

impl Placement {
    /// No placement directive: the namespace's first handle, reclaim group 0.
    pub const NONE: Placement = Placement(u16::MAX);
}

/// One command of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Command {
    /// First logical block of the namespace, in units of [`crate::LBA_BYTES`].
    pub lba: u64,
    /// Length in logical blocks (not zero-based); 0 is a command without effect.
    pub blocks: u32,
    /// Placement identifier; only writes look at it.
    pub placement: Placement,
    /// What to do.
    pub op: Op,
    /// The namespace addressed.
    pub namespace: NsId,
}

impl Command {
    /// A write of `blocks` logical blocks at `lba` of namespace 0.
    pub fn write(lba: u64, blocks: u32, placement: Placement) -> Self {
        Command { lba, blocks, placement, op: Op::Write, namespace: NsId(0) }
    }

    /// A deallocate of `blocks` logical blocks at `lba` of namespace 0.
    pub fn deallocate(lba: u64, blocks: u32) -> Self {
        Command { lba, blocks, placement: Placement::NONE, op: Op::Deallocate, namespace: NsId(0) }
    }

    /// The same command on another namespace.
    pub fn on(self, namespace: NsId) -> Self {
        Command { namespace, ..self }
    }

    /// Placement, operation and namespace as one number: equal for commands that go the same way.
    #[inline(always)]
    pub(crate) fn way(&self) -> u32 {
        u32::from(self.placement.0) | (self.op as u32) << 16 | u32::from(self.namespace.0) << 24
    }

    /// Bytes that the command covers.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.blocks) * crate::LBA_BYTES
    }
}

const _: () = assert!(size_of::<Command>() == 16);
