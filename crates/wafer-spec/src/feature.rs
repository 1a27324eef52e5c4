//! Features (Base 2.1, 5.1.25).

use bitfield_struct::bitfield;

use crate::{layout, open_enum};

open_enum! {
    /// Feature Identifier.
    Fid(u8) {
        /// Arbitration.
        ARBITRATION = 0x01,
        /// Power Management.
        POWER_MANAGEMENT = 0x02,
        /// Temperature Threshold.
        TEMPERATURE_THRESHOLD = 0x04,
        /// Error Recovery (namespace specific).
        ERROR_RECOVERY = 0x05,
        /// Volatile Write Cache.
        VOLATILE_WRITE_CACHE = 0x06,
        /// Number of Queues.
        NUMBER_OF_QUEUES = 0x07,
        /// Interrupt Coalescing; not for fabrics.
        INTERRUPT_COALESCING = 0x08,
        /// Write Atomicity Normal.
        WRITE_ATOMICITY = 0x0a,
        /// Asynchronous Event Configuration.
        ASYNC_EVENT = 0x0b,
        /// Timestamp.
        TIMESTAMP = 0x0e,
        /// Keep Alive Timer.
        KEEP_ALIVE_TIMER = 0x0f,
        /// Host Behavior Support.
        HOST_BEHAVIOR = 0x16,
        /// Flexible Data Placement.
        FDP = 0x1d,
        /// FDP Events (namespace specific).
        FDP_EVENTS = 0x1e,
        /// Host Identifier.
        HOST_IDENTIFIER = 0x81,
    }
}

/// Command dword 10 of Get Features.
#[bitfield(u32)]
pub struct GetFeaturesCdw10 {
    /// A [`Fid`].
    pub fid: u8,
    /// Select: 0 current, 1 default, 2 saved, 3 supported capabilities.
    #[bits(3)]
    pub sel: u8,
    #[bits(21)]
    __: u32,
}

/// Command dword 10 of Set Features.
#[bitfield(u32)]
pub struct SetFeaturesCdw10 {
    /// A [`Fid`].
    pub fid: u8,
    #[bits(23)]
    __: u32,
    /// Save.
    pub sv: bool,
}

/// What Get Features answers for select 3.
#[bitfield(u32)]
pub struct FeatureCapabilities {
    /// Saveable.
    pub saveable: bool,
    /// Namespace specific.
    pub namespace_specific: bool,
    /// Changeable.
    pub changeable: bool,
    #[bits(29)]
    __: u32,
}

/// Asynchronous Event Configuration.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct AsyncEventConfig {
    /// SMART critical warnings.
    pub smart: u8,
    /// Attached namespace attribute notices.
    pub namespace_attribute: bool,
    /// Firmware activation notices.
    pub firmware: bool,
    #[bits(21)]
    __: u32,
    /// Discovery log page change notices.
    pub discovery: bool,
}

/// Dword 0 of the completion of an asynchronous event request.
#[bitfield(u32)]
pub struct AsyncEvent {
    /// Type: 0 error, 1 SMART, 2 notice, 6 I/O command specific, 7 vendor specific.
    #[bits(3)]
    pub event_type: u8,
    #[bits(5)]
    __: u8,
    /// Information.
    pub information: u8,
    /// Log page that has more.
    pub log_page: u8,
    __: u8,
}

layout! {
    /// Host Behavior Support data.
    pub struct HostBehavior: 512 {
        /// Advanced Command Retry Enable.
        pub acre: u8,
        /// Extended Telemetry Data Area 4 Supported.
        pub etdas: u8,
        /// LBA Format Extension Enable.
        pub lbafee: u8,
        /// Host Dispersed Namespace Support.
        pub hdisns: u8,
        /// Copy Descriptor Formats 2 to 4 Enable, a bit each.
        pub cdfe: crate::U16,
        #[doc(hidden)]
        pub rsvd6: [u8; 506],
    }
}
