//! Requests that arrive at their times, next to streams that wait for completions.

use wafer_interface::{Batch, CommandStream, Completion, Figure, StreamDescription, StreamState};

/// Maximum commands in flight or handed over ahead of their time: what a queue of Linux's NVMe driver holds.
const ROOM: usize = 1023;

/// A stream with times that submits each command at its time, or when one of the 1,023 places in the host's queue
/// becomes free. It waits only in the sense of [`StreamDescription::waits`]: a driver that takes commands from several
/// streams would otherwise take all of this one first.
pub struct OpenLoop {
    stream: Box<dyn CommandStream>,
    room: usize,
}

impl OpenLoop {
    /// Wraps a stream, whose description must be [timed](StreamDescription::timed).
    pub fn new(stream: Box<dyn CommandStream>) -> Self {
        OpenLoop { stream, room: ROOM }
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
        let (before, most) = (batch.len(), max.min(self.room));
        if most == 0 {
            return StreamState::Waiting;
        }
        let state = self.stream.next(batch, most);
        batch.tickets.resize(batch.len(), 0);
        self.room -= batch.len() - before;
        if state == StreamState::Ready && most < max { StreamState::Waiting } else { state }
    }

    fn completed(&mut self, completions: &[Completion]) {
        self.room += completions.len();
    }

    fn figures(&self) -> Vec<Figure> {
        self.stream.figures()
    }
}

#[cfg(test)]
mod tests {
    use wafer_interface::{Command, Placement};

    use super::*;

    /// Writes, one a microsecond.
    struct Arrivals(u64);

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
            let count = self.0.min(max as u64);
            batch.commands.extend((0..count).map(|i| Command::write(i, 8, Placement::NONE)));
            batch.times.extend((self.0 - count..self.0).map(|i| i * 1000));
            self.0 -= count;
            batch.state_at(end)
        }

        fn completed(&mut self, _: &[Completion]) {}

        fn figures(&self) -> Vec<Figure> {
            Vec::new()
        }
    }

    #[test]
    fn commands_are_handed_over_until_the_queue_is_full() {
        let mut stream = OpenLoop::new(Box::new(Arrivals(1500)));
        let mut batch = Batch::default();
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Ready);
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Waiting);
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Waiting);
        assert_eq!(
            (batch.commands.len(), batch.times.len(), batch.tickets.len()),
            (1023, 1023, 1023)
        );
        stream.completed(&[Completion { ticket: 0, time_ns: Some(70) }; 477]);
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Waiting);
        assert_eq!((batch.len(), stream.room), (1500, 0));
        stream.completed(&[Completion { ticket: 0, time_ns: Some(70) }]);
        assert_eq!(stream.next(&mut batch, 1000), StreamState::Ended);
    }
}
