//! Identify: CNS values and controller data (Base 2.1, 5.1.13).

use bitfield_struct::bitfield;

use crate::{U16, U32, U64, U128, layout, open_enum};

open_enum! {
    /// Controller or Namespace Structure: the data requested from Identify.
    Cns(u8) {
        /// Identify Namespace.
        NAMESPACE = 0x00,
        /// Identify Controller.
        CONTROLLER = 0x01,
        /// Active namespace list.
        ACTIVE_NAMESPACES = 0x02,
        /// Namespace identification descriptors.
        NAMESPACE_DESCRIPTORS = 0x03,
        /// NVM set list.
        NVM_SETS = 0x04,
        /// I/O command set specific namespace.
        CSI_NAMESPACE = 0x05,
        /// I/O command set specific controller.
        CSI_CONTROLLER = 0x06,
        /// Active namespace list of an I/O command set.
        CSI_ACTIVE_NAMESPACES = 0x07,
        /// I/O command set independent namespace.
        INDEPENDENT_NAMESPACE = 0x08,
        /// Namespace of a user data format.
        FORMAT_NAMESPACE = 0x09,
        /// Command set specific namespace of a user data format.
        CSI_FORMAT_NAMESPACE = 0x0a,
        /// Allocated namespace list.
        ALLOCATED_NAMESPACES = 0x10,
        /// Allocated namespace.
        ALLOCATED_NAMESPACE = 0x11,
        /// Controllers that a namespace is attached to.
        ATTACHED_CONTROLLERS = 0x12,
        /// Controllers of the subsystem.
        CONTROLLERS = 0x13,
        /// Primary controller capabilities.
        PRIMARY_CONTROLLER = 0x14,
        /// Secondary controller list.
        SECONDARY_CONTROLLERS = 0x15,
        /// Namespace granularity list.
        NAMESPACE_GRANULARITY = 0x16,
        /// UUID list.
        UUID_LIST = 0x17,
        /// Endurance group list.
        ENDURANCE_GROUPS = 0x19,
        /// Allocated namespace list of an I/O command set.
        CSI_ALLOCATED_NAMESPACES = 0x1a,
        /// Allocated namespace, command set specific.
        CSI_ALLOCATED_NAMESPACE = 0x1b,
        /// I/O command set combinations.
        IO_COMMAND_SETS = 0x1c,
    }
}

/// Command dword 10 of Identify.
#[bitfield(u32)]
pub struct IdentifyCdw10 {
    /// A [`Cns`].
    pub cns: u8,
    __: u8,
    /// Controller Identifier.
    pub cntid: u16,
}

/// Command dword 11 of Identify.
#[bitfield(u32)]
pub struct IdentifyCdw11 {
    /// CNS specific identifier.
    pub cns_id: u16,
    __: u8,
    /// Command Set Identifier.
    pub csi: u8,
}

/// Returns ASCII text padded with spaces.
pub fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (slot, byte) in field.iter_mut().zip(text.bytes()) {
        *slot = byte;
    }
    field
}

layout! {
    /// Identify Controller data (figure "Identify Controller Data Structure").
    pub struct IdentifyController: 4096 {
        /// PCI Vendor ID.
        pub vid: U16,
        /// PCI Subsystem Vendor ID.
        pub ssvid: U16,
        /// Serial Number, ASCII, padded with spaces.
        pub sn: [u8; 20],
        /// Model Number, ASCII, padded with spaces.
        pub mn: [u8; 40],
        /// Firmware Revision, ASCII, padded with spaces.
        pub fr: [u8; 8],
        /// Recommended Arbitration Burst.
        pub rab: u8,
        /// IEEE OUI Identifier.
        pub ieee: [u8; 3],
        /// Multi-path and namespace sharing: [`Cmic`].
        pub cmic: u8,
        /// Maximum Data Transfer Size: 2^mdts memory pages.
        pub mdts: u8,
        /// Controller ID.
        pub cntlid: U16,
        /// Version.
        pub ver: U32,
        /// RTD3 Resume Latency.
        pub rtd3r: U32,
        /// RTD3 Entry Latency.
        pub rtd3e: U32,
        /// Optional Asynchronous Events Supported.
        pub oaes: U32,
        /// Controller Attributes: [`Ctratt`].
        pub ctratt: U32,
        #[doc(hidden)]
        pub rsvd100: [u8; 11],
        /// Controller Type: 1 I/O, 2 discovery, 3 administrative.
        pub cntrltype: u8,
        /// FRU Globally Unique Identifier.
        pub fguid: [u8; 16],
        #[doc(hidden)]
        pub rsvd128: [u8; 128],
        /// Optional Admin Command Support: [`Oacs`].
        pub oacs: U16,
        /// Abort Command Limit, zero-based.
        pub acl_z: u8,
        /// Asynchronous Event Request Limit, zero-based.
        pub aerl_z: u8,
        /// Firmware Updates.
        pub frmw: u8,
        /// Log Page Attributes: [`Lpa`].
        pub lpa: u8,
        /// Error Log Page Entries, zero-based.
        pub elpe_z: u8,
        /// Number of Power States Support, zero-based.
        pub npss_z: u8,
        /// Admin Vendor Specific Command Configuration.
        pub avscc: u8,
        /// Autonomous Power State Transition Attributes.
        pub apsta: u8,
        /// Warning Composite Temperature Threshold, kelvin.
        pub wctemp: U16,
        /// Critical Composite Temperature Threshold, kelvin.
        pub cctemp: U16,
        #[doc(hidden)]
        pub rsvd270: [u8; 10],
        /// Total NVM Capacity, bytes.
        pub tnvmcap: U128,
        /// Unallocated NVM Capacity, bytes.
        pub unvmcap: U128,
        #[doc(hidden)]
        pub rsvd312: [u8; 4],
        /// Extended Device Self-test Time, minutes.
        pub edstt: U16,
        /// Device Self-test Options: bit 0 set if there is one test at a time in the subsystem.
        pub dsto: u8,
        /// Firmware Update Granularity.
        pub fwug: u8,
        /// Keep Alive Support: granularity of the timer in 100 ms.
        pub kas: U16,
        #[doc(hidden)]
        pub rsvd322: [u8; 6],
        /// Sanitize Capabilities: bit 0 crypto erase, bit 1 block erase, bit 2 overwrite; bits 31:30 are 1 if the
        /// medium is not modified further after a sanitize operation.
        pub sanicap: U32,
        #[doc(hidden)]
        pub rsvd332: [u8; 6],
        /// NVM Set Identifier Maximum.
        pub nsetidmax: U16,
        /// Endurance Group Identifier Maximum.
        pub endgidmax: U16,
        /// ANA Transition Time, seconds.
        pub anatt: u8,
        /// Asymmetric Namespace Access Capabilities: [`Anacap`].
        pub anacap: u8,
        /// ANA Group Identifier Maximum.
        pub anagrpmax: U32,
        /// Number of ANA Group Identifiers.
        pub nanagrpid: U32,
        /// Persistent Event Log Size, 64 KiB.
        pub pels: U32,
        #[doc(hidden)]
        pub rsvd356: [u8; 156],
        /// Submission Queue Entry Size: required in bits 3:0, maximum in 7:4.
        pub sqes: u8,
        /// Completion Queue Entry Size.
        pub cqes: u8,
        /// Maximum Outstanding Commands.
        pub maxcmd: U16,
        /// Number of Namespaces.
        pub nn: U32,
        /// Optional NVM Command Support: [`Oncs`].
        pub oncs: U16,
        /// Fused Operation Support: bit 0 set for Compare and Write.
        pub fuses: U16,
        /// Format NVM Attributes.
        pub fna: u8,
        /// Volatile Write Cache: [`Vwc`].
        pub vwc: u8,
        /// Atomic Write Unit Normal, zero-based logical blocks.
        pub awun_z: U16,
        /// Atomic Write Unit Power Fail, zero-based logical blocks.
        pub awupf_z: U16,
        /// I/O Command Set Vendor Specific Command Configuration.
        pub icsvscc: u8,
        /// Namespace Write Protection Capabilities.
        pub nwpc: u8,
        /// Atomic Compare & Write Unit, zero-based.
        pub acwu_z: U16,
        /// Copy Descriptor Formats Supported.
        pub cdfs: U16,
        /// SGL Support: [`Sgls`].
        pub sgls: U32,
        /// Maximum Number of Allowed Namespaces.
        pub mnan: U32,
        #[doc(hidden)]
        pub rsvd544: [u8; 224],
        /// NVM Subsystem NVMe Qualified Name, ends with a zero byte.
        pub subnqn: [u8; 256],
        #[doc(hidden)]
        pub rsvd1024: [u8; 768],
        /// I/O Queue Command Capsule Supported Size, in 16 bytes.
        pub ioccsz: U32,
        /// I/O Queue Response Capsule Supported Size, in 16 bytes.
        pub iorcsz: U32,
        /// In Capsule Data Offset, in 16 bytes.
        pub icdoff: U16,
        /// Fabrics Controller Attributes: bit 0 set for a static controller model.
        pub fcatt: u8,
        /// Maximum SGL Data Block Descriptors.
        pub msdbd: u8,
        /// Optional Fabrics Commands Support: bit 0 Disconnect.
        pub ofcs: U16,
        #[doc(hidden)]
        pub rsvd1806: [u8; 242],
        /// Power State Descriptor 0; its first field is Maximum Power in centiwatts.
        pub psd0: [u8; 32],
        #[doc(hidden)]
        pub rsvd2080: [u8; 2016],
    } at {
        cntlid: 78, oaes: 92, ctratt: 96, cntrltype: 111, oacs: 256, elpe_z: 262, tnvmcap: 280,
        unvmcap: 296, edstt: 316, kas: 320, sanicap: 328, endgidmax: 340, anatt: 342, nanagrpid: 348, pels: 352, sqes: 512, nn: 516, oncs: 520, vwc: 525, cdfs: 534,
        sgls: 536, mnan: 540, subnqn: 768, ioccsz: 1792, ofcs: 1804, psd0: 2048,
    }
}

/// Controller Multi-Path I/O and Namespace Sharing Capabilities.
#[bitfield(u8)]
pub struct Cmic {
    /// The subsystem may have several ports.
    pub multi_port: bool,
    /// The subsystem may have several controllers.
    pub multi_controller: bool,
    /// SR-IOV virtual function.
    pub sr_iov: bool,
    /// Asymmetric namespace access reporting.
    pub ana: bool,
    #[bits(4)]
    __: u8,
}

/// Asymmetric Namespace Access Capabilities.
#[bitfield(u8)]
pub struct Anacap {
    /// Reports ANA Optimized.
    pub optimized: bool,
    /// Reports ANA Non-Optimized.
    pub non_optimized: bool,
    /// Reports ANA Inaccessible.
    pub inaccessible: bool,
    /// Reports ANA Persistent Loss.
    pub persistent_loss: bool,
    /// Reports ANA Change.
    pub change: bool,
    __: bool,
    /// The ANA group of an attached namespace never changes.
    pub fixed_group: bool,
    /// Namespace Management takes an ANA group.
    pub group_in_management: bool,
}

/// Controller Attributes.
#[bitfield(u32)]
pub struct Ctratt {
    /// 128-bit host identifier.
    pub hids: bool,
    /// Non-operational power state permissive mode.
    pub nopspm: bool,
    /// NVM sets.
    pub nsets: bool,
    /// Read recovery levels.
    pub rrlvls: bool,
    /// Endurance groups.
    pub egs: bool,
    /// Predictable latency mode.
    pub plm: bool,
    /// Traffic based keep alive.
    pub tbkas: bool,
    /// Namespace granularity.
    pub ng: bool,
    /// SQ associations.
    pub sqa: bool,
    /// UUID list.
    pub ulist: bool,
    /// Multi-domain subsystem.
    pub mds: bool,
    /// Fixed capacity management.
    pub fcm: bool,
    /// Variable capacity management.
    pub vcm: bool,
    /// Delete endurance group.
    pub deg: bool,
    /// Delete NVM set.
    pub dnvms: bool,
    /// Extended LBA formats.
    pub elbas: bool,
    /// MDTS excludes metadata.
    pub mem: bool,
    /// Host memory buffer restrictions.
    pub hmbr: bool,
    /// Reservations and host identifier interaction.
    pub rhii: bool,
    /// Flexible Data Placement.
    pub fdps: bool,
    #[bits(12)]
    __: u16,
}

/// Optional Admin Command Support.
#[bitfield(u16)]
pub struct Oacs {
    /// Security Send and Receive.
    pub security: bool,
    /// Format NVM.
    pub format: bool,
    /// Firmware Commit and Download.
    pub firmware: bool,
    /// Namespace Management and Attachment.
    pub namespace_management: bool,
    /// Device Self-test.
    pub self_test: bool,
    /// Directives.
    pub directives: bool,
    /// NVMe-MI Send and Receive.
    pub mi: bool,
    /// Virtualization Management.
    pub virtualization: bool,
    /// Doorbell Buffer Config.
    pub doorbell_buffer: bool,
    /// Get LBA Status.
    pub lba_status: bool,
    /// Command and Feature Lockdown.
    pub lockdown: bool,
    #[bits(5)]
    __: u8,
}

/// Log Page Attributes.
#[bitfield(u8)]
pub struct Lpa {
    /// SMART log per namespace.
    pub smart_per_namespace: bool,
    /// Commands supported and effects log.
    pub effects: bool,
    /// Extended data: NUMDU and offsets.
    pub extended: bool,
    /// Telemetry logs.
    pub telemetry: bool,
    /// Persistent event log.
    pub persistent_event: bool,
    /// Supported log pages log and others of its kind.
    pub supported_pages: bool,
    #[bits(2)]
    __: u8,
}

/// Optional NVM Command Support.
#[bitfield(u16)]
pub struct Oncs {
    /// Compare.
    pub compare: bool,
    /// Write Uncorrectable.
    pub write_uncorrectable: bool,
    /// Dataset Management.
    pub dsm: bool,
    /// Write Zeroes.
    pub write_zeroes: bool,
    /// Save field of Set Features, select field of Get Features.
    pub features_save: bool,
    /// Reservations.
    pub reservations: bool,
    /// Timestamp.
    pub timestamp: bool,
    /// Verify.
    pub verify: bool,
    /// Copy.
    pub copy: bool,
    #[bits(7)]
    __: u8,
}

/// Volatile Write Cache.
#[bitfield(u8)]
pub struct Vwc {
    /// The drive has one.
    pub present: bool,
    /// Flush of all namespaces: 0 not reported, 2 not supported, 3 supported.
    #[bits(2)]
    pub flush_all: u8,
    #[bits(5)]
    __: u8,
}

/// SGL Support.
#[bitfield(u32)]
pub struct Sgls {
    /// Value 1: SGLs without alignment requirements.
    #[bits(2)]
    pub support: u8,
    /// Keyed SGL data block.
    pub keyed: bool,
    #[bits(13)]
    __: u16,
    /// Bit bucket.
    pub bit_bucket: bool,
    /// Byte aligned metadata.
    pub metadata_aligned: bool,
    /// The length may exceed the data.
    pub larger: bool,
    /// Metadata pointer with SGL.
    pub metadata_sgl: bool,
    /// Address as offset: data in the capsule.
    pub offset: bool,
    /// Transport SGL data block.
    pub transport: bool,
    #[bits(10)]
    __: u16,
}

layout! {
    /// I/O command set specific Identify Controller of the NVM command set.
    pub struct NvmIdentifyController: 4096 {
        /// Verify Size Limit: 2^vsl memory pages; 0 is none.
        pub vsl: u8,
        /// Write Zeroes Size Limit.
        pub wzsl: u8,
        /// Write Uncorrectable Size Limit.
        pub wusl: u8,
        /// Dataset Management Ranges Limit.
        pub dmrl: u8,
        /// Dataset Management Range Size Limit, logical blocks.
        pub dmrsl: U32,
        /// Dataset Management Size Limit, logical blocks.
        pub dmsl: U64,
        #[doc(hidden)]
        pub rsvd16: [u8; 4080],
    } at { dmrsl: 4, dmsl: 8 }
}
