//! Log pages (Base 2.1, 5.1.12).

use bitfield_struct::bitfield;

use crate::{LogInfo, Lpa, Scope, U16, U32, U64, U128, layout, open_enum, table};

const GROUP: Scope = Scope::EnduranceGroup;

table! {
    /// Log Page Identifier.
    Lid, LOG_PAGES: [LogInfo] {
        SUPPORTED = 0x00, "Supported Log Pages".lpa(Lpa::new().with_supported_pages(true));
        ERROR = 0x01, "Error Information";
        SMART = 0x02, "SMART / Health Information"
            .lpa(Lpa::new().with_smart_per_namespace(true));
        FIRMWARE = 0x03, "Firmware Slot Information";
        CHANGED_NAMESPACES = 0x04, "Changed Attached Namespace List";
        EFFECTS = 0x05, "Commands Supported and Effects".lpa(Lpa::new().with_effects(true));
        SELF_TEST = 0x06, "Device Self-test".scope(Scope::Subsystem);
        TELEMETRY_HOST = 0x07, "Telemetry Host-Initiated".lpa(Lpa::new().with_telemetry(true));
        TELEMETRY_CONTROLLER = 0x08, "Telemetry Controller-Initiated"
            .lpa(Lpa::new().with_telemetry(true));
        ENDURANCE_GROUP = 0x09, "Endurance Group Information".scope(GROUP);
        PREDICTABLE_LATENCY = 0x0a, "Predictable Latency Per NVM Set";
        PREDICTABLE_LATENCY_EVENTS = 0x0b, "Predictable Latency Event Aggregate";
        ANA = 0x0c, "Asymmetric Namespace Access";
        PERSISTENT_EVENT = 0x0d, "Persistent Event Log".scope(Scope::Subsystem)
            // The header can be read by itself.
            .lpa(Lpa::new().with_persistent_event(true)).specific(1);
        LBA_STATUS = 0x0e, "LBA Status Information";
        ENDURANCE_GROUP_EVENTS = 0x0f, "Endurance Group Event Aggregate";
        MEDIA_UNIT_STATUS = 0x10, "Media Unit Status";
        CAPACITY_CONFIGURATIONS = 0x11, "Supported Capacity Configuration List";
        FEATURE_EFFECTS = 0x12, "Feature Identifiers Supported and Effects";
        MI_EFFECTS = 0x13, "NVMe-MI Commands Supported and Effects";
        LOCKDOWN = 0x14, "Command and Feature Lockdown".scope(Scope::Subsystem);
        BOOT_PARTITION = 0x15, "Boot Partition";
        ROTATIONAL_MEDIA = 0x16, "Rotational Media Information".scope(GROUP);
        FDP_CONFIGURATIONS = 0x20, "FDP Configurations".scope(GROUP);
        FDP_RUH_USAGE = 0x21, "Reclaim Unit Handle Usage".scope(GROUP);
        FDP_STATISTICS = 0x22, "FDP Statistics".scope(GROUP);
        FDP_EVENTS = 0x23, "FDP Events".scope(GROUP);
        DISCOVERY = 0x70, "Discovery".discovery();
        RESERVATION_NOTIFICATION = 0x80, "Reservation Notification";
        SANITIZE_STATUS = 0x81, "Sanitize Status".scope(Scope::Subsystem);
        OCP_SMART = 0xc0, "SMART / Health Information Extended (OCP)";
        OCP_ERROR_RECOVERY = 0xc1, "Error Recovery (OCP)";
        OCP_FIRMWARE_HISTORY = 0xc2, "Firmware Activation History (OCP)".scope(Scope::Subsystem);
        OCP_LATENCY_MONITOR = 0xc3, "Latency Monitor (OCP)";
        OCP_DEVICE_CAPABILITIES = 0xc4, "Device Capabilities (OCP)";
        OCP_UNSUPPORTED = 0xc5, "Unsupported Requirements (OCP)";
        OCP_HARDWARE = 0xc6, "Hardware Component (OCP)";
        OCP_TCG = 0xc7, "TCG Configuration (OCP)";
        OCP_TELEMETRY_STRINGS = 0xc9, "Telemetry String (OCP)";
        WAFER_HANDLES = 0xd0, "Vendor specific: bytes per reclaim unit handle";
    }
}

/// Command dword 10 of Get Log Page.
#[bitfield(u32)]
pub struct GetLogCdw10 {
    /// A [`Lid`].
    pub lid: u8,
    /// Log Specific Parameter.
    #[bits(7)]
    pub lsp: u8,
    /// Retain Asynchronous Event.
    pub rae: bool,
    /// Number of Dwords, low, zero-based.
    pub numdl_z: u16,
}

/// Command dword 11 of Get Log Page.
#[bitfield(u32)]
pub struct GetLogCdw11 {
    /// Number of Dwords, high.
    pub numdu: u16,
    /// Log Specific Identifier.
    pub lsi: u16,
}

/// Command dword 14 of Get Features and Set Features.
#[bitfield(u32)]
pub struct FeatureCdw14 {
    /// UUID Index.
    #[bits(7)]
    pub uuid_index: u8,
    #[bits(25)]
    __: u32,
}

/// Command dword 14 of Get Log Page.
#[bitfield(u32)]
pub struct GetLogCdw14 {
    /// UUID Index.
    #[bits(7)]
    pub uuid_index: u8,
    #[bits(16)]
    __: u16,
    /// Offset Type: the offset counts entries.
    pub ot: bool,
    /// Command Set Identifier.
    pub csi: u8,
}

layout! {
    /// Error Information Log Entry.
    pub struct ErrorEntry: 64 {
        /// Error Count; 0 marks an entry without contents.
        pub error_count: U64,
        /// Submission Queue ID.
        pub sqid: U16,
        /// Command ID.
        pub cid: U16,
        /// Status Field, as in the completion.
        pub status: U16,
        /// Parameter Error Location: byte in bits 7:0, bit in 10:8; 0xffff if unknown.
        pub location: U16,
        /// First failed LBA.
        pub lba: U64,
        /// Namespace.
        pub nsid: U32,
        /// Vendor Specific Information Available.
        pub vsia: u8,
        /// Transport Type.
        pub trtype: u8,
        /// Command set indicator.
        pub csi: u8,
        /// Opcode.
        pub opcode: u8,
        /// Command Specific Information.
        pub command_specific: U64,
        /// Transport specific.
        pub transport_specific: U16,
        #[doc(hidden)]
        pub rsvd42: [u8; 21],
        /// Log page version.
        pub version: u8,
    } at { status: 12, lba: 16, nsid: 24, command_specific: 32 }
}

/// Critical Warning of the SMART log, and the mask of those that cause asynchronous events.
#[bitfield(u8)]
#[derive(PartialEq, Eq)]
pub struct CriticalWarning {
    /// The available spare is below its threshold.
    pub spare: bool,
    /// A temperature is beyond a threshold.
    pub temperature: bool,
    /// The subsystem is less reliable because of the medium or an internal error.
    pub unreliable: bool,
    /// The media are read only.
    pub read_only: bool,
    /// The backup of the volatile memory failed.
    pub backup: bool,
    /// The persistent memory region is read only or unreliable.
    pub persistent_memory: bool,
    #[bits(2)]
    __: u8,
}

layout! {
    /// SMART / Health Information.
    pub struct SmartLog: 512 {
        /// Critical Warning.
        pub critical_warning: u8,
        /// Composite Temperature, kelvin.
        pub temperature: U16,
        /// Available Spare, percent.
        pub available_spare: u8,
        /// Available Spare Threshold, percent.
        pub spare_threshold: u8,
        /// Percentage Used.
        pub percentage_used: u8,
        /// Endurance Group Critical Warning Summary.
        pub endurance_warning: u8,
        #[doc(hidden)]
        pub rsvd7: [u8; 25],
        /// Data Units Read, thousands of 512 bytes, rounded up.
        pub data_units_read: U128,
        /// Data Units Written, thousands of 512 bytes, rounded up.
        pub data_units_written: U128,
        /// Host Read Commands.
        pub host_reads: U128,
        /// Host Write Commands.
        pub host_writes: U128,
        /// Controller Busy Time, minutes.
        pub busy_minutes: U128,
        /// Power Cycles.
        pub power_cycles: U128,
        /// Power On Hours.
        pub power_on_hours: U128,
        /// Unsafe Shutdowns.
        pub unsafe_shutdowns: U128,
        /// Media and Data Integrity Errors.
        pub media_errors: U128,
        /// Number of Error Information Log Entries over the life of the controller.
        pub error_entries: U128,
        /// Warning Composite Temperature Time, minutes.
        pub warning_minutes: U32,
        /// Critical Composite Temperature Time, minutes.
        pub critical_minutes: U32,
        #[doc(hidden)]
        pub rsvd200: [u8; 312],
    } at { temperature: 1, data_units_read: 32, host_reads: 64, error_entries: 176, warning_minutes: 192 }
}

layout! {
    /// Head of the Telemetry Host-Initiated and Telemetry Controller-Initiated logs; data areas of 512-byte blocks follow.
    pub struct TelemetryLog: 512 {
        /// Log Page Identifier.
        pub lid: u8,
        #[doc(hidden)]
        pub rsvd1: [u8; 4],
        /// IEEE OUI Identifier.
        pub ieee: [u8; 3],
        /// Last blocks of Data Areas 1 to 3, all of which begin with block 1.
        pub last_blocks: [U16; 3],
        #[doc(hidden)]
        pub rsvd14: [u8; 366],
        /// Scope of the data: 1 the controller, 2 the NVM subsystem.
        pub scope: u8,
        /// Telemetry Host-Initiated Data Generation Number, or scope of the controller-initiated log.
        pub host_generation: u8,
        /// Telemetry Controller-Initiated Data Available.
        pub available: u8,
        /// Telemetry Controller-Initiated Data Generation Number.
        pub controller_generation: u8,
        /// Reason Identifier.
        pub reason: [u8; 128],
    } at { ieee: 5, last_blocks: 8, scope: 380, available: 382, reason: 384 }
}

layout! {
    /// Sanitize Status.
    pub struct SanitizeLog: 512 {
        /// Sanitize Progress out of 65,536; FFFFh if none is in progress.
        pub sprog: U16,
        /// Sanitize Status: [`SanitizeStatusField`].
        pub sstat: U16,
        /// Command dword 10 of the last operation.
        pub scdw10: U32,
        /// Estimated times for overwrite, block erase and crypto erase in seconds, then for the same
        /// without deallocation; FFFFFFFFh if not reported.
        pub estimates: [U32; 6],
        #[doc(hidden)]
        pub rsvd32: [u8; 480],
    } at { scdw10: 4, estimates: 8 }
}

/// Sanitize Status of the Sanitize Status log.
#[bitfield(u16)]
pub struct SanitizeStatusField {
    /// Status of the last operation: 0 none, 1 succeeded, 2 in progress, 3 failed.
    #[bits(3)]
    pub status: u8,
    /// Completed passes of an overwrite.
    #[bits(5)]
    pub passes: u8,
    /// Global Data Erased: no user data has been written since.
    pub erased: bool,
    #[bits(7)]
    __: u8,
}

layout! {
    /// Firmware Slot Information.
    pub struct FirmwareLog: 512 {
        /// Active Firmware Info: [`ActiveFirmware`].
        pub afi: u8,
        #[doc(hidden)]
        pub rsvd1: [u8; 7],
        /// Firmware revision of each slot.
        pub slots: [[u8; 8]; 7],
        #[doc(hidden)]
        pub rsvd64: [u8; 448],
    }
}

/// Active Firmware Info.
#[bitfield(u8)]
pub struct ActiveFirmware {
    /// Slot of the active firmware.
    #[bits(3)]
    pub active: u8,
    __: bool,
    /// Slot to be activated at the next Controller Level Reset; 0 is none.
    #[bits(3)]
    pub next: u8,
    __: bool,
}

open_enum! {
    /// ANA State.
    AnaState(u8) {
        /// ANA Optimized.
        OPTIMIZED = 0x01,
        /// ANA Non-Optimized.
        NON_OPTIMIZED = 0x02,
        /// ANA Inaccessible.
        INACCESSIBLE = 0x03,
        /// ANA Persistent Loss.
        PERSISTENT_LOSS = 0x04,
        /// ANA Change.
        CHANGE = 0x0f,
    }
}

layout! {
    /// Asymmetric Namespace Access log: head. `groups` entries of [`AnaGroup`] follow.
    pub struct AnaLog: 16 {
        /// Change Count.
        pub changes: U64,
        /// Number of ANA Group Descriptors.
        pub groups: U16,
        #[doc(hidden)]
        pub rsvd10: [u8; 6],
    } at { groups: 8 }
}

layout! {
    /// ANA Group Descriptor. The NSIDs of its namespaces follow, ascending, four bytes each.
    pub struct AnaGroup: 32 {
        /// ANA Group ID.
        pub group: U32,
        /// Number of NSIDs.
        pub nsids: U32,
        /// Change Count.
        pub changes: U64,
        /// [`AnaState`].
        pub state: u8,
        #[doc(hidden)]
        pub rsvd17: [u8; 15],
    } at { nsids: 4, changes: 8, state: 16 }
}

/// Effects of a command (Commands Supported and Effects, one entry).
#[bitfield(u32)]
pub struct CommandEffects {
    /// Supported.
    pub csupp: bool,
    /// Changes contents of logical blocks.
    pub lbcc: bool,
    /// Changes capabilities of a namespace.
    pub ncc: bool,
    /// Changes the inventory of namespaces.
    pub nic: bool,
    /// Changes capabilities of the controller.
    pub ccc: bool,
    #[bits(11)]
    __: u16,
    /// Submission and execution: 1 no other command for the namespace, 2 no other at all.
    #[bits(3)]
    pub cse: u8,
    /// UUID selection.
    pub uss: bool,
    #[bits(12)]
    __: u16,
}

layout! {
    /// Commands Supported and Effects.
    pub struct EffectsLog: 4096 {
        /// [`CommandEffects`] of each admin opcode.
        pub admin: [U32; 256],
        /// [`CommandEffects`] of each I/O opcode.
        pub io: [U32; 256],
        #[doc(hidden)]
        pub rsvd2048: [u8; 2048],
    }
}

layout! {
    /// Endurance Group Information.
    pub struct EnduranceGroupLog: 512 {
        /// Critical Warning.
        pub critical_warning: u8,
        /// Endurance Group Features: bit 7 set if media units read and written are reported.
        pub egfeat: u8,
        #[doc(hidden)]
        pub rsvd2: u8,
        /// Available Spare, percent.
        pub available_spare: u8,
        /// Available Spare Threshold, percent.
        pub spare_threshold: u8,
        /// Percentage Used.
        pub percentage_used: u8,
        /// Domain Identifier.
        pub domain: U16,
        #[doc(hidden)]
        pub rsvd8: [u8; 24],
        /// Endurance Estimate, billions of bytes.
        pub endurance_estimate: U128,
        /// Data Units Read, billions of bytes.
        pub data_units_read: U128,
        /// Data Units Written, billions of bytes.
        pub data_units_written: U128,
        /// Media Units Written, billions of bytes.
        pub media_units_written: U128,
        /// Host Read Commands.
        pub host_reads: U128,
        /// Host Write Commands.
        pub host_writes: U128,
        /// Media and Data Integrity Errors.
        pub media_errors: U128,
        /// Number of Error Information Log Entries.
        pub error_entries: U128,
        /// Total Endurance Group Capacity, bytes.
        pub total_capacity: U128,
        /// Unallocated Endurance Group Capacity, bytes.
        pub unallocated_capacity: U128,
        #[doc(hidden)]
        pub rsvd192: [u8; 320],
    } at { endurance_estimate: 32, media_units_written: 80, total_capacity: 160 }
}

layout! {
    /// Supported Log Pages: one entry per identifier; bit 0 supported, bit 1 index offset supported.
    pub struct SupportedLogs: 1024 {
        /// Entries.
        pub pages: [U32; 256],
    }
}

layout! {
    /// Feature Identifiers Supported and Effects: one entry per identifier; bit 0 supported.
    pub struct FeatureEffectsLog: 1024 {
        /// Entries; bits 31:20 are the scope.
        pub features: [U32; 256],
    }
}

layout! {
    /// Vendor specific log page D0h: head. `count` entries of [`HandleBytes`] follow.
    pub struct HandlesLog: 32 {
        /// ASCII `WAFR`.
        pub magic: [u8; 4],
        /// Version of the layout, 1.
        pub version: U16,
        /// Number of entries: one per reclaim unit handle, and one for relocated data with `gc`.
        pub count: U16,
        /// Bytes of the whole page.
        pub size: U32,
        /// 1 if the last entry is for the reclaim units that hold relocated data of all initially
        /// isolated handles.
        pub gc: U32,
        /// Bytes of pages relocated by garbage collection.
        pub relocated_bytes: U64,
        /// Number of reclaim units collected.
        pub collections: U64,
    } at { size: 8, relocated_bytes: 16 }
}

layout! {
    /// Vendor specific log page D0h: one handle.
    pub struct HandleBytes: 32 {
        /// Reclaim unit handle; 0xffff for relocated data.
        pub ruhid: U16,
        #[doc(hidden)]
        pub rsvd2: [u8; 6],
        /// Bytes that hosts wrote through the handle.
        pub host_bytes: U64,
        /// Bytes programmed: host bytes in whole pages, and data moved out of its reclaim units.
        pub media_bytes: U64,
        /// Bytes erased in its reclaim units.
        pub erased_bytes: U64,
    } at { host_bytes: 8, media_bytes: 16, erased_bytes: 24 }
}
