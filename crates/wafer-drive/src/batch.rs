//! Commands whose data has moved, and that the device has yet to count.

use std::sync::Arc;

use wafer_interface::Command;

use super::{Namespace, Ticket, Transferred};

/// Commands of one host, each with the namespace that it was executed on.
///
/// If a namespace is deleted or formatted before the batch is applied, its commands are dropped: the device never
/// counts them for the next namespace with the same NSID.
#[derive(Default)]
pub struct Batch {
    commands: Vec<Command>,
    /// Runs of commands on one namespace: the namespace and the end of its run.
    runs: Vec<(Arc<Namespace>, usize)>,
    /// Data transfer commands, which SMART counts.
    pub transferred: Transferred,
    /// The host command that they belong to.
    pub ticket: Ticket,
}

impl Batch {
    /// Adds a command.
    pub fn push(&mut self, namespace: &Arc<Namespace>, command: Command) {
        self.commands.push(command);
        let end = self.commands.len();
        match self.runs.last_mut() {
            Some((last, at)) if Arc::ptr_eq(last, namespace) => *at = end,
            _ => self.runs.push((Arc::clone(namespace), end)),
        }
    }

    /// Returns whether there is nothing to count.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.transferred == Transferred::default()
    }

    /// Removes everything, including the references to namespaces.
    pub(crate) fn clear(&mut self) {
        self.commands.clear();
        self.runs.clear();
        self.transferred = Transferred::default();
    }

    /// Returns the commands whose namespaces are live, in order, in as few pieces as possible. The result stays valid
    /// while the drive is locked.
    pub(crate) fn live(&self) -> Vec<&[Command]> {
        if self.runs.iter().all(|(namespace, _)| namespace.retired().is_none()) {
            return vec![&self.commands];
        }
        let mut start = 0;
        let mut pieces = Vec::new();
        for (namespace, end) in &self.runs {
            if namespace.retired().is_none() {
                pieces.push(&self.commands[start..*end]);
            }
            start = *end;
        }
        pieces
    }
}
