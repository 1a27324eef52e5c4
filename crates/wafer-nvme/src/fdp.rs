//! Flexible Data Placement (Base 2.1, 8.1.10 and log pages 0x20 to 0x23; NVM 1.1 I/O Management).

use bitfield_struct::bitfield;

use crate::{U16, U32, U64, U128, layout, open_enum};

layout! {
    /// Head of the FDP Configurations log page; descriptors follow.
    pub struct FdpConfigurations: 16 {
        /// Number of configurations, zero-based.
        pub n_z: U16,
        /// Version.
        pub version: u8,
        #[doc(hidden)]
        pub rsvd3: u8,
        /// Bytes of the whole page.
        pub size: U32,
        #[doc(hidden)]
        pub rsvd8: [u8; 8],
    } at { size: 4 }
}

layout! {
    /// FDP Configuration Descriptor; a [`RuhDescriptor`] per handle follows.
    pub struct FdpConfiguration: 64 {
        /// Descriptor Size: this, the handles and the vendor specific part, a multiple of 8.
        pub ds: U16,
        /// FDP Attributes: [`Fdpa`].
        pub fdpa: u8,
        /// Vendor Specific Size.
        pub vss: u8,
        /// Number of Reclaim Groups.
        pub nrg: U32,
        /// Number of Reclaim Unit Handles.
        pub nruh: U16,
        /// Max Placement Identifiers, zero-based.
        pub maxpids_z: U16,
        /// Number of Namespaces Supported.
        pub nnss: U32,
        /// Reclaim Unit Nominal Size, bytes.
        pub runs: U64,
        /// Estimated Reclaim Unit Time Limit, seconds; 0 is not reported.
        pub erutl: U32,
        #[doc(hidden)]
        pub rsvd28: [u8; 36],
    } at { nrg: 4, nruh: 8, maxpids_z: 10, nnss: 12, runs: 16, erutl: 24 }
}

/// FDP Attributes.
#[bitfield(u8)]
pub struct Fdpa {
    /// Reclaim Group Identifier Format: bits of a placement identifier that name the group.
    #[bits(4)]
    pub rgif: u8,
    /// FDP Volatile Write Cache.
    pub fdpvwc: bool,
    #[bits(2)]
    __: u8,
    /// The configuration is valid.
    pub valid: bool,
}

layout! {
    /// Reclaim Unit Handle Descriptor.
    pub struct RuhDescriptor: 4 {
        /// Reclaim Unit Handle Type: 1 initially isolated, 2 persistently isolated.
        pub ruht: u8,
        #[doc(hidden)]
        pub rsvd1: [u8; 3],
    }
}

layout! {
    /// Head of the Reclaim Unit Handle Usage log page; a [`RuhUsageDescriptor`] per handle follows.
    pub struct RuhUsage: 8 {
        /// Number of Reclaim Unit Handles.
        pub nruh: U16,
        #[doc(hidden)]
        pub rsvd2: [u8; 6],
    }
}

layout! {
    /// Reclaim Unit Handle Usage Descriptor.
    pub struct RuhUsageDescriptor: 8 {
        /// Attributes: 0 unused, 1 host specified, 2 controller specified.
        pub ruha: u8,
        #[doc(hidden)]
        pub rsvd1: [u8; 7],
    }
}

layout! {
    /// FDP Statistics.
    pub struct FdpStatistics: 64 {
        /// Host Bytes with Metadata Written.
        pub hbmw: U128,
        /// Media Bytes with Metadata Written.
        pub mbmw: U128,
        /// Media Bytes Erased.
        pub mbe: U128,
        #[doc(hidden)]
        pub rsvd48: [u8; 16],
    } at { mbmw: 16, mbe: 32 }
}

layout! {
    /// Head of the FDP Events log page; events follow.
    pub struct FdpEventsHeader: 64 {
        /// Number of events.
        pub count: U32,
        #[doc(hidden)]
        pub rsvd4: [u8; 60],
    }
}

open_enum! {
    /// FDP event types.
    FdpEventType(u8) {
        /// Host event: Reclaim Unit Not Fully Written To Capacity.
        RU_NOT_FULLY_WRITTEN = 0x00,
        /// Host event: Reclaim Unit Active Time Limit Exceeded.
        RU_TIME_LIMIT = 0x01,
        /// Host event: Controller Level Reset Modified Reclaim Unit Handles.
        CONTROLLER_RESET = 0x02,
        /// Host event: Invalid Placement Identifier.
        INVALID_PLACEMENT_IDENTIFIER = 0x03,
        /// Controller event: Media Reallocated.
        MEDIA_REALLOCATED = 0x80,
        /// Controller event: Implicitly Modified Reclaim Unit Handle.
        IMPLICITLY_MODIFIED_RUH = 0x81,
    }
}

layout! {
    /// FDP Event.
    pub struct FdpEventEntry: 64 {
        /// A [`FdpEventType`].
        pub event_type: u8,
        /// [`FdpEventFlags`].
        pub flags: u8,
        /// Placement Identifier.
        pub pid: U16,
        /// Timestamp, as in the Timestamp feature.
        pub timestamp: Timestamp,
        /// Namespace.
        pub nsid: U32,
        /// Event type specific; [`MediaReallocated`] for that type.
        pub specific: [u8; 16],
        /// Reclaim Group.
        pub rgid: U16,
        /// Reclaim Unit Handle.
        pub ruhid: u8,
        #[doc(hidden)]
        pub rsvd35: [u8; 5],
        /// Vendor specific.
        pub vendor: [u8; 24],
    } at { timestamp: 4, nsid: 12, specific: 16, rgid: 32, ruhid: 34, vendor: 40 }
}

/// Valid fields of an FDP event.
#[bitfield(u8)]
pub struct FdpEventFlags {
    /// Placement identifier valid.
    pub piv: bool,
    /// Namespace identifier valid.
    pub nsidv: bool,
    /// Location (reclaim group and handle) valid.
    pub lv: bool,
    #[bits(5)]
    __: u8,
}

layout! {
    /// Event type specific data of Media Reallocated.
    pub struct MediaReallocated: 16 {
        /// Bit 0: the LBA is valid.
        pub flags: u8,
        #[doc(hidden)]
        pub rsvd1: u8,
        /// Number of LBAs Moved; 0xffff for that many or more.
        pub nlbam: U16,
        /// First LBA moved.
        pub lba: U64,
        #[doc(hidden)]
        pub rsvd12: [u8; 4],
    } at { nlbam: 2, lba: 4 }
}

layout! {
    /// Timestamp (Timestamp feature and events).
    pub struct Timestamp: 8 {
        /// Milliseconds, 48 bits, low bytes first.
        pub milliseconds: [u8; 6],
        /// Bit 0: not counted continuously; bits 3:1: origin, 0 reset, 1 set by a host.
        pub attributes: u8,
        #[doc(hidden)]
        pub rsvd7: u8,
    }
}

impl Timestamp {
    /// Encodes milliseconds since 1970, or since reset.
    pub fn new(milliseconds: u64, attributes: u8) -> Self {
        let mut low = [0; 6];
        low.copy_from_slice(&milliseconds.to_le_bytes()[..6]);
        Timestamp { milliseconds: low, attributes, rsvd7: 0 }
    }

    /// Returns all eight bytes as a number, the form used in events.
    pub fn raw(&self) -> u64 {
        u64::from_le_bytes(zerocopy::transmute!(*self))
    }

    /// Returns the milliseconds as a number.
    pub fn get(&self) -> u64 {
        let mut all = [0; 8];
        all[..6].copy_from_slice(&self.milliseconds);
        u64::from_le_bytes(all)
    }
}

/// Command dword 11 of the FDP Events feature (0x1E).
#[bitfield(u32)]
pub struct FdpEventsCdw11 {
    /// Placement Handle.
    pub phndl: u16,
    /// Number of FDP Event Types.
    pub noet: u8,
    __: u8,
}

/// Command dword 12 of the FDP Events feature, set.
#[bitfield(u32)]
pub struct FdpEventsCdw12 {
    /// Enable the events.
    pub fdpee: bool,
    #[bits(31)]
    __: u32,
}

/// Command dword 12 of the FDP feature (0x1D), and its value.
#[bitfield(u32)]
#[derive(PartialEq, Eq)]
pub struct FdpFeature {
    /// FDP Enable.
    pub fdpe: bool,
    #[bits(7)]
    __: u8,
    /// FDP Configuration Index.
    pub fdpcidx: u8,
    __: u16,
}

layout! {
    /// Supported FDP Event Descriptor (Get Features 0x1E).
    pub struct FdpEventDescriptor: 2 {
        /// A [`FdpEventType`].
        pub event_type: u8,
        /// Bit 0: enabled.
        pub attributes: u8,
    }
}

open_enum! {
    /// Management Operation of I/O Management Receive and Send.
    ManagementOperation(u8) {
        /// No action.
        NONE = 0x00,
        /// Receive: Reclaim Unit Handle Status. Send: Reclaim Unit Handle Update.
        RECLAIM_UNIT_HANDLE = 0x01,
    }
}

/// Command dword 10 of I/O Management Receive and Send.
#[bitfield(u32)]
pub struct IoManagementCdw10 {
    /// A [`ManagementOperation`].
    pub mo: u8,
    __: u8,
    /// Management Operation Specific; for an update, the number of identifiers, zero-based.
    pub mos: u16,
}

layout! {
    /// Head of Reclaim Unit Handle Status; descriptors follow.
    pub struct RuhStatus: 16 {
        #[doc(hidden)]
        pub rsvd0: [u8; 14],
        /// Number of Reclaim Unit Handle Status Descriptors.
        pub nruhsd: U16,
    } at { nruhsd: 14 }
}

layout! {
    /// Reclaim Unit Handle Status Descriptor.
    pub struct RuhStatusDescriptor: 32 {
        /// Placement Identifier.
        pub pid: U16,
        /// Reclaim Unit Handle.
        pub ruhid: U16,
        /// Estimated Active Reclaim Unit Time Remaining, seconds; 0 is not reported.
        pub earutr: U32,
        /// Reclaim Unit Available Media Writes, logical blocks.
        pub ruamw: U64,
        #[doc(hidden)]
        pub rsvd16: [u8; 16],
    } at { earutr: 4, ruamw: 8 }
}
