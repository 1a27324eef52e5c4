//! Identify: the command and its data structures.

use wafer_drive::{ENDURANCE_GROUP, Namespace};
use wafer_nvme::zerocopy::{Immutable, IntoBytes};
use wafer_nvme::*;

use super::limits::{
    COPY_BLOCKS, COPY_RANGES_Z, ERROR_ENTRIES, IO_CAPSULE_DATA, LAST_NSID, LBA_FORMATS,
    MAX_ASYNC_EVENTS, MDTS, MQES_Z, VERSION,
};
use super::reply::{Failure, Reply};
use super::subsystem::{BROADCAST, Controller, Kind};

const CNS: IdentifyCdw10 = IdentifyCdw10::new().with_cns(1);
/// Bytes of every structure.
const BYTES: usize = 4096;
/// Largest NSID after which a list may begin.
const LAST_LISTED: u32 = 0xffff_fffd;

pub(super) fn identify(c: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    let (cdw10, cdw11) = (IdentifyCdw10::of(sqe), IdentifyCdw11::of(sqe));
    let (cns, nsid) = (Cns(cdw10.cns()), sqe.nsid.get());
    // Only the NVM command set. Other structures ignore CSI.
    let of_command_set = matches!(
        cns,
        Cns::CSI_NAMESPACE
            | Cns::CSI_CONTROLLER
            | Cns::CSI_ACTIVE_NAMESPACES
            | Cns::CSI_ALLOCATED_NAMESPACES
            | Cns::CSI_ALLOCATED_NAMESPACE
    );
    if of_command_set && cdw11.csi() != 0 {
        return Err(IdentifyCdw11::new().with_csi(1).location().into());
    }
    if c.kind == Kind::Discovery && cns != Cns::CONTROLLER {
        return Err(CNS.location().into());
    }
    // The structure of an inactive namespace is all zeroes.
    let mut data = match cns {
        Cns::CONTROLLER => bytes(Some(controller(c))),
        Cns::NAMESPACE if nsid == BROADCAST => bytes(Some(common_namespace())),
        Cns::NAMESPACE => bytes(c.active(nsid)?.map(|n| namespace(c, &n))),
        Cns::ALLOCATED_NAMESPACE => bytes(c.allocated(nsid)?.map(|n| namespace(c, &n))),
        Cns::ACTIVE_NAMESPACES | Cns::CSI_ACTIVE_NAMESPACES => list(&c.nsids(true), nsid)?,
        Cns::ALLOCATED_NAMESPACES | Cns::CSI_ALLOCATED_NAMESPACES => list(&c.nsids(false), nsid)?,
        Cns::NAMESPACE_DESCRIPTORS => {
            descriptors(&*c.active(nsid)?.ok_or(Status::INVALID_NAMESPACE)?)
        }
        // The NVM command set specific structure is all zeroes for every namespace.
        Cns::CSI_NAMESPACE if nsid == BROADCAST => Vec::new(),
        Cns::CSI_NAMESPACE | Cns::CSI_ALLOCATED_NAMESPACE => {
            c.allocated(nsid)?;
            Vec::new()
        }
        Cns::CSI_CONTROLLER => {
            bytes(Some(NvmIdentifyController { vsl: MDTS, dmrl: 255, ..Default::default() }))
        }
        Cns::INDEPENDENT_NAMESPACE => bytes(c.active(nsid)?.map(|_| IndependentNamespace {
            nmic: 1,
            endgid: ENDURANCE_GROUP.into(),
            nstat: 1,
            ..Default::default()
        })),
        Cns::ATTACHED_CONTROLLERS => {
            let namespace = c.allocated(nsid)?.ok_or(Status::INVALID_NAMESPACE)?;
            controllers(c, cdw10.cntid(), |c| namespace.is_attached(&c.hostnqn))
        }
        Cns::CONTROLLERS => controllers(c, cdw10.cntid(), |_| true),
        Cns::ENDURANCE_GROUPS => {
            // The layout of a controller list: a count, and identifiers.
            let mut groups = ControllerList::default();
            if cdw11.cns_id() <= ENDURANCE_GROUP {
                groups.count = 1.into();
                groups.ids[0] = ENDURANCE_GROUP.into();
            }
            bytes(Some(groups))
        }
        // One combination: the NVM command set.
        Cns::IO_COMMAND_SETS => vec![1],
        Cns::NAMESPACE_GRANULARITY => {
            // One descriptor, valid for all formats: the granularity is the page.
            let page = c.subsystem.drive.geometry().page_bytes.into();
            bytes(Some(NamespaceGranularity {
                nszegran: page,
                ncapgran: page,
                ..Default::default()
            }))
        }
        _ => return Err(CNS.location().into()),
    };
    data.resize(BYTES, 0);
    Ok(Reply::data(data))
}

fn bytes(structure: Option<impl IntoBytes + Immutable>) -> Vec<u8> {
    structure.map_or_else(Vec::new, |s| s.as_bytes().to_vec())
}

/// Returns a list of up to 1,024 NSIDs greater than `after`.
fn list(nsids: &[u32], after: u32) -> Result<Vec<u8>, Failure> {
    if after > LAST_LISTED {
        return Err(Status::INVALID_NAMESPACE.into());
    }
    let greater = nsids.iter().filter(|n| **n > after).take(BYTES / 4);
    Ok(greater.flat_map(|nsid| nsid.to_le_bytes()).collect())
}

/// Returns a list of the I/O controllers from ID `from` on that `with` accepts.
fn controllers(c: &Controller, from: u16, with: impl Fn(&Controller) -> bool) -> Vec<u8> {
    let mut list = ControllerList::default();
    let all = c.subsystem.controllers();
    let ids = all.iter().filter(|c| c.kind == Kind::Io && c.cntlid >= from && with(c));
    let mut count = 0u16;
    for (slot, controller) in list.ids.iter_mut().zip(ids) {
        *slot = controller.cntlid.into();
        count += 1;
    }
    list.count = count.into();
    bytes(Some(list))
}

/// Returns the Namespace Identification Descriptors.
fn descriptors(namespace: &Namespace) -> Vec<u8> {
    let mut data = Vec::with_capacity(BYTES);
    let lists: [(Nidt, &[u8]); 3] =
        [(Nidt::NGUID, &namespace.nguid), (Nidt::UUID, &namespace.uuid), (Nidt::CSI, &[0])];
    for (nidt, id) in lists {
        let head = NamespaceDescriptor { nidt: nidt.0, nidl: id.len() as u8, ..Default::default() };
        data.extend_from_slice(head.as_bytes());
        data.extend_from_slice(id);
    }
    data
}

fn controller(c: &Controller) -> IdentifyController {
    let options = &c.subsystem.options;
    let sgls = Sgls::new().with_support(1).with_larger(true).with_offset(true).with_transport(true);
    let mut id = IdentifyController {
        sn: padded(&options.serial),
        mn: padded(&options.model),
        fr: padded(env!("CARGO_PKG_VERSION")),
        rab: 6,
        cmic: Cmic::new().with_multi_controller(true).with_multi_port(true).into_bits(),
        mdts: MDTS,
        cntlid: c.cntlid.into(),
        ver: VERSION.into(),
        cntrltype: 1,
        acl_z: 3,
        aerl_z: MAX_ASYNC_EVENTS as u8 - 1,
        elpe_z: ERROR_ENTRIES as u8 - 1,
        kas: 1.into(),
        maxcmd: (MQES_Z + 1).into(),
        sgls: sgls.into_bits().into(),
        msdbd: 1,
        subnqn: nqn_field(&options.nqn),
        ..Default::default()
    };
    let ctratt = Ctratt::new().with_hids(true).with_tbkas(true);
    let lpa = Lpa::new().with_extended(true).into_bits();
    if c.kind == Kind::Discovery {
        id.cntrltype = 2;
        id.ctratt = ctratt.into_bits().into();
        id.subnqn = nqn_field(DISCOVERY_NQN);
        id.lpa = lpa;
        return id;
    }
    let drive = &c.subsystem.drive;
    let capabilities = c.subsystem.support.capabilities();
    // 25 W.
    id.psd0[..2].copy_from_slice(&2500u16.to_le_bytes());
    IdentifyController {
        oaes: AsyncEventConfig::new().with_namespace_attribute(true).into_bits().into(),
        ctratt: ctratt.with_egs(true).with_ng(true).with_fdps(true).into_bits().into(),
        oacs: capabilities.oacs.into(),
        oncs: capabilities.oncs.into(),
        ofcs: capabilities.ofcs.into(),
        lpa: capabilities.lpa | lpa,
        // One firmware slot, read only.
        frmw: 0b011,
        wctemp: 343.into(),
        cctemp: 373.into(),
        tnvmcap: u128::from(drive.geometry().logical_bytes()).into(),
        unvmcap: u128::from(drive.unallocated_bytes().0).into(),
        endgidmax: ENDURANCE_GROUP.into(),
        sqes: 0x66,
        cqes: 0x44,
        nn: LAST_NSID.into(),
        mnan: LAST_NSID.into(),
        vwc: Vwc::new().with_present(true).with_flush_all(3).into_bits(),
        cdfs: 1.into(),
        ioccsz: ((64 + IO_CAPSULE_DATA) / 16).into(),
        iorcsz: 1.into(),
        ..id
    }
}

fn namespace(c: &Controller, namespace: &Namespace) -> IdentifyNamespace {
    let blocks = namespace.blocks();
    // Writing and deallocating whole pages costs the device no read-modify-write.
    let page = c.subsystem.drive.geometry().page_bytes;
    let granularity_z = (page / namespace.lba_bytes()).max(1) as u16 - 1;
    let lbads = namespace.lba_shift as u8;
    IdentifyNamespace {
        nsze: blocks.into(),
        ncap: blocks.into(),
        nuse: blocks.into(),
        nsfeat: Nsfeat::new().with_optperf(1).into_bits(),
        flbas: LBA_FORMATS.iter().position(|f| *f == lbads).unwrap_or(0) as u8,
        nvmcap: u128::from(namespace.bytes).into(),
        npwg_z: granularity_z.into(),
        npwa_z: granularity_z.into(),
        npdg_z: granularity_z.into(),
        npda_z: granularity_z.into(),
        nows_z: granularity_z.into(),
        endgid: ENDURANCE_GROUP.into(),
        nguid: namespace.nguid,
        ..common_namespace()
    }
}

/// Returns what all namespaces have in common.
fn common_namespace() -> IdentifyNamespace {
    let mut id = IdentifyNamespace {
        nlbaf_z: LBA_FORMATS.len() as u8 - 1,
        nmic: 1,
        dlfeat: Dlfeat::new().with_read_behaviour(1).with_write_zeroes(true).into_bits(),
        msrc_z: COPY_RANGES_Z,
        mssrl: (COPY_BLOCKS as u16).into(),
        mcl: COPY_BLOCKS.into(),
        ..Default::default()
    };
    for (format, lbads) in id.lbaf.iter_mut().zip(LBA_FORMATS) {
        format.lbads = lbads;
    }
    id
}

/// Returns ASCII text padded with spaces.
pub(crate) fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (slot, byte) in field.iter_mut().zip(text.bytes()) {
        *slot = byte;
    }
    field
}
