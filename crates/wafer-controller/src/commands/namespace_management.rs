//! Namespace Management: create and delete.

use wafer_drive::{ENDURANCE_GROUP, NamespaceRequest, Reserved};
use wafer_interface::RuhId;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{IdentifyCdw11, NamespaceCdw10, NamespaceCreate, Sqe, Status};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::identify::LBA_FORMATS;
use crate::nsid::BROADCAST;
use crate::removals::{Purpose, Removals};

pub(super) enum NamespaceManagement {
    Create { bytes: u128, lba_bytes: u32, handles: Vec<RuhId>, private: bool },
    Delete { nsid: u32 },
}

impl AdminCommand<'_> for NamespaceManagement {
    fn parse(sqe: &Sqe, data: &[u8]) -> Result<Self, Failure> {
        match NamespaceCdw10::of(sqe).select() {
            0 => parse_create(sqe, data),
            1 => Ok(NamespaceManagement::Delete { nsid: sqe.nsid.get() }),
            _ => Err(NamespaceCdw10::new().with_select(1).location().into()),
        }
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        match self {
            NamespaceManagement::Create { bytes, lba_bytes, handles, private } => {
                let drive = &controller.subsystem.drive;
                let page = drive.geometry().page_bytes;
                let required = bytes.next_multiple_of(page.into());
                let required = u64::try_from(required).unwrap_or(u64::MAX);
                let pages = required / page;
                let everyone = false;
                let request = NamespaceRequest { pages, lba_bytes, handles, everyone, private };
                let created = drive.create_namespace(request);
                let nsid = created.map_err(|status| {
                    let short = status == Status::INSUFFICIENT_CAPACITY;
                    Failure { specific: if short { required } else { 0 }, ..status.into() }
                })?;
                controller.log_changed_namespace(controller.namespace_event(0, nsid));
                Ok(Reply::dw0(nsid))
            }
            NamespaceManagement::Delete { nsid } => delete(controller, nsid),
        }
    }
}

fn parse_create(sqe: &Sqe, data: &[u8]) -> Result<NamespaceManagement, Failure> {
    // Only the NVM command set. The dword has the layout of Identify.
    if IdentifyCdw11::of(sqe).csi() != 0 {
        return Err(Status::COMMAND_SET_NOT_SUPPORTED.into());
    }
    let (create, _) =
        NamespaceCreate::ref_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?;
    // The upper bits of the format and the metadata location have no meaning with at most 16 formats and no metadata.
    let format = usize::from(create.flbas & 0x0f);
    let lbads = *LBA_FORMATS.get(format).ok_or(Status::INVALID_FORMAT)?;
    if create.dps != 0 {
        return Err(Status::INVALID_FORMAT.into());
    }
    if create.nsze != create.ncap {
        return Err(Status::THIN_PROVISIONING_NOT_SUPPORTED.into());
    }
    // Identify Controller reports that hosts cannot choose the ANA group.
    if create.anagrpid.get() != 0 {
        return Err(Status::ANA_GROUP_INVALID.into());
    }
    if ![0, ENDURANCE_GROUP].contains(&create.endgid.get()) || create.nvmsetid.get() != 0 {
        return Err(Status::INVALID_FIELD.into());
    }
    let handles = create.phndl.get(..usize::from(create.nphndls.get()));
    let handles = handles.ok_or(Status::INVALID_PLACEMENT_HANDLE_LIST)?;
    Ok(NamespaceManagement::Create {
        bytes: u128::from(create.nsze.get()) << lbads,
        lba_bytes: 1 << lbads,
        handles: handles.iter().map(|h| RuhId(h.get())).collect(),
        private: create.nmic & 1 == 0,
    })
}

fn delete(controller: &Controller, nsid: u32) -> Result<Reply, Failure> {
    let nsids = if nsid == BROADCAST { controller.nsids(false) } else { vec![nsid] };
    for nsid in &nsids {
        if let Some(namespace) = controller.allocated(*nsid)? {
            namespace.check_unprotected()?;
            namespace.check_reservation(&controller.hostid, Reserved::Write)?;
        }
    }
    let rest = Removals::begin(controller, Purpose::Delete { nsid }, nsids)?;
    Ok(Reply { rest: Some(rest), ..Default::default() })
}
