//! Commands of a drive whose media run in real time. A command is executed when it arrives and completes when its media
//! work is done.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;
use wafer_controller::{Failure, Reply};
use wafer_emulation::{Emulation, Time, Wake};
use wafer_io::Progress;
use wafer_nvme::{NvmOpcode, Sqe};

use super::{Queue, Unfinished, changes_data};

/// Commands that take time. Of these, only Read returns data.
const TIMED: [NvmOpcode; 9] = [
    NvmOpcode::FLUSH,
    NvmOpcode::WRITE,
    NvmOpcode::READ,
    NvmOpcode::WRITE_UNCORRECTABLE,
    NvmOpcode::COMPARE,
    NvmOpcode::WRITE_ZEROES,
    NvmOpcode::DATASET_MANAGEMENT,
    NvmOpcode::VERIFY,
    NvmOpcode::COPY,
];

/// Tickets of commands that are due, and when they were.
pub(crate) struct Mailbox {
    /// Number of the submission queue in the emulation.
    queue: u16,
    tickets: Mutex<VecDeque<(u64, Time)>>,
    arrived: Notify,
}

impl Mailbox {
    pub(super) fn new(emulation: &Emulation) -> Arc<Self> {
        let (tickets, arrived) = Default::default();
        Arc::new(Mailbox { queue: emulation.queue(), tickets, arrived })
    }

    /// Waits for a ticket.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    fn take(&self) -> Option<(u64, Time)> {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Wake for Mailbox {
    fn wake(&self, ticket: u64, due: Time) {
        self.tickets.lock().unwrap_or_else(PoisonError::into_inner).push_back((ticket, due));
        self.arrived.notify_one();
    }
}

/// The outcome of a command.
pub(super) type Outcome = (Sqe, Result<(), Failure>);

/// Commands that complete together: one, or a fused pair.
pub(super) struct Held {
    ticket: u64,
    /// Number of controller resets at execution; the next reset discards them without completions.
    resets: u64,
    outcomes: Vec<Outcome>,
}

impl Held {
    pub(super) fn uses(&self, cid: u16) -> bool {
        self.outcomes.iter().any(|(sqe, _)| sqe.cid.get() == cid)
    }
}

impl Queue {
    /// Returns the mailbox for held commands, if the media run in real time.
    pub(crate) fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        self.mailbox.as_ref()
    }

    /// Takes a ticket for the next command, if the media run in real time. Returns whether they do.
    pub(super) fn take_ticket(&mut self) -> bool {
        let drive = &self.controller.subsystem.drive;
        let Some((emulation, mailbox)) = drive.emulation().zip(self.mailbox.as_ref()) else {
            return false;
        };
        self.io.set_ticket(emulation.ticket(mailbox.queue));
        true
    }

    /// Returns whether a command takes time.
    pub(super) fn takes_time(&self, sqe: &Sqe) -> bool {
        self.mailbox.is_some() && TIMED.contains(&NvmOpcode(sqe.opcode))
    }

    /// Executes a command that takes time.
    pub(super) fn execute_timed(&mut self, sqe: &Sqe, data: &[u8], out: &mut Vec<u8>) {
        self.take_ticket();
        // The data of a read is read again when it completes, so that it takes no memory until then.
        let mut unsent = Vec::new();
        let progress = self.io.begin(sqe, data, &mut unsent);
        self.timed_done(*sqe, progress, out);
    }

    /// Holds the completion of a command, or continues it in the next turn.
    pub(super) fn timed_done(
        &mut self,
        sqe: Sqe,
        progress: Result<Progress, Failure>,
        out: &mut Vec<u8>,
    ) {
        match progress {
            Ok(Progress::More) => self.unfinished = Some(Unfinished::Io(sqe)),
            progress => self.hold(vec![(sqe, progress.map(|_| ()))], out),
        }
    }

    /// Holds completions until the media work of their commands is done.
    pub(super) fn hold(&mut self, mut outcomes: Vec<Outcome>, out: &mut Vec<u8>) {
        if let Err(status) = self.io.end_batch() {
            for (sqe, outcome) in &mut outcomes {
                if outcome.is_ok() && changes_data(sqe) {
                    *outcome = Err(status.into());
                }
            }
        }
        let ticket = self.io.ticket();
        self.io.set_ticket(0);
        let emulation = self.controller.subsystem.drive.emulation();
        let held = self.mailbox.as_ref().zip(emulation).is_some_and(|(mailbox, emulation)| {
            let mailbox: Weak<dyn Wake> = Arc::<Mailbox>::downgrade(mailbox);
            emulation.hold(ticket, mailbox)
        });
        if held {
            return self.held.push(Held { ticket, resets: self.resets(), outcomes });
        }
        outcomes.into_iter().for_each(|outcome| self.complete_timed(outcome, out));
    }

    /// Completes held commands that are due, until the turn is over.
    pub(super) fn release(&mut self, out: &mut Vec<u8>) {
        let Some(mailbox) = self.mailbox.clone() else { return };
        let resets = self.resets();
        self.held.retain(|held| held.resets == resets);
        while !self.is_turn_over()
            && let Some((ticket, due)) = mailbox.take()
        {
            if let Some(at) = self.held.iter().position(|held| held.ticket == ticket) {
                let held = self.held.swap_remove(at);
                held.outcomes.into_iter().for_each(|outcome| self.complete_timed(outcome, out));
                if let Some(emulation) = self.controller.subsystem.drive.emulation() {
                    emulation.completed(due);
                }
            }
        }
    }

    fn complete_timed(&mut self, (sqe, outcome): Outcome, out: &mut Vec<u8>) {
        match outcome {
            Ok(()) if NvmOpcode(sqe.opcode) == NvmOpcode::READ => {
                self.send(&sqe, out, |io, out| io.read_again(&sqe, out));
            }
            outcome => self.complete(&sqe, outcome.map(|()| Reply::default()), out),
        }
    }

    /// Abandons the unfinished command of a connection that ends.
    pub(super) fn abandon(&mut self) {
        if let Some(emulation) = self.controller.subsystem.drive.emulation() {
            let _ = self.io.end_batch();
            emulation.hold(self.io.ticket(), Weak::<Mailbox>::new());
        }
    }
}
