//! Directives (Base 2.1, 8.1.8).

use bitfield_struct::bitfield;

use crate::{U16, U32, layout, open_enum};

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

/// Command dword 12 of Directive Receive of type Streams, operation 3 (allocate resources).
#[bitfield(u32)]
pub struct StreamsRequested {
    /// Namespace Streams Requested.
    pub nsr: u16,
    __: u16,
}

layout! {
    /// Return Parameters of Directive Receive of type Streams, operation 1.
    pub struct StreamParameters: 32 {
        /// Max Streams Limit.
        pub msl: U16,
        /// NVM Subsystem Streams Available.
        pub nssa: U16,
        /// NVM Subsystem Streams Open.
        pub nsso: U16,
        /// NVM Subsystem Stream Capability: bit 0 shared identifiers, bit 1 hosts need an identifier.
        pub nssc: u8,
        #[doc(hidden)]
        pub rsvd7: [u8; 9],
        /// Stream Write Size, logical blocks.
        pub sws: U32,
        /// Stream Granularity Size, in units of `sws`.
        pub sgs: U16,
        /// Namespace Streams Allocated.
        pub nsa: U16,
        /// Namespace Streams Open.
        pub nso: U16,
        #[doc(hidden)]
        pub rsvd26: [u8; 6],
    } at { nssc: 6, sws: 16, sgs: 20, nsa: 22, nso: 24 }
}

layout! {
    /// Return Parameters of Directive Receive of type Identify, operation 1. One bit per directive.
    pub struct DirectiveParameters: 4096 {
        /// Supported.
        pub supported: [u8; 32],
        /// Enabled.
        pub enabled: [u8; 32],
        /// Enabled and persistent across a controller reset.
        pub persistent: [u8; 32],
        #[doc(hidden)]
        pub rsvd96: [u8; 4000],
    }
}
