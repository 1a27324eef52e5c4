//! Commands that moved their data already, and that the device has yet to count.

use std::sync::Arc;

use wafer_interface::Command;

use super::{Namespace, Transferred};

/// Commands of a host, each with the namespace that it was executed on.
///
/// A namespace that is deleted or formatted in the meantime takes its commands with it: the device never counts
/// them for the namespace that has the same NSID next.
#[derive(Default)]
pub struct Batch {
    commands: Vec<Command>,
    /// Runs of commands on one namespace: the namespace, and where its run ends.
    runs: Vec<(Arc<Namespace>, usize)>,
    /// Commands that moved data, which SMART counts.
    pub transferred: Transferred,
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

    /// Removes everything, and with it the references to namespaces.
    pub(crate) fn clear(&mut self) {
        self.commands.clear();
        self.runs.clear();
        self.transferred = Transferred::default();
    }

    /// Returns the commands whose namespaces still live, in order, in as few pieces as possible. Stays true for
    /// as long as the drive is locked.
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
