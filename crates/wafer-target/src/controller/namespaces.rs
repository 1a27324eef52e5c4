//! Namespace Management, Namespace Attachment and Format NVM.

use std::collections::BTreeSet;

use wafer_drive::{ENDURANCE_GROUP, NamespaceRequest};
use wafer_interface::RuhId;
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{
    ControllerList, FormatCdw10, IdentifyCdw11, NamespaceCdw10, NamespaceCreate, Sqe, Status,
};

use super::limits::LBA_FORMATS;
use super::reply::{Failure, Reply};
use super::subsystem::{BROADCAST, Controller, Kind};

/// Secure Erase Settings: user data erase is the highest supported; there is no cryptographic erase.
const USER_DATA_ERASE: u8 = 1;

pub(super) fn management(c: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    match NamespaceCdw10::of(sqe).select() {
        0 => create(c, sqe, data),
        1 => delete(c, sqe.nsid.get()),
        _ => Err(NamespaceCdw10::new().with_select(1).location().into()),
    }
}

fn create(controller: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    // Only the NVM command set. The dword is that of Identify.
    if IdentifyCdw11::of(sqe).csi() != 0 {
        return Err(IdentifyCdw11::new().with_csi(1).location().into());
    }
    let (create, _) =
        NamespaceCreate::ref_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?;
    let format = usize::from(create.flbas & 0x0f | create.flbas >> 1 & 0x30);
    let lbads = *LBA_FORMATS.get(format).ok_or(Status::INVALID_FORMAT)?;
    if create.dps != 0 || create.flbas & 0x10 != 0 {
        return Err(Status::INVALID_FORMAT.into());
    }
    let other_group = ![0, ENDURANCE_GROUP].contains(&create.endgid.get());
    // No thin provisioning, NVM sets or further endurance groups.
    if create.nsze != create.ncap || other_group || create.nvmsetid.get() != 0 {
        return Err(Status::INVALID_FIELD.into());
    }
    let handles = create.phndl.get(..usize::from(create.nphndls.get()));
    let handles = handles.ok_or(Status::INVALID_PLACEMENT_HANDLE_LIST)?;
    let drive = &controller.subsystem.drive;
    let bytes = u128::from(create.nsze.get()) << lbads;
    let pages = u64::try_from(bytes.div_ceil(drive.geometry().page_bytes.into()))
        .map_err(|_| Status::INSUFFICIENT_CAPACITY)?;
    let nsid = drive.create_namespace(NamespaceRequest {
        pages,
        lba_bytes: 1 << lbads,
        handles: handles.iter().map(|h| RuhId(h.get())).collect(),
        everyone: false,
    })?;
    Ok(Reply::dw0(nsid))
}

fn delete(controller: &Controller, nsid: u32) -> Result<Reply, Failure> {
    let nsids = if nsid == BROADCAST { controller.nsids(false) } else { vec![nsid] };
    for nsid in nsids {
        let namespace = controller.allocated(nsid)?.ok_or(Status::INVALID_NAMESPACE)?;
        controller.subsystem.drive.delete_namespace(nsid)?;
        // The other hosts that saw it are notified.
        controller.subsystem.namespace_changed(nsid, |c| {
            c.cntlid != controller.cntlid && namespace.is_attached(&c.hostnqn)
        });
    }
    Ok(Reply::default())
}

pub(super) fn attachment(c: &Controller, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
    let attach = match NamespaceCdw10::of(sqe).select() {
        0 => true,
        1 => false,
        _ => return Err(NamespaceCdw10::new().with_select(1).location().into()),
    };
    let nsid = sqe.nsid.get();
    let (list, _) =
        ControllerList::ref_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?;
    let namespace = c.allocated(nsid)?.ok_or(Status::INVALID_FIELD)?;
    let ids = list.ids.get(..usize::from(list.count.get()));
    let ids = ids.filter(|ids| !ids.is_empty()).ok_or(Status::INVALID_CONTROLLER_LIST)?;
    if ids.windows(2).any(|pair| pair[0].get() >= pair[1].get()) {
        return Err(Status::INVALID_CONTROLLER_LIST.into());
    }
    let all = c.subsystem.controllers();
    let mut hosts = BTreeSet::new();
    for id in ids {
        let found = all.iter().find(|c| c.cntlid == id.get() && c.kind == Kind::Io);
        hosts.insert(found.ok_or(Status::INVALID_CONTROLLER_LIST)?.hostnqn.clone());
    }
    if hosts.iter().any(|h| namespace.is_attached(h) == attach) {
        return Err(if attach { Status::ALREADY_ATTACHED } else { Status::NOT_ATTACHED }.into());
    }
    for host in &hosts {
        namespace.set_attached(host, attach);
    }
    c.subsystem.drive.save();
    // The host that sent the command is notified too: its kernel did not send it.
    c.subsystem.namespace_changed(nsid, |c| hosts.contains(&c.hostnqn));
    Ok(Reply::default())
}

pub(super) fn format_nvm(c: &Controller, sqe: &Sqe, _: &[u8]) -> Result<Reply, Failure> {
    let cdw10 = FormatCdw10::of(sqe);
    let format = usize::from(cdw10.lbafl()) | usize::from(cdw10.lbafu()) << 4;
    let lbads = *LBA_FORMATS.get(format).ok_or(Status::INVALID_FORMAT)?;
    if cdw10.pi() != 0 || cdw10.mset() {
        return Err(Status::INVALID_FORMAT.into());
    }
    if cdw10.ses() > USER_DATA_ERASE {
        return Err(FormatCdw10::new().with_ses(1).location().into());
    }
    let nsids = match sqe.nsid.get() {
        BROADCAST => c.nsids(true),
        nsid => vec![c.active(nsid)?.ok_or(Status::INVALID_NAMESPACE)?.nsid],
    };
    let subsystem = &c.subsystem;
    for nsid in nsids {
        subsystem.drive.format_namespace(c.host, nsid, 1 << lbads)?;
        let namespace = subsystem.drive.namespace(nsid);
        let attached = |hostnqn: &str| namespace.as_ref().is_some_and(|n| n.is_attached(hostnqn));
        subsystem.namespace_changed(nsid, |c| attached(&c.hostnqn));
    }
    Ok(Reply::default())
}
