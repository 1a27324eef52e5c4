//! Commands of the NVM command set (NVM 1.1, chapter 3).

use bitfield_struct::bitfield;

use crate::{U16, U32, U64, layout, open_enum};

/// Command dword 12 of Read, Write, Compare, Verify and Write Zeroes.
#[bitfield(u32)]
pub struct RwCdw12 {
    /// Number of Logical Blocks, zero-based.
    pub nlb_z: u16,
    #[bits(4)]
    __: u8,
    /// Directive Type.
    #[bits(4)]
    pub dtype: u8,
    /// Storage Tag Check.
    pub stc: bool,
    /// Deallocate (Write Zeroes).
    pub deac: bool,
    /// Protection Information: action and checks.
    #[bits(4)]
    pub prinfo: u8,
    /// Force Unit Access.
    pub fua: bool,
    /// Limited Retry.
    pub lr: bool,
}

/// Command dword 13 of the same.
#[bitfield(u32)]
pub struct RwCdw13 {
    /// Dataset Management hints.
    pub dsm: u8,
    __: u8,
    /// Directive Specific: the placement identifier.
    pub dspec: u16,
}

/// Command dword 10 of Dataset Management.
#[bitfield(u32)]
pub struct DsmCdw10 {
    /// Number of Ranges, zero-based.
    pub nr_z: u8,
    #[bits(24)]
    __: u32,
}

/// Command dword 11 of Dataset Management.
#[bitfield(u32)]
pub struct DsmCdw11 {
    /// Integral Dataset for Read.
    pub idr: bool,
    /// Integral Dataset for Write.
    pub idw: bool,
    /// Deallocate.
    pub ad: bool,
    #[bits(29)]
    __: u32,
}

layout! {
    /// Range of Dataset Management.
    pub struct DsmRange: 16 {
        /// Context Attributes.
        pub attributes: U32,
        /// Length in logical blocks.
        pub length: U32,
        /// Starting LBA.
        pub slba: U64,
    } at { length: 4, slba: 8 }
}

/// Command dword 12 of Copy.
#[bitfield(u32)]
pub struct CopyCdw12 {
    /// Number of Ranges, zero-based.
    pub nr_z: u8,
    /// Descriptor Format.
    #[bits(4)]
    pub desfmt: u8,
    /// Protection Information, read.
    #[bits(4)]
    pub prinfor: u8,
    #[bits(4)]
    __: u8,
    /// Directive Type.
    #[bits(4)]
    pub dtype: u8,
    /// Storage Tag Check, write.
    pub stcw: bool,
    /// Storage Tag Check, read.
    pub stcr: bool,
    /// Protection Information, write.
    #[bits(4)]
    pub prinfow: u8,
    /// Force Unit Access.
    pub fua: bool,
    /// Limited Retry.
    pub lr: bool,
}

impl CopyCdw12 {
    /// Highest Descriptor Format with a known layout.
    pub const LAST_FORMAT: u8 = 3;

    /// Returns the bytes of a Source Range Entry: [`CopyRange`], followed by longer tags in formats 1 and 3.
    pub const fn entry_bytes(self) -> u64 {
        match self.desfmt() {
            1 | 3 => 40,
            _ => 32,
        }
    }

    /// Returns whether Source Range Entries name their namespace.
    pub const fn names_sources(self) -> bool {
        self.desfmt() >= 2
    }
}

layout! {
    /// Source Range Entry of Copy up to its tags, which are meaningless without protection information.
    pub struct CopyRange: 32 {
        /// Source Namespace Identifier, formats 2 and 3.
        pub snsid: U32,
        #[doc(hidden)]
        pub rsvd4: [u8; 4],
        /// Starting LBA.
        pub slba: U64,
        /// Number of Logical Blocks, zero-based.
        pub nlb_z: U16,
        #[doc(hidden)]
        pub rsvd18: [u8; 4],
        /// Source Options, formats 2 and 3: bit 15 is Fast Copy Only.
        pub sopt: U16,
        #[doc(hidden)]
        pub rsvd24: [u8; 8],
    } at { slba: 8, nlb_z: 16, sopt: 22 }
}

open_enum! {
    /// Action Type of Get LBA Status.
    LbaStatusAction(u8) {
        /// Scan the range for blocks that may be unrecoverable, and return these and the tracked ones.
        SCAN = 0x10,
        /// Return the tracked blocks of the range.
        TRACKED = 0x11,
    }
}

/// Command dword 13 of Get LBA Status. Dwords 10 and 11: first block; dword 12: dwords to return, zero-based.
#[bitfield(u32)]
pub struct LbaStatusCdw13 {
    /// Range Length in logical blocks; 0 extends to the end of the namespace.
    pub rl: u16,
    __: u8,
    /// Action Type: a [`LbaStatusAction`].
    pub atype: u8,
}

layout! {
    /// LBA Status Descriptor List: head. `count` entries of [`LbaStatusDescriptor`] follow.
    pub struct LbaStatusList: 8 {
        /// Number of LBA Status Descriptors.
        pub count: U32,
        /// Completion Condition: 1 if the dwords are used up, 2 if the whole range is done.
        pub cmpc: u8,
        #[doc(hidden)]
        pub rsvd5: [u8; 3],
    } at { cmpc: 4 }
}

layout! {
    /// LBA Status Descriptor: a range of logical blocks that may be unrecoverable.
    pub struct LbaStatusDescriptor: 16 {
        /// Descriptor Starting LBA.
        pub slba: U64,
        /// Number of Logical Blocks, zero-based.
        pub blocks_z: U32,
        #[doc(hidden)]
        pub rsvd12: u8,
        /// LBA Status: bit 0 if reading may fail; bit 1 if all blocks were marked by Write Uncorrectable.
        pub status: u8,
        #[doc(hidden)]
        pub rsvd14: [u8; 2],
    } at { blocks_z: 8, status: 13 }
}

layout! {
    /// LBA Status Information (log page): head. `elements` of [`LbaStatusElement`] follow.
    pub struct LbaStatusLog: 16 {
        /// LBA Status Log Page Length, bytes.
        pub length: U32,
        /// Number of LBA Status Log Namespace Elements.
        pub elements: U32,
        /// Estimate of Unrecoverable Logical Blocks.
        pub blocks: U32,
        #[doc(hidden)]
        pub rsvd12: [u8; 2],
        /// LBA Status Generation Counter.
        pub generation: U16,
    } at { blocks: 8, generation: 14 }
}

layout! {
    /// LBA Status Log Namespace Element: head. `ranges` of [`LbaStatusDescriptor`] follow, whose status is reserved here.
    pub struct LbaStatusElement: 16 {
        /// Namespace Element Identifier: the namespace.
        pub nsid: U32,
        /// Number of LBA Range Descriptors; `u32::MAX` if hosts should query the whole namespace.
        pub ranges: U32,
        /// Recommended Action Type: a [`LbaStatusAction`].
        pub action: u8,
        #[doc(hidden)]
        pub rsvd9: [u8; 7],
    } at { ranges: 4, action: 8 }
}

/// Command dword 10 of Sanitize.
#[bitfield(u32)]
pub struct SanitizeCdw10 {
    /// Sanitize Action: 1 exit failure mode, 2 block erase, 3 overwrite, 4 crypto erase.
    #[bits(3)]
    pub sanact: u8,
    /// Allow Unrestricted Sanitize Exit.
    pub ause: bool,
    /// Overwrite Pass Count.
    #[bits(4)]
    pub owpass: u8,
    /// Overwrite Invert Pattern Between Passes.
    pub oipbp: bool,
    /// No-Deallocate After Sanitize.
    pub ndas: bool,
    /// Enter Media Verification State.
    pub emvs: bool,
    #[bits(21)]
    __: u32,
}

/// Command dword 10 of Format NVM.
#[bitfield(u32)]
pub struct FormatCdw10 {
    /// LBA Format, low bits.
    #[bits(4)]
    pub lbafl: u8,
    /// Metadata Settings.
    pub mset: bool,
    /// Protection Information.
    #[bits(3)]
    pub pi: u8,
    /// Protection Information Location.
    pub pil: bool,
    /// Secure Erase Settings: 0 none, 1 user data, 2 cryptographic.
    #[bits(3)]
    pub ses: u8,
    /// LBA Format, high bits.
    #[bits(2)]
    pub lbafu: u8,
    #[bits(18)]
    __: u32,
}
