//! PDUs of the TCP transport (NVMe TCP Transport 1.1, 3.6).

use bitfield_struct::bitfield;

use crate::{Cqe, Sqe, U16, U32, layout, open_enum};

open_enum! {
    /// PDU type.
    PduType(u8) {
        /// Initialize Connection Request, host to controller.
        IC_REQ = 0x00,
        /// Initialize Connection Response.
        IC_RESP = 0x01,
        /// Host to Controller Terminate Connection Request.
        H2C_TERM_REQ = 0x02,
        /// Controller to Host Terminate Connection Request.
        C2H_TERM_REQ = 0x03,
        /// Command Capsule.
        CAPSULE_CMD = 0x04,
        /// Response Capsule.
        CAPSULE_RESP = 0x05,
        /// Host to Controller Data.
        H2C_DATA = 0x06,
        /// Controller to Host Data.
        C2H_DATA = 0x07,
        /// Ready to Transfer.
        R2T = 0x09,
    }
}

open_enum! {
    /// Fatal Error Status of a terminate request.
    FatalError(u16) {
        /// Invalid PDU Header Field.
        INVALID_HEADER = 0x01,
        /// PDU Sequence Error.
        SEQUENCE = 0x02,
        /// Header Digest Error.
        HEADER_DIGEST = 0x03,
        /// Data Transfer Out of Range.
        DATA_OUT_OF_RANGE = 0x04,
        /// C2H: Data Transfer Limit Exceeded. H2C: R2T Limit Exceeded.
        LIMIT_EXCEEDED = 0x05,
        /// Unsupported Parameter.
        UNSUPPORTED_PARAMETER = 0x06,
    }
}

layout! {
    /// Common header of all PDUs.
    pub struct PduHeader: 8 {
        /// A [`PduType`].
        pub pdu_type: u8,
        /// [`PduFlags`].
        pub flags: u8,
        /// Header Length in bytes, excluding the digest.
        pub hlen: u8,
        /// PDU Data Offset, bytes from the start of the PDU.
        pub pdo: u8,
        /// PDU Length in bytes, including digests.
        pub plen: U32,
    } at { plen: 4 }
}

/// Flags of the common header.
#[bitfield(u8)]
pub struct PduFlags {
    /// A header digest follows the header.
    pub hdgst: bool,
    /// A data digest follows the data.
    pub ddgst: bool,
    /// The last data PDU of a transfer.
    pub last: bool,
    /// The command succeeded, and no response capsule follows (C2HData).
    pub success: bool,
    #[bits(4)]
    __: u8,
}

layout! {
    /// Initialize Connection Request.
    pub struct IcReq: 128 {
        /// Common header.
        pub header: PduHeader,
        /// PDU Format Version, 0.
        pub pfv: U16,
        /// Host PDU Data Alignment: 4 * (hpda + 1) bytes.
        pub hpda_z: u8,
        /// Digests: bit 0 header, bit 1 data.
        pub dgst: u8,
        /// Maximum Outstanding R2Ts per command, zero-based.
        pub maxr2t_z: U32,
        #[doc(hidden)]
        pub rsvd16: [u8; 112],
    } at { pfv: 8, hpda_z: 10, dgst: 11, maxr2t_z: 12 }
}

layout! {
    /// Initialize Connection Response.
    pub struct IcResp: 128 {
        /// Common header.
        pub header: PduHeader,
        /// PDU Format Version, 0.
        pub pfv: U16,
        /// Controller PDU Data Alignment: 4 * (cpda + 1) bytes.
        pub cpda_z: u8,
        /// Digests in use.
        pub dgst: u8,
        /// Maximum Host to Controller Data length: bytes of one H2CData.
        pub maxh2cdata: U32,
        #[doc(hidden)]
        pub rsvd16: [u8; 112],
    } at { cpda_z: 10, dgst: 11, maxh2cdata: 12 }
}

layout! {
    /// Command Capsule; in-capsule data follows.
    pub struct CapsuleCmd: 72 {
        /// Common header.
        pub header: PduHeader,
        /// The command.
        pub sqe: Sqe,
    } at { sqe: 8 }
}

layout! {
    /// Response Capsule.
    pub struct CapsuleResp: 24 {
        /// Common header.
        pub header: PduHeader,
        /// The completion.
        pub cqe: Cqe,
    } at { cqe: 8 }
}

layout! {
    /// Head of H2CData and C2HData; data follows.
    pub struct DataPdu: 24 {
        /// Common header.
        pub header: PduHeader,
        /// Command Identifier.
        pub cccid: U16,
        /// Transfer Tag of the R2T; reserved in C2HData.
        pub ttag: U16,
        /// Offset of the data in the command's buffer.
        pub datao: U32,
        /// Bytes of data.
        pub datal: U32,
        #[doc(hidden)]
        pub rsvd20: [u8; 4],
    } at { cccid: 8, ttag: 10, datao: 12, datal: 16 }
}

layout! {
    /// Ready to Transfer.
    pub struct R2t: 24 {
        /// Common header.
        pub header: PduHeader,
        /// Command Identifier.
        pub cccid: U16,
        /// Transfer Tag, repeated by H2CData.
        pub ttag: U16,
        /// Requested offset in the command's buffer.
        pub r2to: U32,
        /// Number of requested bytes.
        pub r2tl: U32,
        #[doc(hidden)]
        pub rsvd20: [u8; 4],
    } at { cccid: 8, ttag: 10, r2to: 12, r2tl: 16 }
}

layout! {
    /// Terminate Connection Request, in either direction; the header in error follows.
    pub struct TermReq: 24 {
        /// Common header.
        pub header: PduHeader,
        /// A [`FatalError`].
        pub fes: U16,
        /// Fatal Error Information: offset of the field, or the digest.
        pub fei: U32,
        #[doc(hidden)]
        pub rsvd14: [u8; 10],
    } at { fes: 8, fei: 10 }
}

/// Bytes of a digest (CRC32C).
pub const DIGEST_BYTES: usize = 4;
/// Maximum length of a terminate request PDU.
pub const MAX_TERM_PLEN: usize = 152;
