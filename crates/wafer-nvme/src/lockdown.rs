//! Command and Feature Lockdown (Base 2.1, 5.1.15 and 8.1.5).

use bitfield_struct::bitfield;

use crate::{layout, open_enum};

/// Command dword 10 of Lockdown.
#[bitfield(u32)]
pub struct LockdownCdw10 {
    /// Scope: a [`LockdownScope`].
    #[bits(4)]
    pub scope: u8,
    /// Prohibit rather than allow.
    pub prohibit: bool,
    /// Interface: 0 admin submission queues, 1 those and out-of-band management, 2 out-of-band management.
    #[bits(2)]
    pub interface: u8,
    __: bool,
    /// Opcode or Feature Identifier.
    pub identifier: u8,
    __: u16,
}

open_enum! {
    /// The subject of a Lockdown.
    LockdownScope(u8) {
        /// An admin command, by its opcode.
        ADMIN_COMMAND = 0,
        /// Set Features of a feature, by its identifier.
        SET_FEATURES = 2,
    }
}

/// Log Specific Parameter of the Command and Feature Lockdown log, and the first byte of the page.
#[bitfield(u8)]
pub struct LockdownContents {
    /// Scope: a [`LockdownScope`].
    #[bits(4)]
    pub scope: u8,
    /// Contents: 0 prohibitable, 1 prohibited on admin submission queues, 2 prohibited out of band.
    #[bits(2)]
    pub contents: u8,
    #[bits(2)]
    __: u8,
}

layout! {
    /// Command and Feature Lockdown log.
    pub struct LockdownLog: 512 {
        /// Scope and contents: [`LockdownContents`].
        pub contents: u8,
        #[doc(hidden)]
        pub rsvd1: [u8; 2],
        /// Number of identifiers.
        pub length: u8,
        /// Opcodes or feature identifiers, ascending.
        pub identifiers: [u8; 508],
    } at { length: 3, identifiers: 4 }
}
