//! Firmware: its commands (Base 2.1, 5.1.8 and 5.1.9), and the header of an image.

use bitfield_struct::bitfield;

use crate::{U32, layout, open_enum};

/// Command dword 10 of Firmware Commit.
#[bitfield(u32)]
pub struct FirmwareCommitCdw10 {
    /// Firmware Slot; 0 lets the controller choose.
    #[bits(3)]
    pub slot: u8,
    /// Commit Action: a [`CommitAction`].
    #[bits(3)]
    pub action: u8,
    #[bits(25)]
    __: u32,
    /// Boot Partition ID.
    pub bpid: bool,
}

open_enum! {
    /// Commit Action of Firmware Commit.
    CommitAction(u8) {
        /// The downloaded image replaces that of the slot and is not activated.
        REPLACE = 0,
        /// The downloaded image replaces that of the slot and is activated at the next Controller Level Reset.
        REPLACE_AND_ACTIVATE = 1,
        /// The image of the slot is activated at the next Controller Level Reset.
        ACTIVATE = 2,
        /// The downloaded image, if any, replaces that of the slot, which is activated immediately.
        ACTIVATE_NOW = 3,
    }
}

layout! {
    /// Header of a firmware image, in wafer's own format: the specification leaves it to the vendor.
    pub struct FirmwareHeader: 32 {
        /// [`Self::MAGIC`].
        pub magic: [u8; 8],
        /// Bytes of the image, including the header. Anything after them is padding.
        pub length: U32,
        /// CRC-32C of the bytes of the image after this field.
        pub check: U32,
        /// Firmware revision, ASCII, padded with spaces.
        pub revision: [u8; 8],
        #[doc(hidden)]
        pub rsvd24: [u8; 8],
    } at { length: 8, check: 12, revision: 16 }
}

impl FirmwareHeader {
    /// First bytes of every image.
    pub const MAGIC: [u8; 8] = *b"WAFERFW1";
    /// First byte that the check covers.
    pub const CHECKED: usize = core::mem::offset_of!(FirmwareHeader, revision);
}
