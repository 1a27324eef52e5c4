//! The interface between generators of commands and their executors.
//!
//! A driver asks a [`CommandStream`] for commands, executes them, and reports completions back. Three
//! kinds of driver fit the same trait:
//! - *without a clock*: the driver asks for full batches and each command completes as it is executed;
//! - *open loop*: a stream whose description is [`timed`](StreamDescription::timed) states when each command arrives,
//!   and the driver submits it at that time, whether earlier commands have completed or not;
//! - *closed loop*: a stream that [waits for completions](StreamDescription::waits) yields commands up
//!   to its queue depth and returns [`StreamState::Waiting`]; each [`CommandStream::completed`], which
//!   carries the model time, lets it yield the next.
//!
//! Every method is required, so a stream that wraps others cannot lose a capability of theirs by omitting a method.

use crate::Command;

/// A source of commands, which whoever drives the device asks for batches.
///
/// Streams are deterministic: the same construction arguments and completions yield the same commands,
/// however they are batched. A stream owns its random numbers.
pub trait CommandStream: Send {
    /// Describes what the stream yields. The description never changes.
    fn description(&self) -> StreamDescription;

    /// Appends up to `max` commands that load the initial data of an application. A stream without a load appends
    /// nothing.
    fn load(&mut self, batch: &mut Batch, max: usize) -> StreamState;

    /// Appends up to `max` commands. A stream that was not loaded with [`Self::load`] loads first.
    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState;

    /// Reports completed commands, in order of completion. A driver may omit the call for a stream that does not
    /// [wait](StreamDescription::waits).
    fn completed(&mut self, completions: &[Completion]);

    /// Returns what the application behind the stream has counted so far, such as hit ratios or its
    /// own write amplification. Empty for a stream without an application.
    fn figures(&self) -> Vec<Figure>;
}

/// The properties of a stream.
///
/// There is no default, so every stream has to state the value of a new field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamDescription {
    /// Whether placements are placement identifiers of the device that the stream was created for. Otherwise, they are
    /// indices into the placement identifiers of the namespace. With one reclaim group, both are the same.
    pub identifiers: bool,
    /// Number of commands that the host keeps in flight: the weight of the stream relative to others.
    pub queue_depth: u32,
    /// Whether the stream has a load.
    pub loads: bool,
    /// Whether batches state when each command arrives.
    pub timed: bool,
    /// Whether the stream waits for completions: batches carry tickets, and the driver must report each
    /// completion.
    pub waits: bool,
}

/// Why a stream stopped appending to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum StreamState {
    /// The batch has as many commands as requested.
    Ready,
    /// The next command depends on a completion. Only a stream whose description says so waits.
    Waiting,
    /// There are no more commands, or the load is complete.
    Ended,
}

/// Commands on their way from a stream to the device.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The commands.
    pub commands: Vec<Command>,
    /// Arrival time of each command in nanoseconds from a common start; empty unless the stream is timed.
    pub times: Vec<u64>,
    /// Ticket of each command, chosen by the stream; empty unless the stream waits for completions or names its jobs.
    pub tickets: Vec<u64>,
    /// Later commands, as far as a stream that waits knows them. A driver may prefetch memory for them; nothing else
    /// depends on them, and a stream need not name any.
    pub ahead: Vec<Command>,
    /// Jobs that have begun: a ticket of each, and the start of its run time, nanoseconds. The run time of any other
    /// job starts with its first command.
    pub begun: Vec<(u64, u64)>,
    /// Jobs whose run time is up: a ticket of each, and the end of its run time, nanoseconds. Such a job lasts until
    /// then, although its last command may have completed earlier.
    pub ended: Vec<(u64, u64)>,
}

/// The completion of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The command's ticket.
    pub ticket: u64,
    /// Model time of the completion in nanoseconds; `None` from a driver without a clock.
    pub time_ns: Option<u64>,
}

impl Batch {
    /// Returns an empty batch with room for `commands` commands.
    pub fn with_capacity(commands: usize) -> Self {
        Batch { commands: Vec::with_capacity(commands), ..Batch::default() }
    }

    /// Returns the number of commands.
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Returns whether there are no commands.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Empties the batch, keeping the allocations.
    pub fn clear(&mut self) {
        self.clear_commands();
        self.begun.clear();
        self.ended.clear();
    }

    /// Removes all commands, but keeps `begun` and `ended`.
    pub fn clear_commands(&mut self) {
        self.truncate(0);
        self.ahead.clear();
    }

    /// Returns why a stream that never waits has stopped: the batch reached `end`, or the stream ended.
    pub fn state_at(&self, end: usize) -> StreamState {
        if self.len() < end { StreamState::Ended } else { StreamState::Ready }
    }

    fn truncate(&mut self, length: usize) {
        self.commands.truncate(length);
        self.times.truncate(length);
        self.tickets.truncate(length);
    }

    /// Appends `range` of another batch.
    fn extend(&mut self, other: &Batch, range: std::ops::Range<usize>) {
        self.commands.extend_from_slice(&other.commands[range.clone()]);
        self.times.extend_from_slice(other.times.get(range.clone()).unwrap_or_default());
        self.tickets.extend_from_slice(other.tickets.get(range).unwrap_or_default());
    }
}

/// Bits of a ticket that number the commands of a job; the bits above number the job.
const JOB_SHIFT: u32 = 44;

/// Returns the first ticket of a job of a stream that names its jobs; its other tickets follow.
pub const fn first_ticket(job: usize) -> u64 {
    (job as u64) << JOB_SHIFT
}

/// Returns the number of the job that a ticket belongs to.
pub fn job_of(ticket: u64) -> usize {
    (ticket >> JOB_SHIFT) as usize
}

/// Commands that a stream generated beyond the end of one batch, kept for the next.
#[derive(Clone, Debug, Default)]
pub struct Surplus {
    kept: Batch,
    taken: usize,
}

impl Surplus {
    /// Moves kept commands to `batch` until it has `end` commands.
    pub fn take(&mut self, batch: &mut Batch, end: usize) {
        let count = (self.kept.len() - self.taken).min(end.saturating_sub(batch.len()));
        batch.extend(&self.kept, self.taken..self.taken + count);
        self.taken += count;
    }

    /// Keeps the commands of `batch` beyond `end`. No commands may be kept already.
    pub fn keep(&mut self, batch: &mut Batch, end: usize) {
        if batch.len() > end {
            assert_eq!(self.taken, self.kept.len(), "commands would be lost");
            self.kept.clear();
            self.taken = 0;
            self.kept.extend(batch, end..batch.len());
            batch.truncate(end);
        }
    }
}

/// A stream from a function; see [`from_fn`].
struct FromFn<F>(F);

/// Returns a stream of the commands that `fill` appends. It appends as many as its second argument, and fewer only at
/// the end. The stream has no load, times or figures; its placements are indices, and its queue depth is 1.
pub fn from_fn(
    fill: impl FnMut(&mut Vec<Command>, usize) + Send + 'static,
) -> impl CommandStream + 'static {
    FromFn(fill)
}

impl<F: FnMut(&mut Vec<Command>, usize) + Send> CommandStream for FromFn<F> {
    fn description(&self) -> StreamDescription {
        StreamDescription {
            identifiers: false,
            queue_depth: 1,
            loads: false,
            timed: false,
            waits: false,
        }
    }

    fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
        StreamState::Ended
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        (self.0)(&mut batch.commands, max);
        batch.state_at(end)
    }

    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// A figure that an application counts itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The tenant, if several applications share a device; otherwise empty.
    pub tenant: String,
    /// Name in lower case with underscores, such as "hit_ratio".
    pub name: String,
    /// Value.
    pub value: f64,
    /// Unit; empty for a ratio.
    pub unit: String,
    /// Meaning, in one line.
    pub meaning: String,
}

impl Figure {
    /// Returns a figure without a tenant.
    pub fn new(name: &str, value: f64, unit: &str, meaning: &str) -> Self {
        Figure {
            tenant: String::new(),
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            meaning: meaning.to_owned(),
        }
    }
}
