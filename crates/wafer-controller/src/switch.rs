//! Changes to a namespace by an operator while hosts are connected: its visibility, its identity and its ANA group.

use std::sync::PoisonError;

use wafer_drive::Namespace;
use wafer_nvme::Status;

use super::Subsystem;
use super::ports::{Missing, check_group};

/// Changes to a namespace, in the order in which they are made. Omitted fields stay unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct NamespaceChange {
    /// Hide it from hosts until it is switched on or the process exits.
    pub off: bool,
    /// Its new UUID, which also changes its NGUID.
    pub uuid: Option<[u8; 16]>,
    /// Its ANA group, until the process exits.
    pub ana_group: Option<u32>,
    /// Show it to the hosts that it is attached to.
    pub on: bool,
}

/// Why a namespace cannot be changed. Nothing has changed then, unless the drive failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongChange {
    /// Unknown ANA group.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The namespace is visible to hosts.
    #[error("hosts see namespace {0} and rely on its UUID and its ANA group: switch it off first")]
    On(u32),
    /// The change cannot be saved.
    #[error("the drive fails with {0:?}")]
    Drive(Status),
}

impl Subsystem {
    /// Changes a namespace and notifies the hosts that it is attached to.
    ///
    /// # Errors
    /// The change is not possible.
    pub fn change_namespace(
        &self,
        namespace: &Namespace,
        change: NamespaceChange,
    ) -> Result<(), WrongChange> {
        let NamespaceChange { off, uuid, ana_group, on } = change;
        check_group(ana_group)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if !off && namespace.is_on() && (uuid.is_some() || ana_group.is_some()) {
            return Err(WrongChange::On(namespace.nsid));
        }
        if off {
            self.switch(namespace, false);
        }
        if let Some(uuid) = uuid {
            let identified = self.drive.identify_namespace(namespace, uuid);
            identified.map_err(WrongChange::Drive)?;
        }
        if let Some(group) = ana_group {
            self.move_namespace(namespace, group);
        }
        if on {
            self.switch(namespace, true);
        }
        Ok(())
    }

    fn switch(&self, namespace: &Namespace, on: bool) {
        let seen = self.seeing(namespace);
        if namespace.switch(on) {
            let now = self.seeing(namespace);
            self.namespace_changed(namespace.nsid, |c| {
                seen.contains(&c.cntlid) || now.contains(&c.cntlid)
            });
        }
    }

    fn seeing(&self, namespace: &Namespace) -> Vec<u16> {
        let controllers = self.controllers();
        let seeing = controllers.iter().filter(|c| namespace.is_attached(&c.hostnqn));
        seeing.map(|c| c.cntlid).collect()
    }
}
