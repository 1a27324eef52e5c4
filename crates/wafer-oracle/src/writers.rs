//! The writer of `gc.destination = "writer"`: one of the handles that are writing at the time.
//!
//! Source: `docs/reference/configuration.md`, `gc.destination`, and `docs/studies/validation.md`. Every write command
//! counts for its handle. When the counts add up to 128, all are halved, rounded down. A forced collection draws among
//! the handles other than the one that needs space, in proportion to their counts, in order of number; if no other has
//! a count, it takes that one. Background collection takes handle 0 and draws nothing.

use crate::random::Random;

/// Sum of the counts at which all are halved.
const WINDOW: u32 = 128;

/// Recent write commands of each handle.
#[derive(Clone, Debug)]
pub(crate) struct Writers(Vec<u32>);

impl Writers {
    pub(crate) fn new(handles: u16) -> Self {
        Writers(vec![0; usize::from(handles)])
    }

    /// Counts a write command.
    pub(crate) fn wrote(&mut self, handle: u16) {
        self.0[usize::from(handle)] += 1;
        if self.0.iter().sum::<u32>() == WINDOW {
            self.0.iter_mut().for_each(|count| *count /= 2);
        }
    }

    /// Draws the writer of a forced collection.
    pub(crate) fn draw(&self, asking: u16, random: &mut Random) -> u16 {
        let others = (0u16..).zip(&self.0).filter(|(handle, _)| *handle != asking);
        let commands: Vec<u16> = others
            .flat_map(|(handle, count)| std::iter::repeat_n(handle, *count as usize))
            .collect();
        if commands.is_empty() {
            return asking;
        }
        commands[random.below(commands.len() as u32) as usize]
    }
}
