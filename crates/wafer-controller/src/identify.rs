//! Identify data structures.

use wafer_drive::{ENDURANCE_GROUP, FIRMWARE_GRANULARITY, FIRMWARE_SLOTS, Namespace};
use wafer_nvme::*;
use wafer_storage::ATOMIC_BLOCKS;

use super::fabrics::VERSION;
use super::nsid::LAST_NSID;
use super::ports::ANA_GROUPS;
use super::{
    Controller, ERROR_ENTRIES, Failure, IO_CAPSULE_DATA, KATO_UNIT, Kind, MAX_ASYNC_EVENTS, MDTS,
    MQES_Z,
};

/// PCI Vendor ID, of the subsystem too: `WF`, which PCI-SIG has not assigned. A drive reached over a network has no PCI
/// function, but tools distinguish drives of different vendors by this field.
pub(crate) const VENDOR: u16 = 0x4657;
/// IEEE OUI, lowest byte first: 02-57-46. The second bit of its first octet marks it as locally administered, so it
/// belongs to no manufacturer.
pub(super) const OUI: [u8; 3] = [0x46, 0x57, 0x02];
/// Warning Composite Temperature Threshold, kelvin.
pub(crate) const WARNING_TEMPERATURE: u16 = 343;
/// Firmware Updates: the first slot is read-only, and images are activated without a reset.
const FIRMWARE_UPDATES: u8 = 1 << 4 | FIRMWARE_SLOTS << 1 | 1;
/// Critical Composite Temperature Threshold, kelvin.
pub(crate) const CRITICAL_TEMPERATURE: u16 = 373;
/// Sanitize Capabilities: block erase, which cannot leave blocks allocated and after which the medium is not modified
/// further.
pub(crate) const SANITIZE: u32 = 1 << 30 | 1 << 29 | 1 << 1;
/// Fused Operation Support: Compare and Write.
pub(crate) const FUSED: u16 = 1;
/// Approximate bytes that an extended self-test reads in a minute: at 1 GB/s for a quarter of the time.
const SELF_TEST_PER_MINUTE: u64 = 15_000_000_000;
/// Blocks of an atomic write, less one.
const ATOMIC_Z: u16 = ATOMIC_BLOCKS - 1;
/// Longest copy, logical blocks.
pub const COPY_BLOCKS: u32 = 2048;
/// Longest source range of a copy, logical blocks. A program that turns a longer write into a copy, such as xNVMe's
/// tests, may leave the upper bits of its length in the field of the descriptor format.
pub const COPY_RANGE_BLOCKS: u16 = 256;
/// Maximum number of source ranges of a copy, less one.
pub const COPY_RANGES_Z: u8 = 127;
/// ANA Transition Time, seconds: how long hosts wait for the end of the ANA Change state.
const ANA_TRANSITION: u8 = 10;
/// Reservation Capabilities: all types, Persist Through Power Loss, and Ignore Existing Key as in version 1.3.
const RESERVATIONS: u8 = 0xff;
/// LBA formats: data size as a power of two.
pub(crate) const LBA_FORMATS: [u8; 2] = [9, 12];

impl Controller {
    /// Returns the Identify Controller data.
    pub(crate) fn identify_controller(&self) -> IdentifyController {
        let options = &self.subsystem.options;
        let cmic = Cmic::new().with_multi_controller(true).with_multi_port(true);
        let mut id = IdentifyController {
            vid: VENDOR.into(),
            ssvid: VENDOR.into(),
            ieee: OUI,
            sn: padded(&options.serial),
            mn: padded(&options.model),
            fr: self.subsystem.drive.firmware().running(),
            rab: 6,
            cmic: cmic.into_bits(),
            mdts: MDTS,
            cntlid: self.cntlid.into(),
            ver: VERSION.into(),
            cntrltype: 1,
            acl_z: 3,
            aerl_z: MAX_ASYNC_EVENTS as u8 - 1,
            elpe_z: ERROR_ENTRIES as u8 - 1,
            kas: (KATO_UNIT / 100).into(),
            maxcmd: (MQES_Z + 1).into(),
            sgls: Sgls::new()
                .with_support(1)
                .with_larger(true)
                .with_offset(true)
                .with_transport(true)
                .into_bits()
                .into(),
            msdbd: 1,
            ..Default::default()
        };
        let ctratt = Ctratt::new().with_hids(true).with_rhii(true).with_tbkas(true);
        id.subnqn = nqn_field(&options.nqn);
        if self.kind == Kind::Discovery {
            id.cntrltype = 2;
            id.ctratt = ctratt.into_bits().into();
            id.subnqn = nqn_field(DISCOVERY_NQN);
            id.lpa = Lpa::new().with_extended(true).into_bits();
            return id;
        }
        let drive = &self.subsystem.drive;
        let geometry = drive.geometry();
        let notices = AsyncEventConfig::new()
            .with_namespace_attribute(true)
            .with_firmware(true)
            .with_ana(true);
        id.oaes = notices.into_bits().into();
        id.ctratt =
            ctratt.with_egs(true).with_ng(true).with_fdps(true).with_ulist(true).into_bits().into();
        let capabilities = self.subsystem.support.capabilities(self.admin_commands());
        id.oacs = capabilities.oacs.into();
        id.oncs = capabilities.oncs.into();
        id.ofcs = capabilities.ofcs.into();
        id.lpa = capabilities.lpa | Lpa::new().with_extended(true).into_bits();
        id.frmw = FIRMWARE_UPDATES;
        id.fwug = (FIRMWARE_GRANULARITY >> 12) as u8;
        let minutes = geometry.logical_bytes().div_ceil(SELF_TEST_PER_MINUTE);
        id.edstt = u16::try_from(minutes).unwrap_or(u16::MAX).into();
        // One test at a time.
        id.dsto = 1;
        id.sanicap = SANITIZE.into();
        id.wctemp = WARNING_TEMPERATURE.into();
        id.cctemp = CRITICAL_TEMPERATURE.into();
        id.tnvmcap = u128::from(geometry.logical_bytes()).into();
        id.unvmcap = u128::from(drive.unallocated_bytes().0).into();
        id.endgidmax = ENDURANCE_GROUP.into();
        id.cmic = cmic.with_ana(true).into_bits();
        id.anatt = ANA_TRANSITION;
        id.anacap = Anacap::new()
            .with_optimized(true)
            .with_non_optimized(true)
            .with_inaccessible(true)
            .with_persistent_loss(true)
            .with_change(true)
            .with_fixed_group(true)
            .into_bits();
        id.anagrpmax = ANA_GROUPS.into();
        id.nanagrpid = ANA_GROUPS.into();
        // One unit of 64 KiB.
        id.pels = 1.into();
        id.sqes = 0x66;
        id.cqes = 0x44;
        id.nn = LAST_NSID.into();
        id.mnan = LAST_NSID.into();
        id.vwc = Vwc::new().with_present(true).with_flush_all(3).into_bits();
        // Write protection, also until a power cycle.
        id.nwpc = 0b011;
        id.awun_z = ATOMIC_Z.into();
        id.awupf_z = ATOMIC_Z.into();
        id.fuses = FUSED.into();
        id.acwu_z = ATOMIC_Z.into();
        id.cdfs = ((2u16 << CopyCdw12::LAST_FORMAT) - 1).into();
        id.ioccsz = ((64 + IO_CAPSULE_DATA) / 16).into();
        id.iorcsz = 1.into();
        // 25 W.
        id.psd0[..2].copy_from_slice(&2500u16.to_le_bytes());
        id
    }

    /// Returns the Identify Namespace data.
    pub(crate) fn identify_namespace(&self, namespace: &Namespace) -> IdentifyNamespace {
        let blocks = namespace.blocks();
        let page = self.subsystem.drive.geometry().page_bytes;
        // The device writes and deallocates whole pages without extra cost.
        let granularity_z = (page / namespace.lba_bytes()).max(1) as u16 - 1;
        let lbads = namespace.lba_shift as u8;
        // A namespace that is not reachable through this path reports no usage (Base 2.1, 8.1.1).
        let state = self.port.state(namespace.ana_group());
        let reached = ![AnaState::INACCESSIBLE, AnaState::PERSISTENT_LOSS].contains(&state);
        let capacity = if reached { namespace.bytes } else { 0 };
        IdentifyNamespace {
            nsze: blocks.into(),
            ncap: blocks.into(),
            nuse: (capacity >> namespace.lba_shift).into(),
            nsfeat: Nsfeat::new().with_optperf(1).with_nsabp(true).with_dae(true).into_bits(),
            nawun_z: ATOMIC_Z.into(),
            nawupf_z: ATOMIC_Z.into(),
            nacwu_z: ATOMIC_Z.into(),
            flbas: LBA_FORMATS.iter().position(|f| *f == lbads).unwrap_or(0) as u8,
            nvmcap: u128::from(capacity).into(),
            npwg_z: granularity_z.into(),
            npwa_z: granularity_z.into(),
            npdg_z: granularity_z.into(),
            npda_z: granularity_z.into(),
            nows_z: granularity_z.into(),
            anagrpid: namespace.ana_group().into(),
            endgid: ENDURANCE_GROUP.into(),
            rescap: RESERVATIONS,
            nsattr: u8::from(namespace.check_unprotected().is_err()),
            nguid: namespace.identity().nguid,
            nmic: u8::from(!namespace.is_private()),
            dlfeat: Dlfeat::new().with_read_behaviour(1).with_write_zeroes(true).into_bits(),
            msrc_z: COPY_RANGES_Z,
            mssrl: COPY_RANGE_BLOCKS.into(),
            mcl: COPY_BLOCKS.into(),
            ..common_namespace()
        }
    }

    /// Returns the I/O controllers with IDs of at least `from` that `with` accepts.
    pub(crate) fn controller_list(
        &self,
        from: u16,
        with: impl Fn(&Controller) -> bool,
    ) -> ControllerList {
        let all = self.subsystem.controllers();
        let found = all.iter().filter(|c| c.kind == Kind::Io && c.cntlid >= from && with(c));
        ControllerList::of(found.map(|c| c.cntlid))
    }
}

/// Returns the properties that all namespaces share, which hosts may read before they create one.
pub(crate) fn common_namespace() -> IdentifyNamespace {
    let mut id =
        IdentifyNamespace { nlbaf_z: LBA_FORMATS.len() as u8 - 1, nmic: 1, ..Default::default() };
    for (format, lbads) in id.lbaf.iter_mut().zip(LBA_FORMATS) {
        format.lbads = lbads;
    }
    id
}

/// Returns the I/O command set independent data of an active namespace.
pub(crate) fn independent_namespace(namespace: &Namespace) -> IndependentNamespace {
    IndependentNamespace {
        rescap: RESERVATIONS,
        anagrpid: namespace.ana_group().into(),
        nsattr: u8::from(namespace.check_unprotected().is_err()),
        endgid: ENDURANCE_GROUP.into(),
        nstat: 1,
        nmic: u8::from(!namespace.is_private()),
        ..common_independent_namespace()
    }
}

/// Returns the I/O command set independent data that all namespaces share.
pub(crate) fn common_independent_namespace() -> IndependentNamespace {
    IndependentNamespace { nmic: 1, ..Default::default() }
}

/// Checks a UUID Index; 0 means none.
pub(crate) fn check_uuid(index: u8, field: Location) -> Result<(), Failure> {
    if index <= 1 { Ok(()) } else { Err(field.into()) }
}
