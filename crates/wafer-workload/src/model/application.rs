//! The frame of every model: an application that takes steps, as a stream of commands.

use wafer_core::{Command, LBA_BYTES, NsId, Op, Placement};

use crate::carry::Carry;
use crate::stream::{CommandStream, Figure};

/// Steps without a command after which an application counts as idle for ever.
const MOST_IDLE: u32 = 1 << 26;

/// An application, step by step. A step may give any number of commands.
pub(crate) trait Application: Send {
    /// Appends the next commands of the load; false when there is nothing left to load.
    fn load(&mut self, _out: &mut Vec<Command>) -> bool {
        false
    }

    /// Appends the commands of the next step.
    fn step(&mut self, out: &mut Vec<Command>);

    /// Commands that it keeps in flight.
    fn queue_depth(&self) -> u32 {
        32
    }

    /// See [`CommandStream::figures`].
    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// An application as a stream: what a step gives beyond a batch waits for the next one.
pub(crate) struct Steps<A> {
    application: A,
    loaded: bool,
    carry: Carry,
}

impl<A: Application> Steps<A> {
    pub(crate) fn new(application: A) -> Self {
        Steps { application, loaded: false, carry: Carry::default() }
    }
}

impl<A: Application> CommandStream for Steps<A> {
    fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        let end = out.len() + max;
        self.fill_load(out, max);
        let mut idle = 0;
        while out.len() < end && idle < MOST_IDLE {
            let before = out.len();
            self.application.step(out);
            idle = if out.len() > before { 0 } else { idle + 1 };
        }
        self.carry.keep(out, end);
    }

    fn fill_load(&mut self, out: &mut Vec<Command>, max: usize) {
        let end = out.len() + max;
        self.carry.take(out, end);
        while !self.loaded && out.len() < end {
            self.loaded = !self.application.load(out);
        }
        self.carry.keep(out, end);
    }

    fn queue_depth(&self) -> u32 {
        self.application.queue_depth()
    }

    fn figures(&self) -> Vec<Figure> {
        self.application.figures()
    }
}

/// A command of `bytes` bytes at byte `at` of a namespace, both multiples of a logical block.
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

/// The placement of an optional handle.
pub(crate) fn placement(handle: Option<u16>) -> Placement {
    handle.map_or(Placement::NONE, Placement)
}
