//! Which handles commands write through of late: with `gc.destination = "writer"` forced GC takes the
//! reclaim unit of one of them.
//!
//! A device that works so collects on behalf of whichever command comes next from those in flight, which
//! depends on queues and pollers that are not modelled. The handle is drawn in proportion to the commands of
//! each instead, that of the command just served left out: its job has others before it.

use serde::{Deserialize, Serialize};

use crate::rng::DeviceRng;

/// Commands after which older ones count half: a few queues of depth 32.
const WINDOW: u32 = 128;

/// Recent write commands by handle, older ones at less weight. Empty where nobody asks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Writers {
    counts: Vec<u32>,
    total: u32,
}

impl Writers {
    /// For a device with so many handles; with none, nothing is counted.
    pub(crate) fn new(handles: u16) -> Self {
        Writers { counts: vec![0; usize::from(handles)], total: 0 }
    }

    /// Counts commands; one at a time or many at once is the same.
    #[inline(always)]
    pub(crate) fn wrote(&mut self, handle: u32, commands: u32) {
        if !self.counts.is_empty() {
            self.count(handle, commands);
        }
    }

    #[cold]
    fn count(&mut self, handle: u32, mut commands: u32) {
        while commands > 0 {
            let step = commands.min(WINDOW - self.total);
            self.counts[handle as usize] += step;
            self.total += step;
            commands -= step;
            if self.total == WINDOW {
                self.counts.iter_mut().for_each(|count| *count /= 2);
                self.total = self.counts.iter().sum();
            }
        }
    }

    /// One of the handles, in proportion to their commands, but not `asking` unless it writes alone.
    pub(crate) fn draw(&self, asking: u32, rng: &mut DeviceRng) -> u32 {
        let others = self.total - self.counts[asking as usize];
        if others == 0 {
            return asking;
        }
        let mut at = rng.below(others);
        for (handle, count) in self.counts.iter().enumerate() {
            match at.checked_sub(*count) {
                _ if handle == asking as usize => {}
                None => return handle as u32,
                Some(rest) => at = rest,
            }
        }
        asking
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    #[test]
    fn many_at_once_count_as_one_at_a_time() {
        let (mut once, mut singly) = (Writers::new(3), Writers::new(3));
        for (handle, commands) in [(0, 5), (2, 1000), (1, 127), (0, 1), (2, 64), (1, 3)] {
            once.wrote(handle, commands);
            (0..commands).for_each(|_| singly.wrote(handle, 1));
            assert_eq!((&once.counts, once.total), (&singly.counts, singly.total));
        }
    }

    #[test]
    fn handles_are_drawn_in_proportion_and_the_past_is_forgotten() {
        let mut rng = DeviceRng::new(1, Purpose::Policy);
        let mut writers = Writers::new(3);
        writers.wrote(0, 10_000);
        for _ in 0..1000 {
            writers.wrote(1, 3);
            writers.wrote(2, 1);
        }
        let mut drawn = [0; 3];
        (0..4000).for_each(|_| drawn[writers.draw(0, &mut rng) as usize] += 1);
        assert_eq!(drawn[0], 0);
        assert!((2800..3200).contains(&drawn[1]), "{drawn:?}");
        assert_eq!((0..9).map(|_| writers.draw(1, &mut rng)).max(), Some(2));
        assert_eq!((0..9).map(|_| writers.draw(2, &mut rng)).min(), Some(1));
        assert_eq!(Writers::new(2).draw(1, &mut rng), 1);
    }
}
