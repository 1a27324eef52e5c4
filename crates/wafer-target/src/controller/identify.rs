//! Identify.

use std::sync::Arc;

use wafer_spec::zerocopy::IntoBytes as _;
use wafer_spec::*;

use super::property::VERSION;
use super::{
    Controller, ERROR_ENTRIES, Failure, IO_CAPSULE_DATA, Kind, MAX_ASYNC_EVENTS, MDTS, MQES_Z,
    Reply,
};
use crate::drive::{ENDURANCE_GROUP, Namespace};

/// Highest NSID.
pub(crate) const LAST_NSID: u32 = 255;
/// Longest copy, logical blocks; also of one source range.
pub(crate) const COPY_BLOCKS: u32 = 2048;
/// Source ranges of a copy at most, less one.
pub(crate) const COPY_RANGES_Z: u8 = 127;
/// Every namespace, as an NSID.
pub(crate) const BROADCAST: u32 = 0xffff_ffff;
/// LBA formats: data size as a power of two.
pub(crate) const LBA_FORMATS: [u8; 2] = [9, 12];

impl Controller {
    pub(crate) fn identify(&self, sqe: &Sqe) -> Result<Reply, Failure> {
        let cdw10 = IdentifyCdw10::from(sqe.cdw10.get());
        let cdw11 = IdentifyCdw11::from(sqe.cdw11.get());
        let nsid = sqe.nsid.get();
        let cns = Cns(cdw10.cns());
        if self.kind == Kind::Discovery && cns != Cns::CONTROLLER {
            return Err(Failure::field(40));
        }
        let csi_is_nvm = || if cdw11.csi() == 0 { Ok(()) } else { Err(Failure::field(44)) };
        match cns {
            Cns::CONTROLLER => Ok(self.identify_controller()),
            Cns::NAMESPACE => {
                if nsid == BROADCAST {
                    return Ok(Reply::data(self.common_namespace().as_bytes()));
                }
                Ok(match self.active(nsid)? {
                    Some(namespace) => self.identify_namespace(&namespace),
                    None => zeroes(),
                })
            }
            Cns::ALLOCATED_NAMESPACE => Ok(match self.allocated(nsid)? {
                Some(namespace) => self.identify_namespace(&namespace),
                None => zeroes(),
            }),
            Cns::ACTIVE_NAMESPACES => namespace_list(self.nsids(true), nsid),
            Cns::ALLOCATED_NAMESPACES => namespace_list(self.nsids(false), nsid),
            Cns::CSI_ACTIVE_NAMESPACES => {
                csi_is_nvm()?;
                namespace_list(self.nsids(true), nsid)
            }
            Cns::CSI_ALLOCATED_NAMESPACES => {
                csi_is_nvm()?;
                namespace_list(self.nsids(false), nsid)
            }
            Cns::NAMESPACE_DESCRIPTORS => {
                let namespace = self.active(nsid)?.ok_or(Status::INVALID_NAMESPACE)?;
                Ok(Reply::data(descriptors(&namespace)))
            }
            Cns::CSI_NAMESPACE | Cns::CSI_ALLOCATED_NAMESPACE => {
                csi_is_nvm()?;
                let found = match cns {
                    Cns::CSI_NAMESPACE if nsid == BROADCAST => return Ok(zeroes()),
                    Cns::CSI_NAMESPACE => self.active(nsid)?,
                    _ => self.allocated(nsid)?,
                };
                Ok(match found {
                    Some(_) => Reply::data(NvmIdentifyNamespace::default().as_bytes()),
                    None => zeroes(),
                })
            }
            Cns::CSI_CONTROLLER => {
                csi_is_nvm()?;
                let limits = NvmIdentifyController { vsl: MDTS, dmrl: 255, ..Default::default() };
                Ok(Reply::data(limits.as_bytes()))
            }
            Cns::INDEPENDENT_NAMESPACE => Ok(match self.active(nsid)? {
                Some(_) => {
                    let data = IndependentNamespace {
                        nmic: 1,
                        endgid: ENDURANCE_GROUP.into(),
                        nstat: 1,
                        ..Default::default()
                    };
                    Reply::data(data.as_bytes())
                }
                None => zeroes(),
            }),
            Cns::ATTACHED_CONTROLLERS => {
                let namespace = self.allocated(nsid)?.ok_or(Status::INVALID_NAMESPACE)?;
                Ok(self.controller_list(cdw10.cntid(), |c| namespace.is_attached(&c.hostnqn)))
            }
            Cns::CONTROLLERS => Ok(self.controller_list(cdw10.cntid(), |_| true)),
            Cns::ENDURANCE_GROUPS => {
                let mut list = ControllerList::default();
                if cdw11.cns_id() <= ENDURANCE_GROUP {
                    list.count = 1.into();
                    list.ids[0] = ENDURANCE_GROUP.into();
                }
                Ok(Reply::data(list.as_bytes()))
            }
            Cns::IO_COMMAND_SETS => {
                // One combination: the NVM command set.
                let mut data = vec![0; 4096];
                data[0] = 1;
                Ok(Reply::data(data))
            }
            Cns::NAMESPACE_GRANULARITY => {
                // One descriptor that is valid for all formats: granularity is the page.
                let page = self.subsystem.drive.geometry().page_bytes;
                let mut data = vec![0; 4096];
                data[32..40].copy_from_slice(&page.to_le_bytes());
                data[40..48].copy_from_slice(&page.to_le_bytes());
                Ok(Reply::data(data))
            }
            _ => Err(Failure::field(40)),
        }
    }

    fn identify_controller(&self) -> Reply {
        let options = &self.subsystem.options;
        let mut id = IdentifyController {
            sn: padded(&options.serial),
            mn: padded(&options.model),
            fr: padded(env!("CARGO_PKG_VERSION")),
            rab: 6,
            cmic: Cmic::new().with_multi_controller(true).with_multi_port(true).into_bits(),
            mdts: MDTS,
            cntlid: self.cntlid.into(),
            ver: VERSION.into(),
            cntrltype: 1,
            acl_z: 3,
            aerl_z: MAX_ASYNC_EVENTS as u8 - 1,
            elpe_z: ERROR_ENTRIES as u8 - 1,
            kas: 1.into(),
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
        let ctratt = Ctratt::new().with_hids(true).with_tbkas(true);
        id.subnqn = nqn_field(&options.nqn);
        if self.kind == Kind::Discovery {
            id.cntrltype = 2;
            id.ctratt = ctratt.into_bits().into();
            id.subnqn = nqn_field(DISCOVERY_NQN);
            id.lpa = Lpa::new().with_extended(true).into_bits();
            return Reply::data(id.as_bytes());
        }
        let drive = &self.subsystem.drive;
        let geometry = drive.geometry();
        id.oaes = AsyncEventConfig::new().with_namespace_attribute(true).into_bits().into();
        id.ctratt = ctratt.with_egs(true).with_ng(true).with_fdps(true).into_bits().into();
        id.oacs = Oacs::new()
            .with_format(true)
            .with_namespace_management(true)
            .with_directives(true)
            .into_bits()
            .into();
        // One firmware slot, read only.
        id.frmw = 0b011;
        id.lpa = Lpa::new()
            .with_effects(true)
            .with_extended(true)
            .with_supported_pages(true)
            .into_bits();
        id.wctemp = 343.into();
        id.cctemp = 373.into();
        id.tnvmcap = u128::from(geometry.logical_bytes()).into();
        id.unvmcap = u128::from(drive.unallocated_bytes().0).into();
        id.endgidmax = ENDURANCE_GROUP.into();
        id.sqes = 0x66;
        id.cqes = 0x44;
        id.nn = LAST_NSID.into();
        id.mnan = LAST_NSID.into();
        id.oncs = Oncs::new()
            .with_compare(true)
            .with_dsm(true)
            .with_write_zeroes(true)
            .with_features_save(true)
            .with_timestamp(true)
            .with_verify(true)
            .with_copy(true)
            .into_bits()
            .into();
        id.vwc = Vwc::new().with_present(true).with_flush_all(3).into_bits();
        id.cdfs = 1.into();
        id.ioccsz = ((64 + IO_CAPSULE_DATA) / 16).into();
        id.iorcsz = 1.into();
        id.ofcs = 1.into();
        // 25 W.
        id.psd0[..2].copy_from_slice(&2500u16.to_le_bytes());
        Reply::data(id.as_bytes())
    }

    /// What all namespaces have in common.
    fn common_namespace(&self) -> IdentifyNamespace {
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

    fn identify_namespace(&self, namespace: &Namespace) -> Reply {
        let blocks = namespace.blocks();
        let page = self.subsystem.drive.geometry().page_bytes;
        // Whole pages are what the device writes and deallocates without cost.
        let granularity_z = (page / namespace.lba_bytes()).max(1) as u16 - 1;
        let lbads = namespace.lba_shift as u8;
        let id = IdentifyNamespace {
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
            ..self.common_namespace()
        };
        Reply::data(id.as_bytes())
    }

    /// The namespace if this controller's host sees it; an error if there can be no such NSID.
    pub(crate) fn active(&self, nsid: u32) -> Result<Option<Arc<Namespace>>, Failure> {
        Ok(self.allocated(nsid)?.filter(|n| n.is_attached(&self.hostnqn)))
    }

    pub(crate) fn allocated(&self, nsid: u32) -> Result<Option<Arc<Namespace>>, Failure> {
        if !(1..=LAST_NSID).contains(&nsid) {
            return Err(Status::INVALID_NAMESPACE.into());
        }
        Ok(self.subsystem.drive.namespace(nsid))
    }

    /// NSIDs, ascending: those the host sees, or all.
    pub(crate) fn nsids(&self, active: bool) -> Vec<u32> {
        let all = self.subsystem.drive.namespaces().into_iter().flatten();
        all.filter(|n| !active || n.is_attached(&self.hostnqn)).map(|n| n.nsid).collect()
    }

    fn controller_list(&self, from: u16, with: impl Fn(&Controller) -> bool) -> Reply {
        let mut list = ControllerList::default();
        let all = self.subsystem.controllers();
        let ids = all.iter().filter(|c| c.kind == Kind::Io && c.cntlid >= from && with(c));
        let mut count = 0u16;
        for (slot, controller) in list.ids.iter_mut().zip(ids) {
            *slot = controller.cntlid.into();
            count += 1;
        }
        list.count = count.into();
        Reply::data(list.as_bytes())
    }
}

/// What an inactive namespace identifies as.
fn zeroes() -> Reply {
    Reply::data(vec![0; 4096])
}

/// Up to 1,024 NSIDs greater than `after`.
fn namespace_list(nsids: Vec<u32>, after: u32) -> Result<Reply, Failure> {
    if after >= 0xffff_fffe {
        return Err(Status::INVALID_NAMESPACE.into());
    }
    let mut data = vec![0; 4096];
    let greater = nsids.into_iter().filter(|n| *n > after);
    for (slot, nsid) in data.chunks_exact_mut(4).zip(greater) {
        slot.copy_from_slice(&nsid.to_le_bytes());
    }
    Ok(Reply::data(data))
}

fn descriptors(namespace: &Namespace) -> Vec<u8> {
    let mut data = Vec::with_capacity(4096);
    let lists: [(Nidt, &[u8]); 3] =
        [(Nidt::NGUID, &namespace.nguid), (Nidt::UUID, &namespace.uuid), (Nidt::CSI, &[0])];
    for (nidt, id) in lists {
        let head = NamespaceDescriptor { nidt: nidt.0, nidl: id.len() as u8, ..Default::default() };
        data.extend_from_slice(head.as_bytes());
        data.extend_from_slice(id);
    }
    data.resize(4096, 0);
    data
}

/// ASCII text padded with spaces.
pub(crate) fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    for (slot, byte) in field.iter_mut().zip(text.bytes()) {
        *slot = byte;
    }
    field
}
