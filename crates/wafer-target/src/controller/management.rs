//! Namespace Management, Namespace Attachment, Format NVM.

use std::collections::BTreeSet;

use wafer_core::RuhId;
use wafer_spec::zerocopy::FromBytes as _;
use wafer_spec::*;

use super::identify::{BROADCAST, LBA_FORMATS};
use super::{Controller, Failure, Kind, Reply};
use crate::drive::{ENDURANCE_GROUP, NamespaceRequest};

impl Controller {
    pub(crate) fn namespace_management(&self, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
        match NamespaceCdw10::from(sqe.cdw10.get()).select() {
            0 => self.create_namespace(sqe, data),
            1 => self.delete_namespaces(sqe.nsid.get()),
            _ => Err(Failure::field(40)),
        }
    }

    fn create_namespace(&self, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
        if sqe.cdw11.get() >> 24 != 0 {
            // CSI: only the NVM command set.
            return Err(Failure::field(47));
        }
        let asked =
            NamespaceCreate::read_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?.0;
        let format = usize::from(asked.flbas & 0x0f | asked.flbas >> 1 & 0x30);
        let lbads = *LBA_FORMATS.get(format).ok_or(Status::INVALID_FORMAT)?;
        if asked.dps != 0 || asked.flbas & 0x10 != 0 {
            return Err(Status::INVALID_FORMAT.into());
        }
        if asked.nsze != asked.ncap {
            // No thin provisioning.
            return Err(Status::INVALID_FIELD.into());
        }
        if ![0, ENDURANCE_GROUP].contains(&asked.endgid.get()) || asked.nvmsetid.get() != 0 {
            return Err(Status::INVALID_FIELD.into());
        }
        let drive = &self.subsystem.drive;
        let page = drive.geometry().page_bytes;
        let bytes = u128::from(asked.nsze.get()) << lbads;
        let pages = u64::try_from(bytes.div_ceil(u128::from(page)))
            .map_err(|_| Status::INSUFFICIENT_CAPACITY)?;
        let count = usize::from(asked.nphndls.get());
        let list = asked.phndl.get(..count).ok_or(Status::INVALID_PLACEMENT_HANDLE_LIST)?;
        let request = NamespaceRequest {
            pages,
            lba_bytes: 1 << lbads,
            handles: list.iter().map(|h| RuhId(h.get())).collect(),
            everyone: false,
        };
        Ok(Reply::dw0(drive.create_namespace(request)?))
    }

    fn delete_namespaces(&self, nsid: u32) -> Result<Reply, Failure> {
        let nsids = if nsid == BROADCAST { self.nsids(false) } else { vec![nsid] };
        for nsid in nsids {
            let namespace = self.allocated(nsid)?.ok_or(Status::INVALID_NAMESPACE)?;
            self.subsystem.drive.delete_namespace(nsid)?;
            // Those that saw it learn that it is gone; the host that deletes it knows.
            self.subsystem.namespace_changed(nsid, |c| {
                c.cntlid != self.cntlid && namespace.is_attached(&c.hostnqn)
            });
        }
        Ok(Reply::default())
    }

    pub(crate) fn namespace_attachment(&self, sqe: &Sqe, data: &[u8]) -> Result<Reply, Failure> {
        let attach = match NamespaceCdw10::from(sqe.cdw10.get()).select() {
            0 => true,
            1 => false,
            _ => return Err(Failure::field(40)),
        };
        let nsid = sqe.nsid.get();
        let namespace = self.allocated(nsid)?.ok_or(Status::INVALID_FIELD)?;
        let list =
            ControllerList::read_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?.0;
        let ids = list.ids.get(..usize::from(list.count.get()));
        let ids = ids.filter(|ids| !ids.is_empty()).ok_or(Status::INVALID_CONTROLLER_LIST)?;
        if ids.windows(2).any(|pair| pair[0].get() >= pair[1].get()) {
            return Err(Status::INVALID_CONTROLLER_LIST.into());
        }
        let controllers = self.subsystem.controllers();
        let mut hosts = BTreeSet::new();
        for id in ids {
            let found = controllers.iter().find(|c| c.cntlid == id.get() && c.kind == Kind::Io);
            hosts.insert(found.ok_or(Status::INVALID_CONTROLLER_LIST)?.hostnqn.clone());
        }
        if hosts.iter().any(|h| namespace.is_attached(h) == attach) {
            return Err(if attach { Status::ALREADY_ATTACHED } else { Status::NOT_ATTACHED }.into());
        }
        for host in &hosts {
            namespace.set_attached(host, attach);
        }
        self.subsystem.drive.save();
        // The host that sent the command learns it, too: its kernel did not send it.
        self.subsystem.namespace_changed(nsid, |c| hosts.contains(&c.hostnqn));
        Ok(Reply::default())
    }

    pub(crate) fn format_nvm(&self, sqe: &Sqe) -> Result<Reply, Failure> {
        let cdw10 = FormatCdw10::from(sqe.cdw10.get());
        let format = usize::from(cdw10.lbafl()) | usize::from(cdw10.lbafu()) << 4;
        let lbads = *LBA_FORMATS.get(format).ok_or(Status::INVALID_FORMAT)?;
        if cdw10.pi() != 0 || cdw10.mset() {
            return Err(Status::INVALID_FORMAT.into());
        }
        if cdw10.ses() > 1 {
            // No cryptographic erase.
            return Err(Failure::field(41));
        }
        let nsids = match sqe.nsid.get() {
            BROADCAST => self.nsids(true),
            nsid => {
                self.active(nsid)?.ok_or(Status::INVALID_NAMESPACE)?;
                vec![nsid]
            }
        };
        for nsid in nsids {
            self.subsystem.drive.format_namespace(self.host, nsid, 1 << lbads)?;
            let namespace = self.subsystem.drive.namespace(nsid);
            self.subsystem.namespace_changed(nsid, |c| {
                namespace.as_ref().is_some_and(|n| n.is_attached(&c.hostnqn))
            });
        }
        Ok(Reply::default())
    }
}
