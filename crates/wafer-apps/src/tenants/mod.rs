//! Several applications on one drive: their streams merged, each on its namespace.
//!
//! [`Pacing`] decides whose command comes next:
//! - [`Pacing::Shares`]: each tenant gets its share of the written bytes, smoothly.
//! - [`Pacing::ClosedLoop`]: a saturated drive that serves first come, first served. Each tenant keeps
//!   its queue depth of commands waiting; the tenant of a served command queues its next one at the end.
//!   So a tenant's share of the *commands* is its share of the commands in flight.
//! - [`Pacing::Time`]: by the arrival times of traces.
//! - [`Pacing::Clock`]: each tenant as soon as the drive has completed enough of its commands.
//!
//! Flushes and reclaim unit updates take no turn: they accompany the tenant's next command.
//!
//! A tenant need not support placement: commands without a directive get the handle of their address
//! range, or the tenant's. This models a drive that tags namespaces and ranges itself.

mod placing;
mod splits;
mod turns;

pub use placing::{PlacedRange, TenantPlacement};
use splits::Splits;
pub use turns::Pacing;
use turns::Turns;
use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, NsId, StreamDescription, StreamState,
    Surplus, stream,
};

/// Number of commands requested from a tenant at once.
const BATCH: usize = 256;

/// One application.
pub struct Tenant {
    /// Name in figures and messages.
    pub name: String,
    /// Its commands, which address its part of the namespace from block 0.
    pub stream: Box<dyn CommandStream>,
    /// The namespace.
    pub namespace: NsId,
    /// First logical block of its part of the namespace.
    pub first_block: u64,
    /// Placement of commands without a placement directive.
    pub placement: TenantPlacement,
    /// Number of jobs named in its tickets, at least 1. In the tickets of all tenants, they are numbered after
    /// those of the preceding tenants.
    pub jobs: usize,
}

/// All tenants as one stream.
pub struct Tenants {
    tenants: Vec<Queue>,
    turns: Turns,
    timed: bool,
    /// Whether a tenant waits for completions.
    waits: bool,
    /// Whether commands have tickets.
    tickets: bool,
    splits: Splits,
    /// Number of commands to request from a tenant at once.
    most: usize,
    /// The tenant that loads next.
    loading: usize,
    surplus: Surplus,
}

/// A tenant with the commands it has yet to send.
struct Queue {
    tenant: Tenant,
    /// Number of its first job among those of all tenants.
    first_job: usize,
    waiting: Batch,
    at: usize,
    written: u64,
    loaded: bool,
}

impl Tenants {
    /// Merges tenants; `pacing` has an entry for each.
    pub fn new(tenants: Vec<Tenant>, pacing: Pacing) -> Self {
        let turns = Turns::new(&pacing, tenants.len());
        let mut jobs = 0;
        let mut queue = |tenant: Tenant| Queue {
            first_job: {
                jobs += tenant.jobs;
                jobs - tenant.jobs
            },
            tenant,
            waiting: Batch::with_capacity(BATCH),
            at: 0,
            written: 0,
            loaded: false,
        };
        let waits = tenants.iter().any(|t: &Tenant| t.stream.description().waits);
        let tenants = tenants.into_iter().map(&mut queue).collect();
        Tenants {
            tenants,
            turns,
            timed: matches!(pacing, Pacing::Time | Pacing::Clock),
            waits,
            tickets: waits,
            splits: Splits::default(),
            most: BATCH,
            loading: 0,
            surplus: Surplus::default(),
        }
    }

    /// Gives each command a ticket that names its tenant or job even if no tenant waits for completions. If every
    /// tenant has times, keeps them whatever the pacing.
    #[must_use]
    pub fn with_clock(self) -> Self {
        let timed = self.tenants.iter().all(|queue| queue.tenant.stream.description().timed);
        Tenants { tickets: true, timed, ..self }
    }

    /// Returns the tenant whose turn it is; its next command is then ready.
    fn turn(&mut self) -> Result<usize, StreamState> {
        match self.turns {
            Turns::Times => return self.earliest(),
            Turns::Clock => return self.first_ready(),
            Turns::Shares { .. } | Turns::Cycle { .. } => {}
        }
        loop {
            let i = self.turns.next().ok_or(StreamState::Ended)?;
            match self.tenants[i].state(self.most) {
                StreamState::Ready => return Ok(i),
                StreamState::Waiting => return Err(StreamState::Waiting),
                StreamState::Ended => self.turns.ended(i),
            }
        }
    }

    /// Returns the tenant whose next command arrives first.
    fn earliest(&mut self) -> Result<usize, StreamState> {
        let mut best: Option<(u64, usize)> = None;
        for (i, queue) in self.tenants.iter_mut().enumerate() {
            match queue.state(self.most) {
                StreamState::Ready => {}
                StreamState::Waiting => return Err(StreamState::Waiting),
                StreamState::Ended => continue,
            }
            let time = queue.waiting.times[queue.at];
            if best.is_none_or(|(first, _)| time < first) {
                best = Some((time, i));
            }
        }
        best.map(|(_, i)| i).ok_or(StreamState::Ended)
    }

    /// Returns the first tenant with a ready command. Times order the commands, not turns.
    fn first_ready(&mut self) -> Result<usize, StreamState> {
        let mut none = StreamState::Ended;
        for (i, queue) in self.tenants.iter_mut().enumerate() {
            match queue.state(self.most) {
                StreamState::Ready => return Ok(i),
                StreamState::Waiting => none = StreamState::Waiting,
                StreamState::Ended => {}
            }
        }
        Err(none)
    }

    /// Sends the next command of a tenant, with the flushes and updates that precede it.
    fn send(&mut self, i: usize, batch: &mut Batch) {
        let queue = &mut self.tenants[i];
        loop {
            let at = queue.at;
            let command = queue.waiting.commands[at];
            queue.at += 1;
            let before = batch.len();
            queue.tenant.place(command, &mut batch.commands);
            if self.timed {
                batch.times.resize(batch.commands.len(), queue.waiting.times[at]);
            }
            if self.tickets {
                let own = queue.waiting.tickets.get(at).copied().unwrap_or(0);
                let (ticket, commands) = (queue.base() + own, batch.len() - before);
                let ticket = match self.waits && commands > 1 {
                    true => self.splits.begin(ticket, commands),
                    false => ticket,
                };
                batch.tickets.resize(batch.len(), ticket);
            }
            let sent = &batch.commands[before..];
            let written = sent.iter().map(Command::written_bytes).sum();
            queue.written += written;
            if command.op.has_range() {
                return self.turns.took(i, written);
            }
            if queue.state(self.most) != StreamState::Ready {
                return;
            }
        }
    }
}

impl Queue {
    /// Returns the ticket from which its tickets are counted.
    fn base(&self) -> u64 {
        stream::first_ticket(self.first_job)
    }

    /// Returns whether a command is ready, requesting up to `most` from the stream if necessary.
    fn state(&mut self, most: usize) -> StreamState {
        if self.at < self.waiting.len() {
            return StreamState::Ready;
        }
        self.at = 0;
        // Its notices about jobs stay until the caller receives them.
        self.waiting.clear_commands();
        let state = self.tenant.stream.next(&mut self.waiting, most);
        if self.waiting.is_empty() { state } else { StreamState::Ready }
    }
}

impl Tenant {
    /// Appends a command as the device receives it, split at the borders of placed ranges.
    fn place(&self, command: Command, out: &mut Vec<Command>) {
        let lba = command.lba + self.first_block;
        let command = Command { lba, namespace: self.namespace, ..command };
        self.placement.place(command, out);
    }
}

impl CommandStream for Tenants {
    fn description(&self) -> StreamDescription {
        let each = || self.tenants.iter().map(|q| q.tenant.stream.description());
        StreamDescription {
            identifiers: each().all(|d| d.identifiers),
            queue_depth: each().map(|d| d.queue_depth).sum(),
            loads: each().any(|d| d.loads),
            timed: self.timed,
            waits: self.waits,
        }
    }

    /// Tenants load concurrently, one command of each in turn.
    fn load(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        self.surplus.take(batch, end);
        let mut one = Batch::default();
        while batch.len() < end {
            let loading = (0..self.tenants.len()).map(|n| (self.loading + n) % self.tenants.len());
            let Some(i) = loading.into_iter().find(|i| !self.tenants[*i].loaded) else { break };
            self.loading = i + 1;
            let queue = &mut self.tenants[i];
            one.clear();
            let _ = queue.tenant.stream.load(&mut one, 1);
            queue.loaded = one.is_empty();
            for command in &one.commands {
                queue.tenant.place(*command, &mut batch.commands);
            }
        }
        self.surplus.keep(batch, end);
        batch.state_at(end)
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        // With tenants that wait for completions, the order could depend on the batch size.
        self.most = if self.waits { BATCH } else { max.clamp(1, BATCH) };
        self.surplus.take(batch, end);
        let state = loop {
            if batch.len() >= end {
                self.surplus.keep(batch, end);
                break StreamState::Ready;
            }
            match self.turn() {
                Ok(i) => self.send(i, batch),
                Err(state) => break state,
            }
        };
        for queue in &mut self.tenants {
            let base = queue.base();
            let ours = |(ticket, time)| (base + ticket, time);
            batch.begun.extend(queue.waiting.begun.drain(..).map(ours));
            batch.ended.extend(queue.waiting.ended.drain(..).map(ours));
        }
        state
    }

    fn completed(&mut self, completions: &[Completion]) {
        for completion in completions {
            let Some(ticket) = self.splits.complete(completion.ticket) else { continue };
            let job = stream::job_of(ticket);
            let after = self.tenants.partition_point(|queue| queue.first_job <= job);
            let queue = &mut self.tenants[after - 1];
            let own = Completion { ticket: ticket - queue.base(), ..*completion };
            queue.tenant.stream.completed(&[own]);
        }
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
