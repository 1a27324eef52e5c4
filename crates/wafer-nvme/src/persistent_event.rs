//! Persistent Event Log (Base 2.1, 5.1.12.1.14).

use crate::{IdentifyNamespace, U16, U32, U64, U128, layout, open_enum};

open_enum! {
    /// Event Type.
    PersistentEventType(u8) {
        /// SMART / Health Log Snapshot: a [`SmartLog`](crate::SmartLog).
        SMART_SNAPSHOT = 0x01,
        /// Firmware Commit: a [`FirmwareCommitEvent`].
        FIRMWARE_COMMIT = 0x02,
        /// Timestamp Change: a [`TimestampChangeEvent`].
        TIMESTAMP_CHANGE = 0x03,
        /// Power-on or Reset: a [`PowerOnEvent`] and [`ControllerResetInfo`] for each controller.
        POWER_ON_OR_RESET = 0x04,
        /// NVM Subsystem Hardware Error: a [`HardwareErrorEvent`].
        HARDWARE_ERROR = 0x05,
        /// Change Namespace: a [`ChangeNamespaceEvent`].
        CHANGE_NAMESPACE = 0x06,
        /// Format NVM Start: a [`FormatStartEvent`].
        FORMAT_START = 0x07,
        /// Format NVM Completion: a [`FormatCompletionEvent`].
        FORMAT_COMPLETION = 0x08,
        /// Sanitize Start: a [`SanitizeStartEvent`].
        SANITIZE_START = 0x09,
        /// Sanitize Completion: a [`SanitizeCompletionEvent`].
        SANITIZE_COMPLETION = 0x0a,
        /// Set Feature: a [`SetFeatureEvent`], command dwords and data.
        SET_FEATURE = 0x0b,
        /// Telemetry Log Created: a [`TelemetryLog`](crate::TelemetryLog).
        TELEMETRY_CREATED = 0x0c,
        /// Thermal Excursion: a [`ThermalExcursionEvent`].
        THERMAL_EXCURSION = 0x0d,
    }
}

open_enum! {
    /// NVM Subsystem Hardware Error Event Code.
    HardwareErrorCode(u16) {
        /// Critical Warning Condition.
        CRITICAL_WARNING = 0x06,
        /// Unsafe Shutdown.
        UNSAFE_SHUTDOWN = 0x08,
        /// Controller Fatal Status.
        CONTROLLER_FATAL = 0x09,
        /// Media and Data Integrity Status.
        MEDIA_AND_DATA_INTEGRITY = 0x0a,
    }
}

layout! {
    /// Persistent Event Log: header. Events follow, newest first.
    pub struct PersistentEventLog: 512 {
        /// Log Identifier.
        pub lid: u8,
        #[doc(hidden)]
        pub rsvd1: [u8; 3],
        /// Total Number of Events.
        pub tnev: U32,
        /// Total Log Length in bytes, including the header.
        pub tll: U64,
        /// Log Revision.
        pub revision: u8,
        #[doc(hidden)]
        pub rsvd17: u8,
        /// Log Header Length: bytes of the header after this field.
        pub lhl: U16,
        /// Timestamp, as in the feature.
        pub timestamp: U64,
        /// Power on Hours.
        pub power_on_hours: U128,
        /// Power Cycle Count.
        pub power_cycles: U64,
        /// PCI Vendor ID.
        pub vid: U16,
        /// PCI Subsystem Vendor ID.
        pub ssvid: U16,
        /// Serial Number.
        pub sn: [u8; 20],
        /// Model Number.
        pub mn: [u8; 40],
        /// NVM Subsystem NVMe Qualified Name.
        pub subnqn: [u8; 256],
        /// Generation Number.
        pub generation: U16,
        /// Reporting Context Information: port in bits 15:0, port type in 17:16, bit 18 set if a context exists.
        pub rci: U32,
        #[doc(hidden)]
        pub rsvd378: [u8; 102],
        /// Supported Events Bitmap, by event type.
        pub supported: [u8; 32],
    } at {
        tnev: 4, tll: 8, revision: 16, lhl: 18, timestamp: 20, power_on_hours: 28, power_cycles: 44, vid: 52, sn: 56,
        mn: 76, subnqn: 116, generation: 372, rci: 374, supported: 480,
    }
}

layout! {
    /// Head of a persistent event; its data follows.
    pub struct PersistentEventHead: 24 {
        /// A [`PersistentEventType`].
        pub event_type: u8,
        /// Event Type Revision.
        pub revision: u8,
        /// Event Header Length: bytes of the head after this field.
        pub ehl: u8,
        /// Event Header Additional Information: port type in bits 1:0, 3 if there is none.
        pub ehai: u8,
        /// Controller Identifier.
        pub cntlid: U16,
        /// Event Timestamp, as in the Timestamp feature.
        pub timestamp: U64,
        /// Port Identifier.
        pub port: U16,
        #[doc(hidden)]
        pub rsvd16: [u8; 4],
        /// Vendor Specific Information Length, bytes.
        pub vsil: U16,
        /// Event Length: bytes after the head.
        pub el: U16,
    } at { ehai: 3, cntlid: 4, timestamp: 6, port: 14, vsil: 20, el: 22 }
}

impl PersistentEventLog {
    /// Returns the Supported Events Bitmap with all types.
    pub fn all_supported() -> [u8; 32] {
        let mut bits = [0; 32];
        for kind in PersistentEventType::KNOWN {
            bits[usize::from(kind.0 / 8)] |= 1 << (kind.0 % 8);
        }
        bits
    }
}

impl PersistentEventHead {
    /// Bytes of an event's head up to and including the field with its length.
    const BEFORE_EHL: usize = 3;
    /// Port type: none.
    const NO_PORT: u8 = 3;

    /// Returns the head of an event with `data` bytes of data; without a controller, it has no port.
    pub fn new(kind: PersistentEventType, cntlid: Option<u16>, timestamp: u64, data: u16) -> Self {
        PersistentEventHead {
            event_type: kind.0,
            revision: if kind == PersistentEventType::CHANGE_NAMESPACE { 2 } else { 1 },
            ehl: (size_of::<Self>() - Self::BEFORE_EHL) as u8,
            ehai: if cntlid.is_none() { Self::NO_PORT } else { 0 },
            cntlid: cntlid.unwrap_or(u16::MAX).into(),
            timestamp: timestamp.into(),
            el: data.into(),
            ..Default::default()
        }
    }
}

layout! {
    /// Firmware Commit Event.
    pub struct FirmwareCommitEvent: 22 {
        /// Old Firmware Revision.
        pub old_revision: [u8; 8],
        /// New Firmware Revision.
        pub new_revision: [u8; 8],
        /// Commit Action.
        pub action: u8,
        /// Firmware Slot.
        pub slot: u8,
        /// Status Code Type.
        pub sct: u8,
        /// Status Code.
        pub sc: u8,
        /// Vendor Assigned Firmware Commit Result Code.
        pub vendor_code: U16,
    } at { action: 16, vendor_code: 20 }
}

layout! {
    /// Timestamp Change Event.
    pub struct TimestampChangeEvent: 16 {
        /// Previous Timestamp.
        pub previous: U64,
        /// Milliseconds Since Reset.
        pub since_reset: U64,
    }
}

layout! {
    /// Power-on or Reset Event: head.
    pub struct PowerOnEvent: 8 {
        /// Firmware Revision.
        pub revision: [u8; 8],
    }
}

layout! {
    /// Power-on or Reset Event: Controller Reset Information.
    pub struct ControllerResetInfo: 36 {
        /// Controller Identifier.
        pub cntlid: U16,
        /// Firmware Activation.
        pub firmware_activation: u8,
        /// Operation in Progress: bit 0 Format NVM, bit 1 Sanitize.
        pub in_progress: u8,
        #[doc(hidden)]
        pub rsvd4: [u8; 12],
        /// Controller Power Cycle.
        pub power_cycle: U32,
        /// Power-on time in milliseconds.
        pub power_on: U64,
        /// Controller Timestamp.
        pub timestamp: U64,
    } at { power_cycle: 16, power_on: 20, timestamp: 28 }
}

layout! {
    /// NVM Subsystem Hardware Error Event: head. Additional information follows.
    pub struct HardwareErrorEvent: 4 {
        /// A [`HardwareErrorCode`].
        pub code: U16,
        #[doc(hidden)]
        pub rsvd2: [u8; 2],
    }
}

layout! {
    /// Change Namespace Event.
    pub struct ChangeNamespaceEvent: 48 {
        /// Namespace Management CDW10.
        pub cdw10: U32,
        #[doc(hidden)]
        pub rsvd4: [u8; 4],
        /// Namespace Size, logical blocks.
        pub nsze: U64,
        #[doc(hidden)]
        pub rsvd16: [u8; 8],
        /// Namespace Capacity, logical blocks.
        pub ncap: U64,
        /// Formatted LBA Size.
        pub flbas: u8,
        /// End-to-end Data Protection Type Settings.
        pub dps: u8,
        /// Namespace Multi-path I/O and Namespace Sharing Capabilities.
        pub nmic: u8,
        #[doc(hidden)]
        pub rsvd35: u8,
        /// ANA Group Identifier.
        pub anagrpid: U32,
        /// NVM Set Identifier.
        pub nvmsetid: U16,
        /// Endurance Group Identifier.
        pub endgid: U16,
        /// Namespace ID.
        pub nsid: U32,
    } at { nsze: 8, ncap: 24, flbas: 32, anagrpid: 36, nsid: 44 }
}

impl ChangeNamespaceEvent {
    /// Returns the event for a namespace that a command with this Select creates or deletes.
    pub fn of(id: &IdentifyNamespace, select: u32, nsid: u32) -> Self {
        ChangeNamespaceEvent {
            cdw10: select.into(),
            nsze: id.nsze,
            ncap: id.ncap,
            flbas: id.flbas,
            nmic: id.nmic,
            anagrpid: id.anagrpid,
            endgid: id.endgid,
            nsid: nsid.into(),
            ..Default::default()
        }
    }
}

layout! {
    /// Format NVM Start Event.
    pub struct FormatStartEvent: 12 {
        /// Namespace Identifier.
        pub nsid: U32,
        /// Format NVM Attributes.
        pub fna: u8,
        #[doc(hidden)]
        pub rsvd5: [u8; 3],
        /// Format NVM CDW10.
        pub cdw10: U32,
    }
}

layout! {
    /// Format NVM Completion Event.
    pub struct FormatCompletionEvent: 12 {
        /// Namespace Identifier.
        pub nsid: U32,
        /// Smallest Format Progress Indicator.
        pub smallest_progress: u8,
        /// Format NVM Status: 0 if the command completed successfully.
        pub status: u8,
        /// Completion Information.
        pub completion_information: U16,
        /// Status Field of the completion.
        pub status_field: U32,
    }
}

layout! {
    /// Sanitize Start Event.
    pub struct SanitizeStartEvent: 12 {
        /// Sanitize Capabilities of Identify Controller.
        pub sanicap: U32,
        /// Sanitize CDW10.
        pub cdw10: U32,
        /// Sanitize CDW11.
        pub cdw11: U32,
    }
}

layout! {
    /// Sanitize Completion Event.
    pub struct SanitizeCompletionEvent: 8 {
        /// Sanitize Progress.
        pub progress: U16,
        /// Sanitize Status, as in the log page.
        pub status: U16,
        /// Completion Information.
        pub completion_information: U16,
        #[doc(hidden)]
        pub rsvd6: [u8; 2],
    }
}

layout! {
    /// Set Feature Event: head. Command dwords from CDW10 follow, then data.
    pub struct SetFeatureEvent: 4 {
        /// Layout: number of dwords in bits 2:0, bit 3 if dword 0 of the completion is logged, bytes of data in 31:16.
        pub layout: U32,
    }
}

layout! {
    /// Thermal Excursion Event.
    pub struct ThermalExcursionEvent: 2 {
        /// Kelvins above the threshold.
        pub over_temperature: u8,
        /// Threshold.
        pub threshold: u8,
    }
}
