//! Namespace Attachment.

use std::collections::BTreeSet;

use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::{ControllerList, NamespaceCdw10, Sqe, Status};

use super::{AdminCommand, Controller, Failure, Reply};
use crate::{Kind, nsid};

pub(super) struct NamespaceAttachment<'a> {
    nsid: u32,
    attach: bool,
    controllers: &'a ControllerList,
}

impl<'a> AdminCommand<'a> for NamespaceAttachment<'a> {
    fn parse(sqe: &'a Sqe, data: &'a [u8]) -> Result<Self, Failure> {
        let attach = match NamespaceCdw10::of(sqe).select() {
            0 => true,
            1 => false,
            _ => return Err(NamespaceCdw10::new().with_select(1).location().into()),
        };
        let nsid = nsid::check(sqe.nsid.get())?;
        let list = ControllerList::ref_from_prefix(data).map_err(|_| Status::INVALID_SGL_LENGTH)?;
        Ok(NamespaceAttachment { nsid, attach, controllers: list.0 })
    }

    fn execute(self, controller: &Controller) -> Result<Reply, Failure> {
        let NamespaceAttachment { nsid, attach, controllers } = self;
        let namespace = controller.allocated(nsid)?.ok_or(Status::INVALID_FIELD)?;
        let ids = controllers.ids.get(..usize::from(controllers.count.get()));
        let ids = ids.filter(|ids| !ids.is_empty()).ok_or(Status::INVALID_CONTROLLER_LIST)?;
        if ids.windows(2).any(|pair| pair[0].get() >= pair[1].get()) {
            return Err(Status::INVALID_CONTROLLER_LIST.into());
        }
        let subsystem = &controller.subsystem;
        let all = subsystem.controllers();
        let mut hosts = BTreeSet::new();
        for id in ids {
            let found = all.iter().find(|c| c.cntlid == id.get() && c.kind == Kind::Io);
            hosts.insert(found.ok_or(Status::INVALID_CONTROLLER_LIST)?.hostnqn.clone());
        }
        if hosts.iter().any(|h| namespace.is_attached(h) == attach) {
            return Err(if attach { Status::ALREADY_ATTACHED } else { Status::NOT_ATTACHED }.into());
        }
        let names = hosts.iter().cloned().collect();
        subsystem.drive.attach_namespace(nsid, names, attach)?;
        // The host that sent the command is notified too, because its kernel does not know of it.
        subsystem.namespace_changed(nsid, |c| hosts.contains(&c.hostnqn));
        Ok(Reply::default())
    }
}
