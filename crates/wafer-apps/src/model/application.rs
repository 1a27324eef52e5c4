//! Adapts an application that takes steps to a stream of commands.

use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, LBA_BYTES, NsId, Op, Placement,
    StreamDescription, StreamState, Surplus,
};
use wafer_random::{Purpose, Rng};

/// Number of consecutive steps without a command after which an application has ended.
const MOST_IDLE: u32 = 1 << 26;

/// An application, step by step. A step may generate any number of commands.
pub(crate) trait Application: Send {
    /// Appends the next commands of the load; returns false when the load is complete.
    fn load(&mut self, _out: &mut Vec<Command>) -> bool {
        false
    }

    /// Appends the commands of the next step.
    fn step(&mut self, out: &mut Vec<Command>);

    /// Returns the figures for [`CommandStream::figures`].
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// The stream of an application.
pub(crate) struct Steps<A> {
    application: A,
    queue_depth: u32,
    loaded: bool,
    surplus: Surplus,
}

impl<A: Application> Steps<A> {
    pub(crate) fn new(application: A, queue_depth: u32) -> Self {
        Steps { application, queue_depth, loaded: false, surplus: Surplus::default() }
    }
}

impl<A: Application> CommandStream for Steps<A> {
    fn description(&self) -> StreamDescription {
        StreamDescription {
            identifiers: false,
            queue_depth: self.queue_depth,
            loads: true,
            timed: false,
            waits: false,
        }
    }

    fn load(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        self.surplus.take(batch, end);
        while !self.loaded && batch.len() < end {
            self.loaded = !self.application.load(&mut batch.commands);
        }
        self.surplus.keep(batch, end);
        batch.state_at(end)
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        let _ = self.load(batch, max);
        let mut idle = 0;
        while batch.len() < end && idle < MOST_IDLE {
            let before = batch.len();
            self.application.step(&mut batch.commands);
            idle = if batch.len() > before { 0 } else { idle + 1 };
        }
        self.surplus.keep(batch, end);
        batch.state_at(end)
    }

    /// Models do not wait: they only declare how many commands an application keeps in flight.
    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        self.application.figures()
    }
}

/// Returns a command on `bytes` bytes at byte `at` of a namespace, both whole logical blocks.
#[inline(always)]
pub(crate) fn command(op: Op, namespace: u8, at: u64, bytes: u64, placement: Placement) -> Command {
    Command {
        lba: at / LBA_BYTES,
        blocks: (bytes / LBA_BYTES) as u32,
        placement,
        op,
        namespace: NsId(namespace),
    }
}

/// Returns the placement of an optional handle.
pub(crate) fn placement(handle: Option<u16>) -> Placement {
    handle.map_or(Placement::NONE, Placement)
}

/// Appends a write of `bytes` bytes at byte `at` of the first namespace, in commands of up to `most`.
pub(crate) fn write_in_parts(
    at: u64,
    bytes: u64,
    most: u64,
    placement: Placement,
    out: &mut Vec<Command>,
) {
    for done in (0..bytes).step_by(most as usize) {
        out.push(command(Op::Write, 0, at + done, most.min(bytes - done), placement));
    }
}

/// Returns one of an application's random number generators.
pub(crate) fn rng(seed: u64, number: usize) -> Rng {
    Rng::new(seed, 0, Purpose::Application, number)
}

/// Returns the threshold below which this share of all 32-bit numbers lies.
pub(crate) fn threshold(share: f64) -> u64 {
    (share * 4_294_967_296.0) as u64
}

/// Returns true with a probability.
pub(crate) fn chance(rng: &mut Rng, probability: f64) -> bool {
    u64::from(rng.next32()) < threshold(probability)
}

/// Returns a figure that is a ratio of two counts, 0 if the divisor is 0.
pub(crate) fn ratio(name: &str, part: u64, of: u64, meaning: &str) -> Figure {
    Figure::new(name, part as f64 / of.max(1) as f64, "", meaning)
}

pub(crate) fn count(name: &str, count: u64, unit: &str, meaning: &str) -> Figure {
    Figure::new(name, count as f64, unit, meaning)
}
