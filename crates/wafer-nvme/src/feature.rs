//! Features (Base 2.1, 5.1.25).

use bitfield_struct::bitfield;

use crate::{FeatureInfo, Oncs, Scope, layout, table};

table! {
    /// Feature Identifier.
    Fid, FEATURES: [FeatureInfo] {
        ARBITRATION = 0x01, "Arbitration";
        POWER_MANAGEMENT = 0x02, "Power Management";
        LBA_RANGE_TYPE = 0x03, "LBA Range Type".scope(Scope::Namespace);
        TEMPERATURE_THRESHOLD = 0x04, "Temperature Threshold";
        ERROR_RECOVERY = 0x05, "Error Recovery".scope(Scope::Namespace);
        VOLATILE_WRITE_CACHE = 0x06, "Volatile Write Cache";
        NUMBER_OF_QUEUES = 0x07, "Number of Queues";
        INTERRUPT_COALESCING = 0x08, "Interrupt Coalescing";
        INTERRUPT_VECTOR = 0x09, "Interrupt Vector Configuration";
        WRITE_ATOMICITY = 0x0a, "Write Atomicity Normal";
        ASYNC_EVENT = 0x0b, "Asynchronous Event Configuration".discovery();
        POWER_TRANSITION = 0x0c, "Autonomous Power State Transition";
        HOST_MEMORY_BUFFER = 0x0d, "Host Memory Buffer";
        TIMESTAMP = 0x0e, "Timestamp".oncs(Oncs::new().with_timestamp(true));
        KEEP_ALIVE_TIMER = 0x0f, "Keep Alive Timer".discovery();
        THERMAL_MANAGEMENT = 0x10, "Host Controlled Thermal Management";
        NON_OPERATIONAL_POWER = 0x11, "Non-Operational Power State Config";
        READ_RECOVERY = 0x12, "Read Recovery Level Config";
        HOST_BEHAVIOR = 0x16, "Host Behavior Support";
        SANITIZE_CONFIG = 0x17, "Sanitize Config";
        COMMAND_SET_PROFILE = 0x19, "I/O Command Set Profile";
        SPINUP_CONTROL = 0x1a, "Spinup Control";
        FDP = 0x1d, "Flexible Data Placement".scope(Scope::EnduranceGroup).saveable();
        FDP_EVENTS = 0x1e, "FDP Events".scope(Scope::Namespace).saveable();
        SOFTWARE_PROGRESS = 0x80, "Software Progress Marker";
        HOST_IDENTIFIER = 0x81, "Host Identifier".fixed();
        RESERVATION_NOTIFICATION = 0x82, "Reservation Notification Mask".scope(Scope::Namespace);
        RESERVATION_PERSISTENCE = 0x83, "Reservation Persistence".scope(Scope::Namespace);
        WRITE_PROTECTION = 0x84, "Namespace Write Protection Config".scope(Scope::Namespace);
        OCP_ERROR_INJECTION = 0xc0, "Error Injection (OCP)".scope(Scope::Subsystem);
        OCP_CLEAR_FIRMWARE_HISTORY = 0xc1, "Clear Firmware Update History (OCP)".scope(Scope::Subsystem);
        OCP_FAILURE_MODE = 0xc2, "EOL/PLP Failure Mode (OCP)".scope(Scope::Subsystem).saveable();
        OCP_CLEAR_PCIE_ERRORS = 0xc3, "Clear PCIe Correctable Error Counters (OCP)";
        OCP_IEEE1667 = 0xc4, "Enable IEEE1667 Silo (OCP)".scope(Scope::Subsystem);
        OCP_LATENCY_MONITOR = 0xc5, "Latency Monitor (OCP)".scope(Scope::Subsystem).saveable();
        OCP_HEALTH_CHECK = 0xc6, "PLP Health Check Interval (OCP)".scope(Scope::Subsystem).saveable();
        OCP_POWER_STATE = 0xc7, "DSSD Power State (OCP)".scope(Scope::Subsystem).saveable();
        OCP_TELEMETRY_PROFILE = 0xc8, "Telemetry Profile (OCP)".scope(Scope::Subsystem);
        OCP_ASYNC_EVENT = 0xc9, "DSSD Asynchronous Event Configuration (OCP)";
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

/// Dword 0 of Get Features with select 3, supported capabilities.
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

/// Command dword 11 of endurance group features.
#[bitfield(u32)]
pub struct FeatureGroup {
    /// Endurance Group Identifier.
    pub endgid: u16,
    __: u16,
}

/// Command dword 11 of the Host Identifier feature.
#[bitfield(u32)]
pub struct HostIdentifierCdw11 {
    /// Enable Extended Host Identifier: 128 bits.
    pub exhid: bool,
    #[bits(31)]
    __: u32,
}

/// Error Recovery.
#[bitfield(u32)]
pub struct ErrorRecovery {
    /// Time Limited Error Recovery, 100 ms; 0 is no limit.
    pub tler: u16,
    /// Deallocated or Unwritten Logical Block Error Enable.
    pub dulbe: bool,
    #[bits(15)]
    __: u16,
}

/// Power Management.
#[bitfield(u32)]
pub struct PowerManagement {
    /// Power State.
    #[bits(5)]
    pub ps: u8,
    /// Workload Hint.
    #[bits(3)]
    pub wh: u8,
    #[bits(24)]
    __: u32,
}

/// Temperature Threshold.
#[bitfield(u32)]
pub struct TemperatureThreshold {
    /// Temperature Threshold, kelvin.
    pub tmpth: u16,
    /// Threshold Temperature Select: 0 composite, 1 to 8 a sensor, 15 all.
    #[bits(4)]
    pub tmpsel: u8,
    /// Threshold Type Select: 0 over, 1 under.
    #[bits(2)]
    pub thsel: u8,
    #[bits(10)]
    __: u32,
}

/// Command dword 11 of Namespace Write Protection Config.
#[bitfield(u32)]
pub struct WriteProtectionCdw11 {
    /// Write Protection State: 0 none, 1 write protected, 2 until power cycle, 3 permanently.
    #[bits(3)]
    pub wps: u8,
    #[bits(29)]
    __: u32,
}

/// Number of Queues.
#[bitfield(u32)]
pub struct NumberOfQueues {
    /// Number of I/O Submission Queues, zero-based.
    pub nsq_z: u16,
    /// Number of I/O Completion Queues, zero-based.
    pub ncq_z: u16,
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
    /// Telemetry log notices.
    pub telemetry: bool,
    /// Asymmetric namespace access change notices.
    pub ana: bool,
    #[bits(19)]
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
    /// Log page with more information.
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
        /// Copy Descriptor Formats 2 to 4 Enable, one bit each.
        pub cdfe: crate::U16,
        #[doc(hidden)]
        pub rsvd6: [u8; 506],
    }
}

impl HostBehavior {
    /// Copy Descriptor Formats 2 and 3 of [`Self::cdfe`].
    pub const COPY_FORMATS: u16 = 0b1100;

    /// Returns whether the host has enabled a Copy Descriptor Format that must be enabled.
    pub const fn enables_copy(&self, format: u8) -> bool {
        self.cdfe.get() & 1 << format != 0
    }
}
