//! Log pages and features of the OCP Datacenter NVMe SSD specification 2.0.

use bitfield_struct::bitfield;

use crate::{Timestamp, U16, U32, U64, U128, layout, open_enum};

/// Log Page GUID of the SMART / Health Information Extended log page, lowest byte first.
pub const SMART_EXTENDED_GUID: [u8; 16] =
    0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5_u128.to_le_bytes();
/// Log Page GUID of the Error Recovery log page, lowest byte first.
pub const ERROR_RECOVERY_GUID: [u8; 16] =
    0x5a19_83ba_3dfd_4dab_ae34_30fe_2131_d944_u128.to_le_bytes();
/// Log Page GUID of the Firmware Activation History log page, lowest byte first.
pub const FIRMWARE_HISTORY_GUID: [u8; 16] =
    0xd11c_f3ac_8ab2_4de2_a3f6_dab4_769a_796d_u128.to_le_bytes();
/// Log Page GUID of the Latency Monitor log page, lowest byte first.
pub const LATENCY_MONITOR_GUID: [u8; 16] =
    0x85d4_5e58_d4e6_4370_9c6c_84d0_8cc0_7a92_u128.to_le_bytes();
/// Log Page GUID of the Device Capabilities log page, lowest byte first.
pub const DEVICE_CAPABILITIES_GUID: [u8; 16] =
    0xb705_3c91_4b58_495d_98c9_e1d1_0d05_4297_u128.to_le_bytes();

layout! {
    /// SMART / Health Information Extended, log page C0h.
    pub struct OcpSmartLog: 512 {
        /// Physical Media Units Written, bytes.
        pub media_written: U128,
        /// Physical Media Units Read, bytes.
        pub media_read: U128,
        /// Bad User NAND Blocks, raw count.
        pub bad_user_blocks: [u8; 6],
        /// Bad User NAND Blocks, normalized: 100 is none.
        pub bad_user_normalized: U16,
        /// Bad System NAND Blocks, raw count.
        pub bad_system_blocks: [u8; 6],
        /// Bad System NAND Blocks, normalized: 100 is none.
        pub bad_system_normalized: U16,
        /// XOR Recovery Count.
        pub xor_recoveries: U64,
        /// Uncorrectable Read Error Count.
        pub uncorrectable_reads: U64,
        /// Soft ECC Error Count.
        pub soft_ecc_errors: U64,
        /// End to End Correction Counts: corrected errors.
        pub end_to_end_corrected: U32,
        /// End to End Correction Counts: detected errors.
        pub end_to_end_detected: U32,
        /// System Data Percent Used.
        pub system_data_used: u8,
        /// Refresh Counts.
        pub refreshes: [u8; 7],
        /// User Data Erase Counts: maximum.
        pub most_erases: U32,
        /// User Data Erase Counts: minimum.
        pub least_erases: U32,
        /// Thermal Throttling Status and Count: number of events.
        pub throttling_events: u8,
        /// Thermal Throttling Status and Count: current status, 0 if unthrottled.
        pub throttling_status: u8,
        /// DSSD Specification Version: errata, point (two bytes), minor (two bytes), major.
        pub dssd_version: [u8; 6],
        /// PCIe Correctable Error Count.
        pub pcie_errors: U64,
        /// Incomplete Shutdowns.
        pub incomplete_shutdowns: U32,
        #[doc(hidden)]
        pub rsvd116: U32,
        /// Percent Free Blocks.
        pub free_blocks: u8,
        #[doc(hidden)]
        pub rsvd121: [u8; 7],
        /// Capacitor Health in percent of what is needed; FFFFh if there is no capacitor.
        pub capacitor_health: U16,
        /// NVMe Errata Versions.
        pub nvme_errata: [u8; 4],
        #[doc(hidden)]
        pub rsvd134: [u8; 2],
        /// Unaligned I/O.
        pub unaligned_io: U64,
        /// Security Version Number.
        pub security_version: U64,
        /// Total NUSE, logical blocks.
        pub total_nuse: U64,
        /// PLP Start Count.
        pub plp_starts: U128,
        /// Endurance Estimate, bytes.
        pub endurance_estimate: U128,
        /// PCIe Link Retraining Count.
        pub link_retrainings: U64,
        /// Power State Change Count.
        pub power_state_changes: U64,
        #[doc(hidden)]
        pub rsvd208: [u8; 286],
        /// Log Page Version: 3 of specification 2.0.
        pub version: U16,
        /// Log Page GUID.
        pub guid: [u8; 16],
    } at {
        bad_user_blocks: 32, xor_recoveries: 48, refreshes: 81, most_erases: 88, throttling_events: 96,
        pcie_errors: 104, free_blocks: 120, capacitor_health: 128, unaligned_io: 136, plp_starts: 160,
        link_retrainings: 192, version: 494, guid: 496,
    }
}

layout! {
    /// Error Recovery, log page C1h.
    pub struct OcpErrorRecoveryLog: 512 {
        /// Panic Reset Wait Time, milliseconds.
        pub panic_reset_wait: U16,
        /// Panic Reset Action bits.
        pub panic_reset_action: u8,
        /// Device Recovery Action 1.
        pub recovery_action: u8,
        /// Panic ID; 0 if there is no panic.
        pub panic_id: U64,
        /// Device Capabilities: bit 0 panic asynchronous event, bit 1 panic CFS.
        pub capabilities: U32,
        /// Vendor Specific Recovery Opcode.
        pub vendor_opcode: u8,
        #[doc(hidden)]
        pub rsvd17: [u8; 3],
        /// Vendor Specific Command CDW12.
        pub vendor_cdw12: U32,
        /// Vendor Specific Command CDW13.
        pub vendor_cdw13: U32,
        /// Vendor Specific Command Timeout, seconds.
        pub vendor_timeout: u8,
        /// Device Recovery Action 2.
        pub recovery_action_2: u8,
        /// Device Recovery Action 2 Timeout, seconds.
        pub recovery_2_timeout: u8,
        /// Panic Count.
        pub panic_count: u8,
        /// Previous Panic IDs.
        pub previous_panics: [U64; 4],
        #[doc(hidden)]
        pub rsvd64: [u8; 430],
        /// Log Page Version, 2.
        pub version: U16,
        /// Log Page GUID.
        pub guid: [u8; 16],
    } at { panic_id: 4, capabilities: 12, vendor_cdw12: 20, panic_count: 31, previous_panics: 32, version: 494 }
}

layout! {
    /// Device Capabilities, log page C4h. Bit 15 of a field is set if all requirements of the specification are met.
    pub struct OcpDeviceCapabilitiesLog: 4096 {
        /// PCI Express Ports.
        pub pcie_ports: U16,
        /// OOB Management Support.
        pub oob_management: U16,
        /// Write Zeroes Command Support: bit 0 the command, 1 Deallocate, 2 Force Unit Access.
        pub write_zeroes: U16,
        /// Sanitize Command Support: bit 0 the command, 1 crypto erase, 2 block erase, 3 overwrite, 4 deallocates.
        pub sanitize: U16,
        /// Dataset Management Command Support: bit 0 the command, 1 Deallocate.
        pub dataset_management: U16,
        /// Write Uncorrectable Command Support: bit 0 the command, 1 single blocks, 2 as many as the field holds.
        pub write_uncorrectable: U16,
        /// Fused Operation Support: bit 0 Compare and Write.
        pub fused: U16,
        /// Minimum Valid DSSD Power State.
        pub least_power_state: U16,
        /// DSSD Power State Descriptors: bit 7 valid, bits 4:0 the power state of NVMe.
        pub power_states: [u8; 128],
        #[doc(hidden)]
        pub rsvd144: [u8; 3934],
        /// Log Page Version, 1.
        pub version: U16,
        /// Log Page GUID.
        pub guid: [u8; 16],
    } at { sanitize: 6, fused: 12, power_states: 16, version: 4078, guid: 4080 }
}

layout! {
    /// Entry of the Firmware Activation History log.
    pub struct OcpFirmwareActivation: 64 {
        /// Entry Version Number, 1.
        pub version: u8,
        /// Entry Length, bytes.
        pub length: u8,
        #[doc(hidden)]
        pub rsvd2: [u8; 2],
        /// Firmware Activation Count.
        pub count: U16,
        /// Timestamp.
        pub timestamp: Timestamp,
        #[doc(hidden)]
        pub rsvd14: [u8; 8],
        /// Power Cycle Count.
        pub power_cycles: U64,
        /// Previous Firmware.
        pub old_revision: [u8; 8],
        /// New Firmware Activated.
        pub new_revision: [u8; 8],
        /// Slot Number.
        pub slot: u8,
        /// Commit Action Type.
        pub action: u8,
        /// Result: 0, or Status Code Type in bits 10:8 and Status Code in bits 7:0.
        pub result: U16,
        #[doc(hidden)]
        pub rsvd50: [u8; 14],
    } at { timestamp: 6, power_cycles: 22, slot: 46, result: 48 }
}

layout! {
    /// Firmware Activation History, log page C2h.
    pub struct OcpFirmwareHistoryLog: 4096 {
        /// Log Identifier.
        pub lid: u8,
        #[doc(hidden)]
        pub rsvd1: [u8; 3],
        /// Valid Number of Entries.
        pub valid: U32,
        /// Entries.
        pub entries: [OcpFirmwareActivation; 20],
        #[doc(hidden)]
        pub rsvd1288: [u8; 2790],
        /// Log Page Version, 1.
        pub version: U16,
        /// Log Page GUID.
        pub guid: [u8; 16],
    } at { entries: 8, version: 4078, guid: 4080 }
}

open_enum! {
    /// Type of injected error.
    OcpErrorType(u16) {
        /// No More NAND Spares Available.
        NO_MORE_SPARES = 0x0a,
    }
}

/// Command dword 11 of Error Injection.
#[bitfield(u32)]
pub struct OcpErrorInjectionCdw11 {
    /// Number of Error Injections.
    #[bits(7)]
    pub entries: u8,
    #[bits(25)]
    __: u32,
}

layout! {
    /// Entry of Error Injection.
    pub struct OcpErrorInjection: 32 {
        /// Bit 0 enables the injection, bit 1 limits it to one instance.
        pub flags: u8,
        #[doc(hidden)]
        pub rsvd1: u8,
        /// Error Injection Type: an [`OcpErrorType`].
        pub kind: U16,
        /// Number of Reads to Trigger Device Panic.
        pub reads: U16,
        #[doc(hidden)]
        pub rsvd6: [u8; 26],
    } at { kind: 2, reads: 4 }
}

layout! {
    /// Counters and greatest latencies of the Latency Monitor, in buckets 0 (fastest) to 3.
    pub struct OcpLatencies: 186 {
        /// Commands by bucket: reserved, deallocate, write, read.
        pub counters: [[U32; 4]; 4],
        /// Timestamp of each measured latency, ms: deallocate, write, read.
        pub stamps: [[U64; 3]; 4],
        /// Measured latency, ms: deallocate, write, read.
        pub latencies: [[U16; 3]; 4],
        /// Latency Stamp Units, one bit each as in the configuration: set if a host had set the Timestamp feature.
        pub stamp_units: U16,
    } at { stamps: 64, latencies: 160, stamp_units: 184 }
}

layout! {
    /// Latency Monitor, log page C3h.
    pub struct OcpLatencyLog: 512 {
        /// Latency Monitor Feature Status: bit 0 enabled.
        pub status: u8,
        #[doc(hidden)]
        pub rsvd1: u8,
        /// Active Bucket Timer, 5 minutes.
        pub bucket_timer: U16,
        /// Active Bucket Timer Threshold, 5 minutes.
        pub bucket_timer_threshold: U16,
        /// Active Thresholds A to D, 5 ms, zero-based.
        pub thresholds_z: [u8; 4],
        /// Active Latency Configuration, as in the feature.
        pub configuration: U16,
        /// Active Latency Minimum Window, 100 ms.
        pub minimum_window: u8,
        #[doc(hidden)]
        pub rsvd13: [u8; 19],
        /// Latencies since the start of the bucket timer.
        pub active: OcpLatencies,
        #[doc(hidden)]
        pub rsvd218: [u8; 22],
        /// Latencies of the last complete period of the bucket timer.
        pub fixed: OcpLatencies,
        #[doc(hidden)]
        pub rsvd426: [u8; 68],
        /// Log Page Version, 1.
        pub version: U16,
        /// Log Page GUID.
        pub guid: [u8; 16],
    } at { bucket_timer: 2, thresholds_z: 6, active: 32, fixed: 240, version: 494 }
}

layout! {
    /// Data of the Latency Monitor feature, C5h.
    pub struct OcpLatencyMonitor: 4096 {
        /// Active Bucket Timer Threshold, 5 minutes; 0 means never.
        pub bucket_timer_threshold: U16,
        /// Active Thresholds A to D, 5 ms, zero-based.
        pub thresholds_z: [u8; 4],
        /// Active Latency Configuration. Bit 3 * bucket is for reads, the next for writes, the third for deallocates:
        /// set to report the greatest latency, clear to report the first.
        pub configuration: U16,
        /// Active Latency Minimum Window, 100 ms: minimum time before another latency replaces a measured one.
        pub minimum_window: u8,
        /// Debug Log Trigger Enable.
        pub debug_trigger: U16,
        /// Discard Debug Log.
        pub discard_debug_log: u8,
        /// Latency Monitor Feature Enable, bit 0.
        pub enable: u8,
        #[doc(hidden)]
        pub rsvd13: [u8; 4083],
    } at { thresholds_z: 2, configuration: 6, minimum_window: 8, debug_trigger: 9, enable: 12 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_begin_as_on_the_wire() {
        assert_eq!(SMART_EXTENDED_GUID[..4], [0xc5, 0xaf, 0x10, 0x28]);
        assert_eq!(ERROR_RECOVERY_GUID[..4], [0x44, 0xd9, 0x31, 0x21]);
        assert_eq!(LATENCY_MONITOR_GUID[..4], [0x92, 0x7a, 0xc0, 0x8c]);
        assert_eq!(DEVICE_CAPABILITIES_GUID[..4], [0x97, 0x42, 0x05, 0x0d]);
    }
}
