//! NVMe over Fabrics: connecting, properties, discovery (Base 2.1, chapters 5 and 6).

use crate::{U16, U32, U64, layout, open_enum};

/// NQN of the well-known discovery subsystem.
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// Maximum length of an NQN without its zero byte.
pub const MAX_NQN: usize = 223;

layout! {
    /// Connect command.
    pub struct ConnectCommand: 64 {
        /// 0x7f.
        pub opcode: u8,
        /// PSDT.
        pub flags: u8,
        /// Command Identifier.
        pub cid: U16,
        /// 0x01.
        pub fctype: u8,
        #[doc(hidden)]
        pub rsvd5: [u8; 19],
        /// Location of the data.
        pub sgl: crate::Sgl,
        /// Record Format, 0.
        pub recfmt: U16,
        /// Queue ID; 0 is the admin queue.
        pub qid: U16,
        /// Submission Queue Size, zero-based.
        pub sqsize_z: U16,
        /// Connect Attributes: bit 2 disables SQ flow control.
        pub cattr: u8,
        #[doc(hidden)]
        pub rsvd47: u8,
        /// Keep Alive Timeout, milliseconds; 0 is none.
        pub kato: U32,
        #[doc(hidden)]
        pub rsvd52: [u8; 12],
    } at { fctype: 4, sgl: 24, recfmt: 40, qid: 42, sqsize_z: 44, cattr: 46, kato: 48 }
}

layout! {
    /// Data of Connect.
    pub struct ConnectData: 1024 {
        /// Host Identifier.
        pub hostid: [u8; 16],
        /// Controller ID: 0xffff requests a new controller.
        pub cntlid: U16,
        #[doc(hidden)]
        pub rsvd18: [u8; 238],
        /// NQN of the subsystem, ends with a zero byte.
        pub subnqn: [u8; 256],
        /// NQN of the host, ends with a zero byte.
        pub hostnqn: [u8; 256],
        #[doc(hidden)]
        pub rsvd768: [u8; 256],
    } at { cntlid: 16, subnqn: 256, hostnqn: 512 }
}

layout! {
    /// Property Set and Property Get commands.
    pub struct PropertyCommand: 64 {
        /// 0x7f.
        pub opcode: u8,
        /// PSDT.
        pub flags: u8,
        /// Command Identifier.
        pub cid: U16,
        /// 0x00 or 0x04.
        pub fctype: u8,
        #[doc(hidden)]
        pub rsvd5: [u8; 35],
        /// Attributes: 0 for 4 bytes, 1 for 8 bytes.
        pub attrib: u8,
        #[doc(hidden)]
        pub rsvd41: [u8; 3],
        /// Offset of the property.
        pub offset: U32,
        /// Value to set.
        pub value: U64,
        #[doc(hidden)]
        pub rsvd56: [u8; 8],
    } at { fctype: 4, attrib: 40, offset: 44, value: 48 }
}

/// Returns the text before the first zero byte of an NQN field; `None` without a zero byte, or if the text
/// is not UTF-8.
pub fn nqn(field: &[u8; 256]) -> Option<&str> {
    let end = field.iter().position(|b| *b == 0)?;
    core::str::from_utf8(&field[..end]).ok()
}

/// Returns a field that holds `nqn`, truncated to fit.
pub fn nqn_field(nqn: &str) -> [u8; 256] {
    let mut field = [0; 256];
    let length = nqn.len().min(MAX_NQN);
    field[..length].copy_from_slice(&nqn.as_bytes()[..length]);
    field
}

layout! {
    /// Head of the Discovery log page; entries follow.
    pub struct DiscoveryLog: 1024 {
        /// Generation Counter.
        pub genctr: U64,
        /// Number of Records.
        pub numrec: U64,
        /// Record Format, 0.
        pub recfmt: U16,
        #[doc(hidden)]
        pub rsvd18: [u8; 1006],
    }
}

open_enum! {
    /// Subsystem Type of a discovery entry.
    Subtype(u8) {
        /// Another discovery service.
        REFERRAL = 1,
        /// NVM subsystem.
        NVM = 2,
        /// This discovery service.
        CURRENT_DISCOVERY = 3,
    }
}

layout! {
    /// Discovery Log Page Entry.
    pub struct DiscoveryEntry: 1024 {
        /// Transport Type: 3 TCP.
        pub trtype: u8,
        /// Address Family: 1 IPv4, 2 IPv6.
        pub adrfam: u8,
        /// A [`Subtype`].
        pub subtype: u8,
        /// Transport Requirements: 2 secure channel not required; bit 2 SQ flow control may be disabled.
        pub treq: u8,
        /// Port ID.
        pub portid: U16,
        /// Controller ID: 0xffff for the dynamic model.
        pub cntlid: U16,
        /// Admin Max SQ Size.
        pub asqsz: U16,
        /// Entry Flags.
        pub eflags: U16,
        #[doc(hidden)]
        pub rsvd12: [u8; 20],
        /// Transport Service Identifier: the port, ASCII, padded with spaces.
        pub trsvcid: [u8; 32],
        #[doc(hidden)]
        pub rsvd64: [u8; 192],
        /// NQN of the subsystem.
        pub subnqn: [u8; 256],
        /// Transport Address, ASCII, padded with spaces.
        pub traddr: [u8; 256],
        /// Transport Specific Address Subtype: security type in byte 0, 0 none.
        pub tsas: [u8; 256],
    } at { cntlid: 6, trsvcid: 32, subnqn: 256, traddr: 512, tsas: 768 }
}
