//! Requests that arrive at their times, next to streams that wait for completions.

use wafer_interface::{Batch, CommandStream, Completion, Figure, StreamDescription, StreamState};

/// Commands handed over ahead of their time while few are in flight.
const AHEAD: u64 = 1024;
/// Nanoseconds ahead of the last completion up to which commands are handed over, however many are in flight.
const HORIZON: u64 = 100_000_000;

/// A stream with times that submits each command at its time, completed or not what came before. It waits only in the
/// sense of [`StreamDescription::waits`]: a driver that takes commands from several streams would otherwise take all of
/// this one first.
pub struct OpenLoop {
    stream: Box<dyn CommandStream>,
    /// Commands of the stream that have not been handed over.
    next: Batch,
    at: usize,
    /// Commands handed over that have not completed.
    outstanding: u64,
    /// When the last one completed.
    now: u64,
}

impl OpenLoop {
    /// Wraps a stream, whose description must be [timed](StreamDescription::timed).
    pub fn new(stream: Box<dyn CommandStream>) -> Self {
        OpenLoop { stream, next: Batch::default(), at: 0, outstanding: 0, now: 0 }
    }
}

impl CommandStream for OpenLoop {
    fn description(&self) -> StreamDescription {
        StreamDescription { waits: true, ..self.stream.description() }
    }

    fn load(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        self.stream.load(batch, max)
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        for _ in 0..max {
            if self.at == self.next.len() {
                self.next.clear();
                self.at = 0;
                let _ = self.stream.next(&mut self.next, 64);
            }
            let (Some(command), Some(time)) =
                (self.next.commands.get(self.at), self.next.times.get(self.at))
            else {
                return StreamState::Ended;
            };
            if self.outstanding >= AHEAD && *time > self.now.saturating_add(HORIZON) {
                return StreamState::Waiting;
            }
            batch.commands.push(*command);
            batch.times.push(*time);
            batch.tickets.push(0);
            self.at += 1;
            self.outstanding += 1;
        }
        StreamState::Ready
    }

    fn completed(&mut self, completions: &[Completion]) {
        self.outstanding -= completions.len() as u64;
        self.now = completions.iter().filter_map(|c| c.time_ns).fold(self.now, u64::max);
    }

    fn figures(&self) -> Vec<Figure> {
        self.stream.figures()
    }
}

#[cfg(test)]
mod tests {
    use wafer_interface::{Command, Placement};

    use super::*;

    /// Writes, one every millisecond.
    struct Arrivals {
        at: u64,
        count: u64,
    }

    impl CommandStream for Arrivals {
        fn description(&self) -> StreamDescription {
            StreamDescription {
                identifiers: false,
                queue_depth: 1,
                loads: false,
                timed: true,
                waits: false,
            }
        }

        fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
            StreamState::Ended
        }

        fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
            let end = batch.len() + max;
            while self.at < self.count && batch.len() < end {
                batch.commands.push(Command::write(self.at, 8, Placement::NONE));
                batch.times.push(self.at * 1_000_000);
                self.at += 1;
            }
            batch.state_at(end)
        }

        fn completed(&mut self, _: &[Completion]) {}

        fn figures(&self) -> Vec<Figure> {
            Vec::new()
        }
    }

    #[test]
    fn commands_are_handed_over_ahead_of_their_time_but_not_all_at_once() {
        let mut stream = OpenLoop::new(Box::new(Arrivals { at: 0, count: 1500 }));
        let mut batch = Batch::default();
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Ready);
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Waiting);
        let lengths = (batch.commands.len(), batch.times.len(), batch.tickets.len());
        assert_eq!(lengths, (1024, 1024, 1024));
        // The drive is slow: what arrives is handed over all the same.
        stream.completed(&[Completion { ticket: 0, time_ns: Some(1_200_000_000) }]);
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Waiting);
        assert_eq!(batch.times.last(), Some(&1_300_000_000));
        stream.completed(&[Completion { ticket: 0, time_ns: Some(1_400_000_000) }; 1000]);
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Ended);
        assert_eq!(batch.len(), 1500);
    }
}
