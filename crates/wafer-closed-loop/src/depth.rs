//! The queue depth of a job: `iodepth`, or as much of it as `latency_target` allows.
//!
//! The search is fio's: the depth doubles after each window in which enough commands met the target, until a window
//! fails; then the search bisects. Once the depth is stable, the job runs for one more window and ends, unless
//! `latency_run` continues the search.

use std::collections::HashMap;

use wafer_fio::job::{JobSpec, LatencyTarget};

/// Windows that must succeed just below a depth that failed before a greater depth is tried again.
const STABLE: u32 = 3;

/// How many commands a job may have in flight.
#[derive(Clone, Debug)]
pub(crate) struct Depth {
    most: u32,
    search: Option<Box<Search>>,
}

/// The search for the depth that meets a target.
#[derive(Clone, Debug)]
struct Search {
    target: LatencyTarget,
    depth: u32,
    /// The last depth that met the target.
    low: u32,
    /// The lowest depth that missed the target; `iodepth` at first.
    high: u32,
    stable: u32,
    /// When the window begins, never before `start`.
    since: u64,
    completed: u64,
    failed: u64,
    /// Submit nothing until all commands have completed.
    drains: bool,
    /// The depth is found; the commands that follow are the results.
    is_found: bool,
    /// Even a single command takes too long.
    missed: bool,
    /// Submission times of the commands in flight, by ticket.
    submitted: HashMap<u64, u64>,
}

impl Depth {
    /// Returns the depth of a job whose results count from `start` on.
    pub(crate) fn new(spec: &JobSpec, start: u64) -> Self {
        let most = spec.iodepth.max(1);
        let search = spec.latency_target.map(|target| {
            Box::new(Search {
                target,
                depth: 1,
                low: 1,
                high: most,
                stable: 0,
                since: start,
                completed: 0,
                failed: 0,
                drains: false,
                is_found: false,
                missed: false,
                submitted: HashMap::new(),
            })
        });
        Depth { most, search }
    }

    /// Returns the maximum depth.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// Returns how many commands may be in flight now.
    pub(crate) fn now(&self) -> u32 {
        self.search.as_ref().map_or(self.most, |search| search.depth)
    }

    /// Returns the depth that the search has reached: 0 if not even a single command meets the target.
    pub(crate) fn found(&self) -> Option<u32> {
        self.search.as_ref().map(|search| if search.missed { 0 } else { search.depth })
    }

    /// Returns whether a search that ends by itself is still running.
    pub(crate) fn is_searching(&self) -> bool {
        let ends = |s: &Search| s.is_found || s.missed || s.target.keeps_looking;
        self.search.as_ref().is_some_and(|search| !ends(search))
    }

    /// Returns whether a search has ended, so that commands submitted now are the results.
    pub(crate) fn has_found(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_found)
    }

    /// Returns whether a command may be submitted in addition to those in flight.
    pub(crate) fn has_room(&self, in_flight: u32) -> bool {
        self.search.as_ref().is_none_or(|search| !search.drains && in_flight < search.depth)
    }

    /// Records a submission.
    pub(crate) fn submitted(&mut self, ticket: u64, time: u64) {
        if let Some(search) = &mut self.search {
            search.submitted.insert(ticket, time);
        }
    }

    /// Records a completion, after which `in_flight` commands remain. Returns whether the job ends.
    pub(crate) fn completed(&mut self, ticket: u64, time: u64, in_flight: u32) -> bool {
        let most = self.most;
        self.search.as_mut().is_some_and(|search| search.completed(ticket, time, in_flight, most))
    }
}

impl Search {
    fn completed(&mut self, ticket: u64, time: u64, in_flight: u32, most: u32) -> bool {
        let submitted = self.submitted.remove(&ticket).unwrap_or(time);
        if self.drains {
            if in_flight == 0 {
                self.drains = false;
                self.begin(time);
            }
            return false;
        }
        self.completed += 1;
        if time - submitted > self.target.nanoseconds {
            self.failed += 1;
            if self.target.percentile >= 100.0 {
                self.missed = self.depth == 1;
                self.fail(time, in_flight);
                return self.missed;
            }
        }
        if time < self.since.saturating_add(self.target.window) {
            return false;
        }
        let met = (self.completed - self.failed) as f64 / self.completed as f64;
        if 100.0 * met >= self.target.percentile {
            return self.succeed(time, in_flight, most);
        }
        self.fail(time, in_flight);
        false
    }

    fn begin(&mut self, time: u64) {
        (self.since, self.completed, self.failed) = (self.since.max(time), 0, 0);
    }

    /// Begins a window once the commands in flight have completed.
    fn drain(&mut self, time: u64, in_flight: u32) {
        self.drains = in_flight > 0;
        self.begin(time);
    }

    fn fail(&mut self, time: u64, in_flight: u32) {
        if self.depth == 1 {
            return self.begin(time);
        }
        self.high = self.depth;
        if self.depth == self.low {
            self.low -= 1;
        }
        self.depth = ((self.depth + self.low) / 2).max(1);
        self.stable = 0;
        self.is_found = false;
        self.drain(time, in_flight);
    }

    /// Returns whether the job ends.
    fn succeed(&mut self, time: u64, in_flight: u32, most: u32) -> bool {
        let before = self.depth;
        self.low = self.depth;
        if self.depth + 1 == self.high {
            self.stable += 1;
            if self.stable >= STABLE {
                self.high += 1;
                self.stable = 0;
            }
        }
        let next = if self.high == most { 2 * self.depth } else { (self.depth + self.high) / 2 };
        self.depth = next.min(most);
        if self.depth != before || self.target.keeps_looking {
            self.begin(time);
            return false;
        }
        if self.is_found {
            return true;
        }
        self.is_found = true;
        self.drain(time, in_flight);
        false
    }
}
