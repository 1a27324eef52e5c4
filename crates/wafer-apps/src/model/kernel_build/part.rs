//! Parts of namespaces, and the kinds of data written to them.

use wafer_interface::{Command, Op, Placement};

use crate::model::application::command;

/// Page size in bytes, the unit of caches and swap.
pub(super) const PAGE: u64 = 4096;

/// Kinds of data, for the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Objects,
    Temporaries,
    Journals,
    Metadata,
    Swap,
}

/// A part of a namespace, in pages of [`PAGE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) namespace: u8,
    pub(super) first: u64,
    pub(super) pages: u64,
    pub(super) placement: Placement,
}

impl Part {
    /// Splits off the first `pages` pages, or as many as there are.
    pub(super) fn split(&mut self, pages: u64) -> Part {
        let pages = pages.min(self.pages);
        let front = Part { pages, ..*self };
        self.first += pages;
        self.pages -= pages;
        front
    }

    /// Returns a command on pages of the part.
    pub(super) fn command(&self, op: Op, first: u64, pages: u64) -> Command {
        assert!(first + pages <= self.pages);
        command(op, self.namespace, (self.first + first) * PAGE, pages * PAGE, self.placement)
    }
}
