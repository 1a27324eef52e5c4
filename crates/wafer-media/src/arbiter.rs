//! Arbitration: the order in which the controller takes commands from the submission queues.

use std::collections::VecDeque;

/// The submission queues.
///
/// Without a burst, the controller takes commands in order of submission, whatever their queue. With one, it takes up
/// to a burst from a queue and turns to the next one with commands; a queue that was empty goes to the end (round robin
/// arbitration, NVMe Base 2.2, 3.4.4.1).
#[derive(Debug)]
pub(crate) struct Arbiter {
    burst: Option<u32>,
    queues: Vec<VecDeque<u32>>,
    /// The queues that have commands, in turn.
    turns: VecDeque<u16>,
    /// Commands taken from the first of these queues in this turn.
    taken: u32,
}

impl Arbiter {
    pub(crate) fn new(burst: Option<u32>) -> Self {
        Arbiter { burst, queues: Vec::new(), turns: VecDeque::new(), taken: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    pub(crate) fn push(&mut self, queue: u16, command: u32) {
        let queue = if self.burst.is_some() { queue } else { 0 };
        let at = usize::from(queue);
        if at >= self.queues.len() {
            self.queues.resize_with(at + 1, VecDeque::new);
        }
        if self.queues[at].is_empty() {
            self.turns.push_back(queue);
        }
        self.queues[at].push_back(command);
    }

    /// Takes the next command.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let queue = *self.turns.front()?;
        let commands = &mut self.queues[usize::from(queue)];
        let command = commands.pop_front();
        self.taken += 1;
        if commands.is_empty() || Some(self.taken) == self.burst {
            self.turns.pop_front();
            self.taken = 0;
            if !commands.is_empty() {
                self.turns.push_back(queue);
            }
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(burst: Option<u32>) -> Vec<u32> {
        let mut arbiter = Arbiter::new(burst);
        for command in [10, 11, 12, 20, 21, 22, 30] {
            arbiter.push((command / 10) as u16, command);
        }
        let mut order: Vec<u32> = (0..3).filter_map(|_| arbiter.pop()).collect();
        arbiter.push(4, 40);
        order.extend(std::iter::from_fn(|| arbiter.pop()));
        assert!(arbiter.is_empty());
        order
    }

    #[test]
    fn queues_take_turns_of_a_burst() {
        assert_eq!(order(None), [10, 11, 12, 20, 21, 22, 30, 40]);
        assert_eq!(order(Some(1)), [10, 20, 30, 11, 21, 40, 12, 22]);
        assert_eq!(order(Some(2)), [10, 11, 20, 21, 30, 12, 40, 22]);
        assert_eq!(order(Some(9)), [10, 11, 12, 20, 21, 22, 30, 40]);
    }
}
