//! A closed loop around an open stream: a fixed number of commands in flight, each followed by think time.

use std::collections::VecDeque;

use wafer_interface::{
    Batch, Command, CommandStream, Completion, Figure, StreamDescription, StreamState,
};

/// Commands requested from the stream at a time.
const AHEAD: usize = 256;
/// How far ahead of the submitted command the announced one is, in commands.
const LATER: usize = 32;

/// A stream that submits its commands in order, each as soon as one of `queue_depth` slots is free. The stream's own
/// times are ignored.
pub struct FixedDepth {
    stream: Box<dyn CommandStream>,
    description: StreamDescription,
    /// Nanoseconds from a completion until its slot is free.
    think_time: u64,
    /// When each slot becomes free, in order of completion.
    free: VecDeque<u64>,
    /// Time of the last submission.
    last: u64,
    /// Commands not submitted yet, with their tickets.
    ahead: VecDeque<(Command, u64)>,
    /// Buffer that the stream appends to.
    batch: Batch,
}

impl FixedDepth {
    /// Runs `stream` in a closed loop of `queue_depth` commands (at least one), with `think_time` nanoseconds between a
    /// completion and the next submission in its slot.
    pub fn new(stream: Box<dyn CommandStream>, queue_depth: u32, think_time: u64) -> Self {
        let queue_depth = queue_depth.max(1);
        let description = stream.description();
        FixedDepth {
            stream,
            description: StreamDescription { queue_depth, timed: true, waits: true, ..description },
            think_time,
            free: vec![0; queue_depth as usize].into(),
            last: 0,
            ahead: VecDeque::with_capacity(AHEAD + LATER),
            batch: Batch::with_capacity(AHEAD),
        }
    }
}

impl CommandStream for FixedDepth {
    fn description(&self) -> StreamDescription {
        self.description
    }

    fn load(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        self.stream.load(batch, max)
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        while batch.len() < end {
            // Refill before the queue is empty: every command announces the one `LATER` places behind it.
            if self.ahead.len() <= LATER {
                self.batch.clear();
                let _ = self.stream.next(&mut self.batch, AHEAD);
                let Batch { commands, tickets, .. } = &self.batch;
                let tickets = tickets.iter().copied().chain(std::iter::repeat(0));
                self.ahead.extend(commands.iter().copied().zip(tickets));
            }
            let Some((command, ticket)) = self.ahead.front() else { return StreamState::Ended };
            let Some(free) = self.free.pop_front() else { return StreamState::Waiting };
            self.last = self.last.max(free);
            batch.commands.push(*command);
            batch.times.push(self.last);
            batch.tickets.push(*ticket);
            self.ahead.pop_front();
            batch.ahead.extend(self.ahead.get(LATER).map(|(command, _)| *command));
        }
        StreamState::Ready
    }

    fn completed(&mut self, completions: &[Completion]) {
        let free = |c: &Completion| c.time_ns.unwrap_or(self.last) + self.think_time;
        self.free.extend(completions.iter().map(free));
    }

    fn figures(&self) -> Vec<Figure> {
        self.stream.figures()
    }
}

#[cfg(test)]
mod tests {
    use wafer_interface::{NsId, Op, Placement, stream};

    use super::*;

    fn reads(count: u64) -> impl CommandStream {
        let mut lba = 0;
        stream::from_fn(move |out, max| {
            for _ in 0..max.min((count - lba) as usize) {
                let command = Command {
                    lba,
                    blocks: 8,
                    placement: Placement::NONE,
                    op: Op::Read,
                    namespace: NsId(0),
                };
                out.push(command);
                lba += 1;
            }
        })
    }

    #[test]
    fn a_place_is_free_after_completion_and_thought() {
        let mut stream = FixedDepth::new(Box::new(reads(5)), 2, 30);
        let mut batch = Batch::default();
        assert_eq!(stream.next(&mut batch, 8), StreamState::Waiting);
        assert_eq!(batch.times, [0, 0]);
        for time_ns in [70, 100] {
            stream.completed(&[Completion { ticket: 0, time_ns: Some(time_ns) }]);
        }
        batch.clear();
        assert_eq!(stream.next(&mut batch, 8), StreamState::Waiting);
        assert_eq!(batch.times, [100, 130]);
        stream.completed(&[Completion { ticket: 0, time_ns: Some(110) }]);
        batch.clear();
        assert_eq!(stream.next(&mut batch, 8), StreamState::Ended);
        assert_eq!((batch.times.as_slice(), batch.commands[0].lba), ([140].as_slice(), 4));
    }
}
