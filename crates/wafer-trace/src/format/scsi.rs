//! SCSI commands, as in traces of virtual disks.

use wafer_interface::Op;

/// Returns the operation of a SCSI command (SBC-3).
pub(super) fn op(command: u16) -> Option<Op> {
    match command & 0xff {
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0x8e => Some(Op::Write),
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        // UNMAP; WRITE SAME, which virtual machines use to unmap and zero.
        0x42 | 0x41 | 0x93 => Some(Op::Deallocate),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}
