//! Adapts an application that takes steps to a stream of commands.

use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, LBA_BYTES, NsId, Op, Placement,
    StreamDescription, StreamState, Surplus,
};

/// Number of steps without a command after which an application has ended.
const MOST_IDLE: u32 = 1 << 26;

/// An application, step by step. A step may generate any number of commands.
pub(crate) trait Application: Send {
    /// Appends the next commands of the load; returns false when the load is complete.
    fn load(&mut self, _out: &mut Vec<Command>) -> bool {
        false
    }

    /// Appends the commands of the next step.
    fn step(&mut self, out: &mut Vec<Command>);

    /// Returns the number of commands that the application keeps in flight.
    fn queue_depth(&self) -> u32 {
        32
    }

    /// Returns what [`CommandStream::figures`] reports.
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// An application as a stream.
pub(crate) struct Steps<A> {
    application: A,
    loaded: bool,
    surplus: Surplus,
}

impl<A: Application> Steps<A> {
    pub(crate) fn new(application: A) -> Self {
        Steps { application, loaded: false, surplus: Surplus::default() }
    }
}

impl<A: Application> CommandStream for Steps<A> {
    fn description(&self) -> StreamDescription {
        StreamDescription {
            identifiers: false,
            queue_depth: self.application.queue_depth(),
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

    /// Models do not wait: they only know how many commands an application keeps in flight.
    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        self.application.figures()
    }
}

/// Returns a command on `bytes` bytes at byte `at` of a namespace, both multiples of a logical block.
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
