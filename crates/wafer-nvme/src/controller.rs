//! Controller properties (Base 2.1, 3.1.4).

use bitfield_struct::bitfield;

use crate::open_enum;

open_enum! {
    /// Offset of a property.
    Property(u32) {
        /// Controller Capabilities, 8 bytes.
        CAP = 0x00,
        /// Version, 4 bytes.
        VS = 0x08,
        /// Controller Configuration, 4 bytes.
        CC = 0x14,
        /// Controller Status, 4 bytes.
        CSTS = 0x1c,
        /// NVM Subsystem Reset, 4 bytes.
        NSSR = 0x20,
        /// Controller Ready Timeouts, 4 bytes.
        CRTO = 0x68,
    }
}

/// Controller Capabilities.
#[bitfield(u64)]
pub struct Cap {
    /// Maximum Queue Entries Supported, zero-based.
    pub mqes_z: u16,
    /// Contiguous Queues Required.
    pub cqr: bool,
    /// Arbitration Mechanism Supported.
    #[bits(2)]
    pub ams: u8,
    #[bits(5)]
    __: u8,
    /// Timeout in 500 ms units.
    pub to: u8,
    /// Doorbell Stride.
    #[bits(4)]
    pub dstrd: u8,
    /// NVM Subsystem Reset Supported.
    pub nssrs: bool,
    /// Command Sets Supported: bit 0 NVM, bit 6 I/O command sets, bit 7 none.
    pub css: u8,
    /// Boot Partition Support.
    pub bps: bool,
    /// Controller Power Scope.
    #[bits(2)]
    pub cps: u8,
    /// Memory Page Size Minimum, 2^(12 + mpsmin).
    #[bits(4)]
    pub mpsmin: u8,
    /// Memory Page Size Maximum, 2^(12 + mpsmax).
    #[bits(4)]
    pub mpsmax: u8,
    #[bits(3)]
    __: u8,
    /// Controller Ready With Media Support.
    pub crwms: bool,
    #[bits(4)]
    __: u8,
}

/// Controller Configuration.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Cc {
    /// Enable.
    pub en: bool,
    #[bits(3)]
    __: u8,
    /// I/O Command Set Selected: 0 NVM, 6 all supported.
    #[bits(3)]
    pub css: u8,
    /// Memory Page Size.
    #[bits(4)]
    pub mps: u8,
    /// Arbitration Mechanism Selected.
    #[bits(3)]
    pub ams: u8,
    /// Shutdown Notification: 1 normal, 2 abrupt.
    #[bits(2)]
    pub shn: u8,
    /// I/O Submission Queue Entry Size, a power of two.
    #[bits(4)]
    pub iosqes: u8,
    /// I/O Completion Queue Entry Size, a power of two.
    #[bits(4)]
    pub iocqes: u8,
    /// Controller Ready Independent of Media Enable.
    pub crime: bool,
    #[bits(7)]
    __: u8,
}

/// Controller Status.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct Csts {
    /// Ready.
    pub rdy: bool,
    /// Controller Fatal Status.
    pub cfs: bool,
    /// Shutdown Status: 0 normal operation, 1 occurring, 2 complete.
    #[bits(2)]
    pub shst: u8,
    /// NVM Subsystem Reset Occurred.
    pub nssro: bool,
    /// Processing Paused.
    pub pp: bool,
    /// Shutdown Type.
    pub st: bool,
    #[bits(25)]
    __: u32,
}
