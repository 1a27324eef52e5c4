//! Which commands complete by a given time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Weak;

use rustc_hash::FxHashMap;
use wafer_interface::MediaWork;
use wafer_media::{Done, Media, Request, Time};

/// Holds the completions of commands.
pub trait Wake: Send + Sync {
    /// Completes the command with this ticket. The caller holds no lock.
    fn wake(&self, ticket: u64);
}

/// A command whose completion is held.
#[derive(Default)]
struct Held {
    /// Number of requests that are not done.
    left: u32,
    /// The latest end of the requests that are done.
    end: Time,
    /// The holder of the completion; `None` until the whole command has been executed.
    wake: Option<Weak<dyn Wake>>,
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

    /// Adds a request at its submission time, or now if the media have already run past it. Nothing waits for requests
    /// with ticket 0.
    pub(crate) fn submit(&mut self, request: Request, work: &[MediaWork]) {
        self.run(request.submitted);
        if request.ticket > 0 {
            self.held.entry(request.ticket).or_default().left += 1;
        }
        self.media.submit(Request { submitted: self.now, ..request }, work);
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

    /// Lets the media work until `now`, and appends the commands that complete by then.
    pub(crate) fn advance(&mut self, now: Time, completed: &mut Vec<(u64, Weak<dyn Wake>)>) {
        self.run(now);
        while let Some(Reverse((time, ticket))) = self.due.peek()
            && *time <= now
        {
            let wake = self.held.remove(ticket).and_then(|held| held.wake);
            completed.extend(wake.map(|wake| (*ticket, wake)));
            self.due.pop();
        }
    }

    /// Returns when the next thing happens without another request.
    pub(crate) fn next(&mut self) -> Option<Time> {
        let due = self.due.peek().map(|Reverse((time, _))| *time);
        self.media.next_event().into_iter().chain(due).min()
    }

    fn run(&mut self, until: Time) {
        self.now = self.now.max(until);
        self.media.advance(self.now, &mut self.done);
        for Done { request, time, .. } in self.done.drain(..) {
            let Some(held) = self.held.get_mut(&request.ticket) else { continue };
            held.left -= 1;
            held.end = held.end.max(time);
            if held.left == 0 && held.wake.is_some() {
                self.due.push(Reverse((held.end, request.ticket)));
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
