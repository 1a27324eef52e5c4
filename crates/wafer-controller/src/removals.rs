//! Deletion and formatting of namespaces, in slices, so that other queues get their turn.

use std::collections::VecDeque;

use wafer_drive::Removal;
use wafer_nvme::{ChangeNamespaceEvent, Status};

use super::{Controller, Failure};

/// Select of Namespace Management.
const DELETE: u32 = 1;

/// What is done to the namespaces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// `nsid` is that of the command.
    Delete { nsid: u32 },
    /// As with [`Self::Delete`].
    Format { nsid: u32, lba_bytes: u32 },
}

/// Namespaces to delete or format, one after another.
pub struct Removals {
    purpose: Purpose,
    nsids: VecDeque<u32>,
    current: Option<Current>,
    /// The entry for the persistent event log once all are deleted.
    event: Option<ChangeNamespaceEvent>,
}

struct Current {
    nsid: u32,
    removal: Removal,
    /// Controllers whose hosts saw the namespace.
    concerned: Vec<u16>,
}

impl Removals {
    /// Starts with the first of the namespaces.
    ///
    /// # Errors
    /// It does not exist, or is being removed already.
    pub(super) fn begin(
        controller: &Controller,
        purpose: Purpose,
        nsids: Vec<u32>,
    ) -> Result<Self, Failure> {
        let event = match purpose {
            Purpose::Delete { nsid } => Some(controller.namespace_event(DELETE, nsid)),
            Purpose::Format { .. } => None,
        };
        let mut removals = Removals { purpose, nsids: nsids.into(), current: None, event };
        removals.next(controller)?;
        Ok(removals)
    }

    /// Does the next slice and returns whether it was the last.
    ///
    /// # Errors
    /// The status that the command completes with; the remaining namespaces stay unchanged.
    pub fn step(&mut self, controller: &Controller) -> Result<bool, Failure> {
        let done = self.slice(controller);
        if let Purpose::Format { nsid, .. } = self.purpose
            && !matches!(done, Ok(false))
        {
            let status = done.as_ref().err().map_or(Status::SUCCESS, |failure| failure.status);
            controller.log_format_completion(nsid, status);
        }
        if matches!(done, Ok(true))
            && let Some(event) = self.event.take()
        {
            controller.log_changed_namespace(event);
        }
        done
    }

    fn slice(&mut self, controller: &Controller) -> Result<bool, Failure> {
        let Some(Current { nsid, removal, concerned }) = self.current.take() else {
            return Ok(true);
        };
        match controller.subsystem.drive.remove_slice(removal)? {
            Some(removal) => {
                self.current = Some(Current { nsid, removal, concerned });
                Ok(false)
            }
            None => {
                controller.subsystem.namespace_changed(nsid, |c| concerned.contains(&c.cntlid));
                self.next(controller)?;
                Ok(self.current.is_none())
            }
        }
    }

    fn next(&mut self, controller: &Controller) -> Result<(), Failure> {
        let Some(nsid) = self.nsids.pop_front() else { return Ok(()) };
        let subsystem = &controller.subsystem;
        let namespace = controller.allocated(nsid)?.ok_or(Status::INVALID_NAMESPACE)?;
        let removal = match self.purpose {
            Purpose::Delete { .. } => subsystem.drive.begin_delete(nsid)?,
            Purpose::Format { lba_bytes, .. } => {
                subsystem.drive.begin_format(controller.host, nsid, lba_bytes)?
            }
        };
        // The host that deletes a namespace knows; the kernel of a host that formats one may not.
        let own = matches!(self.purpose, Purpose::Format { .. });
        let all = subsystem.controllers();
        let concerned = (all.iter())
            .filter(|c| (own || c.cntlid != controller.cntlid) && namespace.is_attached(&c.hostnqn))
            .map(|c| c.cntlid)
            .collect();
        self.current = Some(Current { nsid, removal, concerned });
        Ok(())
    }
}
