//! Several applications on one drive: their streams merged, each on its namespace.
//!
//! Who comes next is decided in one of three ways, the same for all tenants:
//! - [`Pacing::Shares`]: each tenant gets its share of the written bytes, smoothly.
//! - [`Pacing::ClosedLoop`]: a saturated drive that serves first come, first served. Each tenant keeps
//!   its queue depth of commands waiting; one that is served goes to the end with the next. So a
//!   tenant's share of the *commands* is its share of the commands in flight.
//! - [`Pacing::Time`]: by the times of traces.
//!
//! A tenant need not know of placement: commands without a directive get the handle of its range of
//! addresses, or the tenant's. So a drive tags namespaces and ranges itself.

mod placing;
mod turns;

use wafer_core::{Command, NsId};

use crate::carry::Carry;
use crate::stream::{CommandStream, Figure};
pub use placing::{PlacedRange, TenantPlacement};
use turns::Turns;

/// Commands taken from a tenant at a time.
const BATCH: usize = 256;

/// One application.
pub struct Tenant {
    /// Name in figures and messages.
    pub name: String,
    /// What it writes; its commands address its part of the namespace from block 0.
    pub stream: Box<dyn CommandStream>,
    /// The namespace.
    pub namespace: NsId,
    /// First logical block of its part of the namespace.
    pub first_block: u64,
    /// Placement of commands that have none.
    pub placement: TenantPlacement,
}

/// Whose turn it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Pacing {
    /// Shares of the written bytes, in the order of the tenants; they need not add up to 1.
    Shares(Vec<f64>),
    /// By commands in flight, in the order of the tenants.
    ClosedLoop(Vec<u32>),
    /// By the times of the commands; every stream must know them.
    Time,
}

/// All tenants as one stream.
pub struct Tenants {
    tenants: Vec<Queue>,
    turns: Turns,
    timed: bool,
    /// The tenant that loads next.
    loading: usize,
    carry: Carry,
}

/// A tenant with the commands that wait.
struct Queue {
    tenant: Tenant,
    waiting: Vec<Command>,
    times: Vec<u64>,
    at: usize,
    written: u64,
    loaded: bool,
}

impl Tenants {
    /// Merges tenants; `pacing` has an entry for each.
    pub fn new(tenants: Vec<Tenant>, pacing: Pacing) -> Self {
        let turns = Turns::new(&pacing, tenants.len());
        let queue = |tenant| Queue {
            tenant,
            waiting: Vec::with_capacity(BATCH),
            times: Vec::new(),
            at: 0,
            written: 0,
            loaded: false,
        };
        let tenants = tenants.into_iter().map(queue).collect();
        Tenants {
            tenants,
            turns,
            timed: pacing == Pacing::Time,
            loading: 0,
            carry: Carry::default(),
        }
    }

    /// Takes the next command of a tenant; false at the end of its stream.
    fn take(&mut self, i: usize, out: &mut Vec<Command>) -> bool {
        let queue = &mut self.tenants[i];
        if !queue.ready(self.timed) {
            return false;
        }
        let command = queue.waiting[queue.at];
        queue.at += 1;
        let before = out.len();
        queue.tenant.send(command, out);
        let written = out[before..].iter().map(written).sum();
        queue.written += written;
        self.turns.took(i, written);
        true
    }

    /// The next tenant by the times of their commands.
    fn earliest(&mut self) -> Option<usize> {
        let mut best = None;
        for (i, queue) in self.tenants.iter_mut().enumerate() {
            if !queue.ready(true) {
                continue;
            }
            let time = queue.times[queue.at];
            if best.is_none_or(|(first, _)| time < first) {
                best = Some((time, i));
            }
        }
        best.map(|(_, i)| i)
    }
}

fn written(command: &Command) -> u64 {
    if command.op == wafer_core::Op::Write { command.bytes() } else { 0 }
}

impl Queue {
    /// Whether a command waits, after a refill if need be.
    fn ready(&mut self, timed: bool) -> bool {
        if self.at < self.waiting.len() {
            return true;
        }
        self.at = 0;
        self.waiting.clear();
        self.times.clear();
        if timed {
            self.tenant.stream.fill_timed(&mut self.waiting, &mut self.times, BATCH)
                && !self.waiting.is_empty()
        } else {
            self.tenant.stream.fill(&mut self.waiting, BATCH);
            !self.waiting.is_empty()
        }
    }
}

impl Tenant {
    /// A command as the device gets it.
    fn send(&self, command: Command, out: &mut Vec<Command>) {
        let lba = command.lba + self.first_block;
        let command = Command { lba, namespace: self.namespace, ..command };
        self.placement.place(command, out);
    }
}

impl CommandStream for Tenants {
    fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        let end = out.len() + max;
        self.carry.take(out, end);
        while out.len() < end {
            let next = if self.timed { self.earliest() } else { self.turns.next() };
            let Some(i) = next else { return };
            if !self.take(i, out) {
                self.turns.ended(i);
            }
        }
        self.carry.keep(out, end);
    }

    /// The tenants load at the same time, a command of each in turn.
    fn fill_load(&mut self, out: &mut Vec<Command>, max: usize) {
        let end = out.len() + max;
        self.carry.take(out, end);
        let mut next = Vec::with_capacity(1);
        while out.len() < end {
            let loading = (0..self.tenants.len()).map(|n| (self.loading + n) % self.tenants.len());
            let Some(i) = loading.into_iter().find(|i| !self.tenants[*i].loaded) else { return };
            self.loading = i + 1;
            let queue = &mut self.tenants[i];
            next.clear();
            queue.tenant.stream.fill_load(&mut next, 1);
            queue.loaded = next.is_empty();
            for command in &next {
                queue.tenant.send(*command, out);
            }
        }
        self.carry.keep(out, end);
    }

    fn queue_depth(&self) -> u32 {
        self.tenants.iter().map(|q| q.tenant.stream.queue_depth()).sum()
    }

    fn figures(&self) -> Vec<Figure> {
        let mut all = Vec::new();
        for queue in &self.tenants {
            let name = &queue.tenant.name;
            let own = Figure::new(
                "written",
                queue.written as f64,
                "B",
                "bytes that the tenant wrote, its load included unless it was a precondition",
            );
            let mut figures = vec![own];
            figures.extend(queue.tenant.stream.figures());
            all.extend(figures.into_iter().map(|f| Figure { tenant: name.clone(), ..f }));
        }
        all
    }
}

#[cfg(test)]
mod tests;
