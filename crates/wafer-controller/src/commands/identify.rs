//! Identify.

use wafer_drive::{ENDURANCE_GROUP, Identity};
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    Cns, ControllerList, IdentifyCdw10, IdentifyCdw11, NamespaceDescriptors, NamespaceGranularity,
    NamespaceList, NvmIdentifyController, NvmIdentifyNamespace, Sqe, Status, UuidList, location,
};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::nsid::BROADCAST;
use crate::{Kind, MDTS, identify};

pub(super) struct Identify {
    cns: Cns,
    nsid: u32,
    /// Controller Identifier at which a requested list starts.
    cntid: u16,
    /// CNS specific identifier.
    cns_id: u16,
}

const CNS: IdentifyCdw10 = IdentifyCdw10::new().with_cns(1);
/// Bytes of every data structure.
const BYTES: usize = 4096;
/// Largest NSID after which a list may begin.
const LAST_LISTED: u32 = 0xffff_fffd;

impl AdminCommand<'_> for Identify {
    fn parse(sqe: &Sqe, _data: &[u8]) -> Result<Self, Failure> {
        let (cdw10, cdw11) = (IdentifyCdw10::of(sqe), IdentifyCdw11::of(sqe));
        let cns = Cns(cdw10.cns());
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
        let (nsid, cntid, cns_id) = (sqe.nsid.get(), cdw10.cntid(), cdw11.cns_id());
        Ok(Identify { cns, nsid, cntid, cns_id })
    }

    fn execute(self, c: &Controller) -> Result<Reply, Failure> {
        let nsid = self.nsid;
        if c.kind == Kind::Discovery && self.cns != Cns::CONTROLLER {
            return Err(CNS.location().into());
        }
        match self.cns {
            Cns::CONTROLLER => Ok(Reply::data(c.identify_controller().as_bytes())),
            Cns::NAMESPACE if nsid == BROADCAST => structure(Some(identify::common_namespace())),
            Cns::NAMESPACE => structure(c.active(nsid)?.map(|n| c.identify_namespace(&n))),
            Cns::ALLOCATED_NAMESPACE => {
                structure(c.allocated(nsid)?.map(|n| c.identify_namespace(&n)))
            }
            Cns::ACTIVE_NAMESPACES | Cns::CSI_ACTIVE_NAMESPACES => list(&c.nsids(true), nsid),
            Cns::ALLOCATED_NAMESPACES | Cns::CSI_ALLOCATED_NAMESPACES => {
                list(&c.nsids(false), nsid)
            }
            Cns::NAMESPACE_DESCRIPTORS => {
                let namespace = c.active(nsid)?.ok_or(location!(nsid))?;
                let Identity { nguid, uuid } = namespace.identity();
                Ok(Reply::data(NamespaceDescriptors::new(nguid, uuid).as_bytes()))
            }
            Cns::CSI_NAMESPACE if nsid == BROADCAST => Ok(zeroes()),
            Cns::CSI_NAMESPACE => {
                structure(c.active(nsid)?.map(|_| NvmIdentifyNamespace::default()))
            }
            Cns::CSI_ALLOCATED_NAMESPACE => {
                structure(c.allocated(nsid)?.map(|_| NvmIdentifyNamespace::default()))
            }
            Cns::CSI_CONTROLLER => {
                let limits = NvmIdentifyController { vsl: MDTS, dmrl: 255, ..Default::default() };
                Ok(Reply::data(limits.as_bytes()))
            }
            Cns::INDEPENDENT_NAMESPACE if nsid == BROADCAST => {
                structure(Some(identify::common_independent_namespace()))
            }
            Cns::INDEPENDENT_NAMESPACE => {
                structure(c.active(nsid)?.map(|n| identify::independent_namespace(&n)))
            }
            Cns::ATTACHED_CONTROLLERS => {
                let namespace = c.allocated(nsid)?.ok_or(location!(nsid))?;
                let attached = c.controller_list(self.cntid, |c| namespace.is_attached(&c.hostnqn));
                Ok(Reply::data(attached.as_bytes()))
            }
            Cns::CONTROLLERS => Ok(Reply::data(c.controller_list(self.cntid, |_| true).as_bytes())),
            Cns::ENDURANCE_GROUPS => {
                // The same layout: a count and identifiers.
                let listed = (self.cns_id <= ENDURANCE_GROUP).then_some(ENDURANCE_GROUP);
                Ok(Reply::data(ControllerList::of(listed).as_bytes()))
            }
            Cns::IO_COMMAND_SETS => {
                // One combination: the NVM command set.
                let mut data = vec![0; BYTES];
                data[0] = 1;
                Ok(Reply::data(data))
            }
            Cns::UUID_LIST => {
                let list = UuidList { uuid: wafer_ocp::UUID, ..Default::default() };
                Ok(Reply::data(list.as_bytes()))
            }
            Cns::NAMESPACE_GRANULARITY => {
                // One descriptor, valid for all formats: the granularity is the page.
                let page = c.subsystem.drive.geometry().page_bytes;
                let (nszegran, ncapgran) = (page.into(), page.into());
                let list = NamespaceGranularity { nszegran, ncapgran, ..Default::default() };
                Ok(Reply::data(list.as_bytes()))
            }
            _ => Err(CNS.location().into()),
        }
    }
}

/// Returns the structure of a namespace, or zeroes for an inactive one.
fn structure<T: wafer_nvme::zerocopy::IntoBytes + wafer_nvme::zerocopy::Immutable>(
    found: Option<T>,
) -> Result<Reply, Failure> {
    Ok(found.map_or_else(zeroes, |found| Reply::data(found.as_bytes())))
}

fn zeroes() -> Reply {
    Reply::data(vec![0; BYTES])
}

/// Returns up to 1,024 NSIDs greater than `after`.
fn list(nsids: &[u32], after: u32) -> Result<Reply, Failure> {
    if after > LAST_LISTED {
        return Err(Status::INVALID_NAMESPACE.into());
    }
    let greater = nsids.iter().copied().filter(|nsid| *nsid > after);
    Ok(Reply::data(NamespaceList::of(greater).as_bytes()))
}
