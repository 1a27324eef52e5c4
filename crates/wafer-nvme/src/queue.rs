//! Submission and completion queue entries, and the SGL descriptors of fabrics.

use bitfield_struct::bitfield;

use crate::{U16, U32, U64, layout};

layout! {
    /// Submission Queue Entry, common command format (Base 2.1, "Submission Queue Entry").
    pub struct Sqe: 64 {
        /// Opcode.
        pub opcode: u8,
        /// Fused operation in bits 1:0, PSDT in bits 7:6.
        pub flags: u8,
        /// Command Identifier.
        pub cid: U16,
        /// Namespace Identifier. The first byte is the type of a fabrics command.
        pub nsid: U32,
        /// Command dword 2.
        pub cdw2: U32,
        /// Command dword 3.
        pub cdw3: U32,
        /// Metadata Pointer.
        pub mptr: U64,
        /// Data Pointer: one SGL descriptor over fabrics.
        pub sgl: Sgl,
        /// Command dword 10.
        pub cdw10: U32,
        /// Command dword 11.
        pub cdw11: U32,
        /// Command dword 12.
        pub cdw12: U32,
        /// Command dword 13.
        pub cdw13: U32,
        /// Command dword 14.
        pub cdw14: U32,
        /// Command dword 15.
        pub cdw15: U32,
    } at { cid: 2, nsid: 4, mptr: 16, sgl: 24, cdw10: 40 }
}

impl Sqe {
    /// Returns command dwords 10 and 11 as one number: the first logical block in most I/O commands.
    pub fn cdw10_11(&self) -> u64 {
        u64::from(self.cdw10.get()) | u64::from(self.cdw11.get()) << 32
    }

    /// Returns the type of a fabrics command.
    pub fn fabrics_type(&self) -> crate::FabricsType {
        crate::FabricsType(self.nsid.get() as u8)
    }

    /// Returns FUSE: 0 for a command that is not fused.
    pub fn fuse(&self) -> u8 {
        self.flags & 3
    }
}

layout! {
    /// Completion Queue Entry.
    pub struct Cqe: 16 {
        /// Command specific, low 32 bits.
        pub dw0: U32,
        /// Command specific, high 32 bits.
        pub dw1: U32,
        /// SQ Head Pointer.
        pub sqhd: U16,
        /// SQ Identifier; reserved over fabrics.
        pub sqid: U16,
        /// Command Identifier.
        pub cid: U16,
        /// Phase tag in bit 0, status in the rest: [`StatusField`].
        pub status: U16,
    } at { sqhd: 8, cid: 12, status: 14 }
}

/// Bytes 15:14 of a completion.
#[bitfield(u16)]
#[derive(PartialEq, Eq)]
pub struct StatusField {
    /// Phase tag; reserved over fabrics.
    pub phase: bool,
    /// Status Code Type and Status Code: a [`crate::Status`].
    #[bits(11)]
    pub status: u16,
    /// Command Retry Delay.
    #[bits(2)]
    pub crd: u8,
    /// More information is in the error log.
    pub more: bool,
    /// Do Not Retry.
    pub dnr: bool,
}

layout! {
    /// SGL descriptor (Base 2.1, "Scatter Gather List").
    pub struct Sgl: 16 {
        /// Address, or offset within the capsule.
        pub address: U64,
        /// Length in bytes.
        pub length: U32,
        #[doc(hidden)]
        pub rsvd12: [u8; 3],
        /// Descriptor type in bits 7:4, sub type in bits 3:0.
        pub id: u8,
    } at { length: 8, id: 15 }
}

impl Sgl {
    /// Data Block descriptor, sub type Offset: data in the capsule.
    pub const IN_CAPSULE: u8 = 0x01;
    /// Transport Data Block descriptor, transport sub type: data transferred by data PDUs.
    pub const TRANSPORT: u8 = 0x5a;

    /// Describes data in the capsule at `offset`.
    pub fn in_capsule(offset: u64, length: u32) -> Self {
        Sgl {
            address: offset.into(),
            length: length.into(),
            id: Self::IN_CAPSULE,
            ..Default::default()
        }
    }

    /// Describes data transferred by PDUs.
    pub fn transport(length: u32) -> Self {
        Sgl { length: length.into(), id: Self::TRANSPORT, ..Default::default() }
    }
}

/// Command dword 10 of Abort.
#[bitfield(u32)]
pub struct AbortCdw10 {
    /// Submission Queue Identifier.
    pub sqid: u16,
    /// Command Identifier.
    pub cid: u16,
}
