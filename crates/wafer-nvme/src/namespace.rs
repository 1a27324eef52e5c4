//! Namespaces: Identify data, and the data of Namespace Management.

use bitfield_struct::bitfield;

use crate::{U16, U32, U64, U128, layout, open_enum};

layout! {
    /// LBA Format.
    pub struct LbaFormat: 4 {
        /// Metadata Size, bytes.
        pub ms: U16,
        /// LBA Data Size, a power of two.
        pub lbads: u8,
        /// Relative Performance in bits 1:0; 0 is best.
        pub rp: u8,
    }
}

layout! {
    /// Identify Namespace data of the NVM command set (NVM 1.1, "Identify Namespace Data Structure").
    pub struct IdentifyNamespace: 4096 {
        /// Namespace Size, logical blocks.
        pub nsze: U64,
        /// Namespace Capacity, logical blocks.
        pub ncap: U64,
        /// Namespace Utilization, logical blocks.
        pub nuse: U64,
        /// Namespace Features: [`Nsfeat`].
        pub nsfeat: u8,
        /// Number of LBA Formats, zero-based.
        pub nlbaf_z: u8,
        /// Formatted LBA Size: index in bits 3:0.
        pub flbas: u8,
        /// Metadata Capabilities.
        pub mc: u8,
        /// End-to-end Data Protection Capabilities.
        pub dpc: u8,
        /// End-to-end Data Protection Type Settings.
        pub dps: u8,
        /// Multi-path and sharing: bit 0 set if several controllers may share it.
        pub nmic: u8,
        /// Reservation Capabilities.
        pub rescap: u8,
        /// Format Progress Indicator.
        pub fpi: u8,
        /// Deallocate Logical Block Features: [`Dlfeat`].
        pub dlfeat: u8,
        /// Namespace Atomic Write Unit Normal, zero-based.
        pub nawun_z: U16,
        /// Namespace Atomic Write Unit Power Fail, zero-based.
        pub nawupf_z: U16,
        /// Namespace Atomic Compare & Write Unit, zero-based.
        pub nacwu_z: U16,
        /// Namespace Atomic Boundary Size Normal.
        pub nabsn: U16,
        /// Namespace Atomic Boundary Offset.
        pub nabo: U16,
        /// Namespace Atomic Boundary Size Power Fail.
        pub nabspf: U16,
        /// Namespace Optimal I/O Boundary, logical blocks.
        pub noiob: U16,
        /// NVM Capacity, bytes.
        pub nvmcap: U128,
        /// Namespace Preferred Write Granularity, zero-based logical blocks.
        pub npwg_z: U16,
        /// Namespace Preferred Write Alignment, zero-based.
        pub npwa_z: U16,
        /// Namespace Preferred Deallocate Granularity, zero-based.
        pub npdg_z: U16,
        /// Namespace Preferred Deallocate Alignment, zero-based.
        pub npda_z: U16,
        /// Namespace Optimal Write Size, zero-based.
        pub nows_z: U16,
        /// Maximum Single Source Range Length (copy), logical blocks.
        pub mssrl: U16,
        /// Maximum Copy Length, logical blocks.
        pub mcl: U32,
        /// Maximum Source Range Count, zero-based.
        pub msrc_z: u8,
        #[doc(hidden)]
        pub rsvd81: [u8; 11],
        /// ANA Group Identifier.
        pub anagrpid: U32,
        #[doc(hidden)]
        pub rsvd96: [u8; 3],
        /// Namespace Attributes.
        pub nsattr: u8,
        /// NVM Set Identifier.
        pub nvmsetid: U16,
        /// Endurance Group Identifier.
        pub endgid: U16,
        /// Namespace Globally Unique Identifier.
        pub nguid: [u8; 16],
        /// IEEE Extended Unique Identifier.
        pub eui64: [u8; 8],
        /// LBA formats.
        pub lbaf: [LbaFormat; 64],
        /// Vendor specific.
        pub vs: [u8; 3712],
    } at {
        nsfeat: 24, flbas: 26, nmic: 30, dlfeat: 33, nvmcap: 48, npwg_z: 64, mssrl: 74, mcl: 76,
        msrc_z: 80, endgid: 102, nguid: 104, eui64: 120, lbaf: 128, vs: 384,
    }
}

/// Namespace Features.
#[bitfield(u8)]
pub struct Nsfeat {
    /// Thin provisioning.
    pub thinp: bool,
    /// Namespace atomic units.
    pub nsabp: bool,
    /// Deallocated or unwritten logical block error.
    pub dae: bool,
    /// NGUID and EUI64 are never reused.
    pub uidreuse: bool,
    /// Optimal performance: bit 4 NPWG, NPWA, NPDG, NPDA, NOWS are given; bit 5 also NPDGL.
    #[bits(2)]
    pub optperf: u8,
    /// Multiple atomicity mode.
    pub mam: bool,
    /// Optimal read granularity and alignment.
    pub optrperf: bool,
}

/// Deallocate Logical Block Features.
#[bitfield(u8)]
pub struct Dlfeat {
    /// Value read from a deallocated block: 1 zeroes.
    #[bits(3)]
    pub read_behaviour: u8,
    /// Deallocate bit of Write Zeroes.
    pub write_zeroes: bool,
    /// Guard field.
    pub guard: bool,
    #[bits(3)]
    __: u8,
}

layout! {
    /// I/O command set independent Identify Namespace data.
    pub struct IndependentNamespace: 4096 {
        /// Common namespace features.
        pub nsfeat: u8,
        /// Multi-path and sharing.
        pub nmic: u8,
        /// Reservation Capabilities.
        pub rescap: u8,
        /// Format Progress Indicator.
        pub fpi: u8,
        /// ANA Group Identifier.
        pub anagrpid: U32,
        /// Namespace Attributes.
        pub nsattr: u8,
        #[doc(hidden)]
        pub rsvd9: u8,
        /// NVM Set Identifier.
        pub nvmsetid: U16,
        /// Endurance Group Identifier.
        pub endgid: U16,
        /// Namespace Status: bit 0 ready.
        pub nstat: u8,
        #[doc(hidden)]
        pub rsvd15: [u8; 4081],
    } at { anagrpid: 4, endgid: 12, nstat: 14 }
}

layout! {
    /// I/O command set specific Identify Namespace data of the NVM command set.
    pub struct NvmIdentifyNamespace: 4096 {
        /// Logical Block Storage Tag Mask.
        pub lbstm: U64,
        /// Protection Information Capabilities.
        pub pic: u8,
        #[doc(hidden)]
        pub rsvd9: [u8; 3],
        /// Extended LBA formats.
        pub elbaf: [U32; 64],
        #[doc(hidden)]
        pub rsvd268: [u8; 3828],
    } at { elbaf: 12 }
}

open_enum! {
    /// Namespace Identifier Type of a descriptor.
    Nidt(u8) {
        /// EUI64, 8 bytes.
        EUI64 = 1,
        /// NGUID, 16 bytes.
        NGUID = 2,
        /// UUID, 16 bytes.
        UUID = 3,
        /// Command Set Identifier, 1 byte.
        CSI = 4,
    }
}

layout! {
    /// Head of a namespace identification descriptor; the identifier follows.
    pub struct NamespaceDescriptor: 4 {
        /// A [`Nidt`].
        pub nidt: u8,
        /// Length of the identifier.
        pub nidl: u8,
        #[doc(hidden)]
        pub rsvd2: [u8; 2],
    }
}

layout! {
    /// Namespace Identification Descriptors of a namespace of the NVM command set.
    pub struct NamespaceDescriptors: 4096 {
        /// Head of the NGUID.
        pub nguid_head: NamespaceDescriptor,
        /// Namespace Globally Unique Identifier.
        pub nguid: [u8; 16],
        /// Head of the UUID.
        pub uuid_head: NamespaceDescriptor,
        /// UUID.
        pub uuid: [u8; 16],
        /// Head of the command set.
        pub csi_head: NamespaceDescriptor,
        /// Command Set Identifier.
        pub csi: u8,
        #[doc(hidden)]
        pub rsvd45: [u8; 4051],
    }
}

impl NamespaceDescriptors {
    /// Creates the list of a namespace's identifiers.
    pub fn new(nguid: [u8; 16], uuid: [u8; 16]) -> Self {
        let head = |nidt: Nidt, nidl| NamespaceDescriptor { nidt: nidt.0, nidl, rsvd2: [0; 2] };
        NamespaceDescriptors {
            nguid_head: head(Nidt::NGUID, 16),
            nguid,
            uuid_head: head(Nidt::UUID, 16),
            uuid,
            csi_head: head(Nidt::CSI, 1),
            ..Default::default()
        }
    }
}

layout! {
    /// UUID List with a single entry, which has index 1.
    pub struct UuidList: 4096 {
        #[doc(hidden)]
        pub rsvd0: [u8; 32],
        /// Header of the entry.
        pub head: [u8; 16],
        /// UUID.
        pub uuid: [u8; 16],
        #[doc(hidden)]
        pub rsvd64: [u8; 4032],
    }
}

layout! {
    /// Host software specified fields of Namespace Management, create (NVM 1.1).
    pub struct NamespaceCreate: 4096 {
        /// Namespace Size, logical blocks.
        pub nsze: U64,
        /// Namespace Capacity, logical blocks.
        pub ncap: U64,
        #[doc(hidden)]
        pub rsvd16: [u8; 10],
        /// Formatted LBA Size.
        pub flbas: u8,
        #[doc(hidden)]
        pub rsvd27: [u8; 2],
        /// End-to-end Data Protection Type Settings.
        pub dps: u8,
        /// Multi-path and sharing.
        pub nmic: u8,
        #[doc(hidden)]
        pub rsvd31: [u8; 61],
        /// ANA Group Identifier.
        pub anagrpid: U32,
        #[doc(hidden)]
        pub rsvd96: [u8; 4],
        /// NVM Set Identifier.
        pub nvmsetid: U16,
        /// Endurance Group Identifier.
        pub endgid: U16,
        #[doc(hidden)]
        pub rsvd104: [u8; 280],
        /// Logical Block Storage Tag Mask.
        pub lbstm: U64,
        /// Number of Placement Handles.
        pub nphndls: U16,
        #[doc(hidden)]
        pub rsvd394: [u8; 118],
        /// Reclaim unit handle of each placement handle.
        pub phndl: [U16; 128],
        #[doc(hidden)]
        pub rsvd768: [u8; 3328],
    } at { flbas: 26, dps: 29, nmic: 30, endgid: 102, lbstm: 384, nphndls: 392, phndl: 512 }
}

/// Command dword 10 of Namespace Management and Namespace Attachment.
#[bitfield(u32)]
pub struct NamespaceCdw10 {
    /// Management: 0 create, 1 delete. Attachment: 0 attach, 1 detach.
    #[bits(4)]
    pub select: u8,
    #[bits(28)]
    __: u32,
}

layout! {
    /// Namespace List.
    pub struct NamespaceList: 4096 {
        /// NSIDs, ascending; zeroes follow.
        pub nsids: [U32; 1024],
    }
}

impl NamespaceList {
    /// Creates a list of as many NSIDs as fit.
    pub fn of(nsids: impl IntoIterator<Item = u32>) -> Self {
        let mut list = NamespaceList::default();
        for (slot, nsid) in list.nsids.iter_mut().zip(nsids) {
            *slot = nsid.into();
        }
        list
    }
}

layout! {
    /// Controller List.
    pub struct ControllerList: 4096 {
        /// Number of identifiers.
        pub count: U16,
        /// Controller identifiers, ascending.
        pub ids: [U16; 2047],
    }
}

impl ControllerList {
    /// Creates a list of as many identifiers as fit.
    pub fn of(ids: impl IntoIterator<Item = u16>) -> Self {
        let mut list = ControllerList::default();
        let mut count = 0;
        for (slot, id) in list.ids.iter_mut().zip(ids) {
            *slot = id.into();
            count += 1;
        }
        list.count = count.into();
        list
    }
}

layout! {
    /// Namespace Granularity List with a single descriptor.
    pub struct NamespaceGranularity: 4096 {
        /// Namespace Granularity Attributes.
        pub nga: U32,
        /// Number of Descriptors, zero-based.
        pub nod_z: u8,
        #[doc(hidden)]
        pub rsvd5: [u8; 27],
        /// Namespace Size Granularity, bytes.
        pub nszegran: U64,
        /// Namespace Capacity Granularity, bytes.
        pub ncapgran: U64,
        #[doc(hidden)]
        pub rsvd48: [u8; 4048],
    } at { nszegran: 32, ncapgran: 40 }
}
