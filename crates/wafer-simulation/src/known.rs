//! Faults found by the simulation: how to reproduce them, and whether they are fixed.

use crate::plan::Action;

/// A fault found by the simulation.
#[derive(Debug)]
pub struct Known {
    /// Description.
    pub fault: &'static str,
    /// The actions that provoke it.
    pub actions: &'static [Action],
    /// Parts of the resulting violations.
    pub shows: &'static [&'static str],
    /// Whether it is fixed. A violation by an open fault is reported but does not count as a failure.
    pub fixed: bool,
}

/// All faults found by the simulation.
pub const KNOWN: &[Known] = &[
    Known {
        fault: "a failed sync or checkpoint is followed by success of Flush, Namespace Management or Namespace Attachment",
        actions: &[Action::Faults, Action::Namespaces],
        shows: &["it may hold", "is there with", "the drive counts", "the last read of"],
        fixed: true,
    },
    Known {
        fault: "a command for a namespace that was deleted reaches the one in its place",
        actions: &[Action::Replace],
        shows: &["of another namespace"],
        fixed: true,
    },
    Known {
        fault: "the long copies of one host stop the others",
        actions: &[Action::Greedy],
        shows: &["before others had their turn"],
        fixed: true,
    },
    Known {
        fault: "a controller reset leaks the slots of asynchronous event requests",
        actions: &[Action::Resets],
        shows: &["operator: the controller ended the connection: SEQUENCE"],
        fixed: true,
    },
    Known {
        fault: "a server starts with files that do not belong together",
        actions: &[Action::Files],
        shows: &["a server starts with"],
        fixed: true,
    },
    Known {
        fault: "counters go back after a kill",
        actions: &[Action::Kills],
        shows: &["went back from"],
        fixed: true,
    },
    Known {
        fault: "a write that the journal could not record completes with success",
        actions: &[Action::Faults, Action::Restarts, Action::Power],
        shows: &["it may hold", "the drive counts"],
        fixed: true,
    },
];

/// Returns the open fault that a violation indicates, if any.
pub fn open(violation: &str) -> Option<&'static Known> {
    let shows = |known: &&Known| known.shows.iter().any(|part| violation.contains(part));
    KNOWN.iter().filter(|known| !known.fixed).find(shows)
}
