//! Namespace identifiers of commands.

use std::sync::Arc;

use wafer_drive::{Namespace, Retired};
use wafer_nvme::{NamespaceUse, Sqe, Status, location};

use super::{Controller, Failure};

/// Highest NSID.
pub(crate) const LAST_NSID: u32 = 255;
/// The NSID that stands for all namespaces.
pub const BROADCAST: u32 = 0xffff_ffff;

/// A valid NSID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nsid {
    One(u32),
    All,
}

impl Nsid {
    /// Returns the namespace, or `None` for all.
    pub(crate) fn one(self) -> Option<u32> {
        match self {
            Nsid::One(nsid) => Some(nsid),
            Nsid::All => None,
        }
    }

    /// Checks the NSID of a command that takes one namespace or all.
    pub(crate) fn one_or_all(sqe: &Sqe) -> Result<Self, Failure> {
        match sqe.nsid.get() {
            BROADCAST => Ok(Nsid::All),
            nsid => check(nsid).map(Nsid::One),
        }
    }
}

/// Checks an NSID against the namespace use of a command.
pub fn check_use(usage: NamespaceUse, nsid: u32) -> Result<(), Failure> {
    match usage {
        NamespaceUse::None | NamespaceUse::Depends => Ok(()),
        NamespaceUse::OneOrAll if nsid == BROADCAST => Ok(()),
        NamespaceUse::OneOrAll | NamespaceUse::One => check(nsid).map(|_| ()),
    }
}

/// Checks that a namespace can have this NSID. The broadcast NSID is an invalid field where one namespace is required
/// (Base 2.1, Common Command Format).
pub(crate) fn check(nsid: u32) -> Result<u32, Failure> {
    match nsid {
        1..=LAST_NSID => Ok(nsid),
        BROADCAST => Err(location!(nsid).into()),
        _ => Err(Status::INVALID_NAMESPACE.into()),
    }
}

impl Controller {
    /// Returns a namespace if this controller's host sees it.
    ///
    /// # Errors
    /// No namespace can have this NSID.
    pub fn active(&self, nsid: u32) -> Result<Option<Arc<Namespace>>, Failure> {
        Ok(self.allocated(nsid)?.filter(|n| n.is_attached(&self.hostnqn)))
    }

    /// Returns a namespace, whether or not the host sees it.
    ///
    /// # Errors
    /// No namespace can have this NSID.
    pub(crate) fn allocated(&self, nsid: u32) -> Result<Option<Arc<Namespace>>, Failure> {
        let namespace = self.subsystem.drive.namespace(check(nsid)?);
        Ok(namespace.filter(|n| n.retired() != Some(Retired::Deleted)))
    }

    /// Checks that the host sees the namespace.
    pub(crate) fn check_active(&self, nsid: Nsid) -> Result<(), Failure> {
        if let Nsid::One(nsid) = nsid {
            self.active(nsid)?.ok_or(Status::INVALID_FIELD)?;
        }
        Ok(())
    }

    /// Returns namespaces, by NSID: those the host sees, or all.
    pub(crate) fn visible(&self, active: bool) -> Vec<Arc<Namespace>> {
        let all = self.subsystem.drive.namespaces().into_iter().flatten();
        all.filter(|n| n.retired() != Some(Retired::Deleted))
            .filter(|n| !active || n.is_attached(&self.hostnqn))
            .collect()
    }

    /// Returns NSIDs, ascending: those the host sees, or all.
    pub(crate) fn nsids(&self, active: bool) -> Vec<u32> {
        self.visible(active).iter().map(|n| n.nsid).collect()
    }
}
