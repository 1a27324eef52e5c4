//! Directives (Base 2.1, 8.1.8).

use bitfield_struct::bitfield;

use crate::{layout, open_enum};

open_enum! {
    /// Directive Type.
    DirectiveType(u8) {
        /// Identify.
        IDENTIFY = 0,
        /// Streams.
        STREAMS = 1,
        /// Data Placement.
        DATA_PLACEMENT = 2,
    }
}

/// Command dword 11 of Directive Send and Receive.
#[bitfield(u32)]
pub struct DirectiveCdw11 {
    /// Directive Operation.
    pub doper: u8,
    /// Directive Type.
    pub dtype: u8,
    /// Directive Specific.
    pub dspec: u16,
}

/// Command dword 12 of Directive Send of type Identify, operation 1 (enable).
#[bitfield(u32)]
pub struct DirectiveEnable {
    /// Enable.
    pub endir: bool,
    #[bits(7)]
    __: u8,
    /// Directive to enable or disable.
    pub dtype: u8,
    __: u16,
}

layout! {
    /// Return Parameters of Directive Receive of type Identify, operation 1. One bit per directive.
    pub struct DirectiveParameters: 4096 {
        /// Supported.
        pub supported: [u8; 32],
        /// Enabled.
        pub enabled: [u8; 32],
        /// Enabled and kept over a controller reset.
        pub persistent: [u8; 32],
        #[doc(hidden)]
        pub rsvd96: [u8; 4000],
    }
}
