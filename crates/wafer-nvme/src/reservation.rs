//! Reservations (Base 2.1, 8.1.22, and commands of clause 7).

use bitfield_struct::bitfield;

use crate::{U16, U32, U64, layout, open_enum};

open_enum! {
    /// Reservation Type.
    ReservationType(u8) {
        /// Write Exclusive.
        WRITE_EXCLUSIVE = 1,
        /// Exclusive Access.
        EXCLUSIVE_ACCESS = 2,
        /// Write Exclusive - Registrants Only.
        WRITE_EXCLUSIVE_REGISTRANTS_ONLY = 3,
        /// Exclusive Access - Registrants Only.
        EXCLUSIVE_ACCESS_REGISTRANTS_ONLY = 4,
        /// Write Exclusive - All Registrants.
        WRITE_EXCLUSIVE_ALL_REGISTRANTS = 5,
        /// Exclusive Access - All Registrants.
        EXCLUSIVE_ACCESS_ALL_REGISTRANTS = 6,
    }
}

impl ReservationType {
    /// Returns whether the specification defines the type.
    pub const fn is_valid(self) -> bool {
        matches!(self.0, 1..=6)
    }

    /// Returns whether every registrant holds the reservation.
    pub const fn is_all_registrants(self) -> bool {
        matches!(self.0, 5 | 6)
    }

    /// Returns whether registrants have the same access as the holder.
    pub const fn admits_registrants(self) -> bool {
        matches!(self.0, 3..=6)
    }

    /// Returns whether reads by others are prohibited too.
    pub const fn is_exclusive_access(self) -> bool {
        matches!(self.0, 2 | 4 | 6)
    }
}

/// Command dword 10 of Reservation Register.
#[bitfield(u32)]
pub struct RegisterCdw10 {
    /// Reservation Register Action: 0 register, 1 unregister, 2 replace.
    #[bits(3)]
    pub rrega: u8,
    /// Ignore Existing Key.
    pub iekey: bool,
    #[bits(26)]
    __: u32,
    /// Change Persist Through Power Loss State: 0 no change, 2 cleared, 3 set.
    #[bits(2)]
    pub cptpl: u8,
}

/// Command dword 10 of Reservation Acquire and of Reservation Release.
#[bitfield(u32)]
pub struct ReservationCdw10 {
    /// Action. Acquire: 0 acquire, 1 preempt, 2 preempt and abort. Release: 0 release, 1 clear.
    #[bits(3)]
    pub action: u8,
    /// Ignore Existing Key.
    pub iekey: bool,
    #[bits(4)]
    __: u8,
    /// A [`ReservationType`].
    pub rtype: u8,
    __: u16,
}

/// Command dword 11 of Reservation Report.
#[bitfield(u32)]
pub struct ReportCdw11 {
    /// Extended Data Structure: 128-bit host identifiers.
    pub eds: bool,
    #[bits(31)]
    __: u32,
}

/// Command dword 11 of Reservation Persistence.
#[bitfield(u32)]
pub struct ReservationPersistence {
    /// Persist Through Power Loss.
    pub ptpl: bool,
    #[bits(31)]
    __: u32,
}

/// Command dword 11 of Reservation Notification Mask: a set bit masks a notification.
#[bitfield(u32)]
pub struct ReservationMask {
    __: bool,
    /// Registration Preempted.
    pub registration_preempted: bool,
    /// Reservation Released.
    pub released: bool,
    /// Reservation Preempted.
    pub preempted: bool,
    #[bits(28)]
    __: u32,
}

layout! {
    /// Data of Reservation Register and Reservation Acquire; Reservation Release has only the first field.
    pub struct ReservationKeys: 16 {
        /// Current Reservation Key.
        pub current: U64,
        /// New Reservation Key, or Preempt Reservation Key.
        pub other: U64,
    } at { other: 8 }
}

layout! {
    /// Head of the extended Reservation Status.
    pub struct ReservationStatus: 64 {
        /// Generation.
        pub generation: U32,
        /// A [`ReservationType`]; 0 if there is no holder.
        pub rtype: u8,
        /// Number of Registered Controllers.
        pub regctl: U16,
        #[doc(hidden)]
        pub rsvd7: [u8; 2],
        /// Persist Through Power Loss State.
        pub ptpls: u8,
        #[doc(hidden)]
        pub rsvd10: [u8; 54],
    } at { regctl: 5, ptpls: 9 }
}

layout! {
    /// A registered controller of the extended Reservation Status.
    pub struct RegisteredController: 64 {
        /// Controller ID; FFFFh in the dynamic controller model.
        pub cntlid: U16,
        /// Reservation Status: bit 0 set if the host holds the reservation.
        pub rcsts: u8,
        #[doc(hidden)]
        pub rsvd3: [u8; 5],
        /// Reservation Key.
        pub rkey: U64,
        /// Host Identifier.
        pub hostid: [u8; 16],
        #[doc(hidden)]
        pub rsvd32: [u8; 32],
    } at { rkey: 8, hostid: 16 }
}

layout! {
    /// Reservation Notification log page.
    pub struct ReservationNotification: 64 {
        /// Log Page Count: number of the page; 0 if it is empty.
        pub count: U64,
        /// Type: 0 empty, 1 registration preempted, 2 reservation released, 3 reservation preempted.
        pub kind: u8,
        /// Number of Available Log Pages besides this one.
        pub available: u8,
        #[doc(hidden)]
        pub rsvd10: [u8; 2],
        /// Namespace.
        pub nsid: U32,
        #[doc(hidden)]
        pub rsvd16: [u8; 48],
    } at { kind: 8, nsid: 12 }
}
