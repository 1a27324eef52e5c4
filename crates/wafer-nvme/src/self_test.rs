//! Device Self-test (Base 2.1, 5.1.5 and 8.1.7).

use bitfield_struct::bitfield;

use crate::{U16, U32, U64, layout, open_enum};

open_enum! {
    /// Self-test Code of the command.
    SelfTestCode(u8) {
        /// Start a short device self-test.
        SHORT = 1,
        /// Start an extended device self-test.
        EXTENDED = 2,
        /// Abort the device self-test.
        ABORT = 0xf,
    }
}

open_enum! {
    /// Device Self-test Result.
    SelfTestOutcome(u8) {
        /// Completed without error.
        PASSED = 0,
        /// Aborted by a Device Self-test command.
        ABORTED_BY_COMMAND = 1,
        /// Aborted by a controller level reset.
        ABORTED_BY_RESET = 2,
        /// Aborted because a namespace was removed.
        ABORTED_BY_NAMESPACE_REMOVAL = 3,
        /// Aborted by a Format NVM command.
        ABORTED_BY_FORMAT = 4,
        /// Completed with a failed segment, whose number is known.
        FAILED_SEGMENT = 7,
        /// Aborted by a sanitize operation.
        ABORTED_BY_SANITIZE = 9,
        /// The entry has no result.
        UNUSED = 0xf,
    }
}

/// Command dword 10 of Device Self-test.
#[bitfield(u32)]
pub struct SelfTestCdw10 {
    /// A [`SelfTestCode`].
    #[bits(4)]
    pub stc: u8,
    #[bits(28)]
    __: u32,
}

layout! {
    /// Self-test Result.
    pub struct SelfTestEntry: 28 {
        /// Self-test Code in bits 7:4, [`SelfTestOutcome`] in bits 3:0.
        pub status: u8,
        /// Segment Number of the first failure.
        pub segment: u8,
        /// Valid Diagnostic Information: bit 0 NSID, bit 1 Failing LBA, bit 2 SCT, bit 3 SC.
        pub valid: u8,
        #[doc(hidden)]
        pub rsvd3: u8,
        /// Power On Hours.
        pub power_on_hours: U64,
        /// Namespace Identifier.
        pub nsid: U32,
        /// Failing LBA.
        pub lba: U64,
        /// Status Code Type.
        pub sct: u8,
        /// Status Code.
        pub sc: u8,
        /// Vendor Specific.
        pub vendor: U16,
    } at { power_on_hours: 4, nsid: 12, lba: 16, sct: 24 }
}

layout! {
    /// Device Self-test.
    pub struct SelfTestLog: 564 {
        /// Current operation: a [`SelfTestCode`], or 0.
        pub current: u8,
        /// Completion of the current operation, percent.
        pub completion: u8,
        #[doc(hidden)]
        pub rsvd2: [u8; 2],
        /// Results, newest first.
        pub results: [SelfTestEntry; 20],
    } at { results: 4 }
}
