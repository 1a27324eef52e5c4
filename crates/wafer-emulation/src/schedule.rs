//! Which commands complete by a given time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::hash_map::Entry;
use std::sync::Weak;

use rustc_hash::FxHashMap;
use wafer_interface::{Command, MediaWork, Op};
use wafer_media::{Done, Media, MediaCounts, Parts, Request, Time};

/// Holds the completions of commands.
pub trait Wake: Send + Sync {
    /// Completes the command with this ticket. `due` is when it completed in the model, which may be earlier than its last
    /// request was submitted. The caller holds no lock.
    fn wake(&self, ticket: u64, due: Time);
}

/// A command whose completion is held.
struct Held {
    /// Number of requests that are not done yet.
    left: u32,
    /// The command that it counts as: one that reads and writes counts as a write.
    command: Command,
    /// All its requests as one, which is submitted with the first and takes as long as the slowest so far.
    done: Done,
    /// The latest end so far.
    end: Time,
    /// The holder of the completion; `None` until the whole command has been executed.
    wake: Option<Weak<dyn Wake>>,
}

impl Held {
    fn new(command: Command, request: Request) -> Self {
        let request = Request { bytes: command.bytes(), ..request };
        let done = Done { request, time: 0, parts: Parts::default() };
        Held { left: 1, command, done, end: 0, wake: None }
    }

    /// Adds another request.
    fn add(&mut self, command: &Command) {
        self.left += 1;
        if command.op == Op::Write && self.command.op != Op::Write {
            (self.command, self.done.request.bytes) = (*command, command.bytes());
        } else if command.op == self.command.op {
            self.command.blocks = self.command.blocks.saturating_add(command.blocks);
            self.done.request.bytes += command.bytes();
        }
    }

    /// Records the end of a request. Returns whether it was the last and the completion has a holder.
    fn end(&mut self, done: &Done) -> bool {
        self.left -= 1;
        self.end = self.end.max(done.time);
        let latency = done.time - done.request.submitted;
        if latency >= self.done.parts.total() {
            self.done.time = self.done.request.submitted + latency;
            self.done.parts = done.parts;
        }
        self.left == 0 && self.wake.is_some()
    }
}

/// A command that is due.
pub(crate) struct Completed {
    pub(crate) ticket: u64,
    pub(crate) command: Command,
    pub(crate) done: Done,
    pub(crate) wake: Weak<dyn Wake>,
}

/// The media with the commands in flight.
pub(crate) struct Schedule {
    media: Media,
    /// The time up to which the media have run.
    now: Time,
    held: FxHashMap<u64, Held>,
    /// Completions whose time is known.
    due: BinaryHeap<Reverse<(Time, u64)>>,
    done: Vec<Done>,
}

impl Schedule {
    pub(crate) fn new(mut media: Media) -> Self {
        media.reset_counts(0);
        Schedule {
            media,
            now: 0,
            held: FxHashMap::default(),
            due: BinaryHeap::new(),
            done: Vec::new(),
        }
    }

    /// Adds the request of a command at its submission time, or now if the media have already run past it. Nothing waits
    /// for requests with ticket 0.
    pub(crate) fn submit(&mut self, command: &Command, request: Request, work: &[MediaWork]) {
        self.run(request.submitted);
        let request = Request { submitted: self.now, ..request };
        if request.ticket > 0 {
            match self.held.entry(request.ticket) {
                Entry::Vacant(place) => drop(place.insert(Held::new(*command, request))),
                Entry::Occupied(mut held) => held.get_mut().add(command),
            }
        }
        self.media.submit(request, work);
    }

    /// Holds the completion of a command that has been executed. Returns false if the command has no requests.
    pub(crate) fn hold(&mut self, ticket: u64, wake: Weak<dyn Wake>) -> bool {
        let Some(held) = self.held.get_mut(&ticket) else { return false };
        held.wake = Some(wake);
        if held.left == 0 {
            self.due.push(Reverse((held.end, ticket)));
        }
        true
    }

    /// Runs the media until `now`, and appends the commands that complete by then.
    pub(crate) fn advance(&mut self, now: Time, completed: &mut Vec<Completed>) {
        self.run(now);
        while let Some(Reverse((time, ticket))) = self.due.peek()
            && *time <= now
        {
            if let Some(Held { command, done, wake: Some(wake), .. }) = self.held.remove(ticket) {
                completed.push(Completed { ticket: *ticket, command, done, wake });
            }
            self.due.pop();
        }
    }

    /// Returns the counts of the media up to `now`, and the number of dies.
    pub(crate) fn counts(&self, now: Time) -> (MediaCounts, usize) {
        (self.media.counts_until(now), self.media.die_count())
    }

    /// Returns when the next event or completion occurs, without another request.
    pub(crate) fn next(&mut self) -> Option<Time> {
        let due = self.due.peek().map(|Reverse((time, _))| *time);
        self.media.next_event().into_iter().chain(due).min()
    }

    fn run(&mut self, until: Time) {
        self.now = self.now.max(until);
        self.media.advance(self.now, &mut self.done);
        for done in self.done.drain(..) {
            let ticket = done.request.ticket;
            if let Some(held) = self.held.get_mut(&ticket)
                && held.end(&done)
            {
                self.due.push(Reverse((held.end, ticket)));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
