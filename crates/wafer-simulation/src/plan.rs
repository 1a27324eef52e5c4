//! The plan of a seed: which faults are on, how often they strike, and which commands hosts prefer.

use std::time::Duration;

use clap::ValueEnum;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};

use crate::disk::Rates;

/// Random choices of the simulation.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Creates the dice of a seed; `part` distinguishes the actors of a run.
    pub fn new(seed: u64, part: u64) -> Self {
        let seed =
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03);
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// Returns true with a probability of `percent`.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        let count = choices.len() as u64;
        (count > 0).then(|| choices[self.below(count) as usize])
    }

    /// Returns a random index, in proportion to the weights.
    pub fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut at = self.below(weights.iter().sum::<u64>().max(1));
        for (index, weight) in weights.iter().enumerate() {
            if at < *weight {
                return index;
            }
            at -= weight;
        }
        0
    }
}

/// The mix of the hosts' commands, as weights for [`Dice::weighted`].
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Write, Read, Write Zeroes, deallocate, Copy, Flush, Reclaim Unit Handle Update, Verify.
    pub commands: [u64; 8],
    /// Percent of writes with Force Unit Access.
    pub fua: u64,
    /// Maximum number of outstanding commands per queue.
    pub depth: u64,
    /// Maximum 4 KiB units per command.
    pub units: u64,
}

/// An action of the operator, or of a host against the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Action {
    /// Read counters.
    Counters,
    /// Delete or create a namespace.
    Namespaces,
    /// Delete a namespace and create another one while a command reads data.
    Replace,
    /// Send asynchronous event requests, and reset the controller.
    Resets,
    /// Kill the server.
    Kills,
    /// Cut the power.
    Power,
    /// Shut the server down cleanly and restart it.
    Restarts,
    /// Fail operations of the disk for a while.
    Faults,
    /// Cut a host off the network for a while.
    Partitions,
    /// Kill the server and start it with files from another moment.
    Files,
    /// One host sends many long copies at once.
    Greedy,
}

/// The actions of the operator, with their maximum weights.
const ACTIONS: [(Action, u64); 10] = [
    (Action::Counters, 8),
    (Action::Namespaces, 6),
    (Action::Replace, 4),
    (Action::Resets, 6),
    (Action::Kills, 4),
    (Action::Power, 4),
    (Action::Restarts, 3),
    (Action::Faults, 6),
    (Action::Partitions, 3),
    (Action::Files, 3),
];

/// The plan of a run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Its seed.
    pub seed: u64,
    /// Simulated time during which hosts work.
    pub length: Duration,
    /// Failure rates of disk operations while faults are on.
    pub rates: Rates,
    /// Maximum latency of the network.
    pub latency: Duration,
    /// The hosts' commands.
    pub mix: Mix,
    /// The operator's actions, with weights.
    pub actions: [(Action, u64); ACTIONS.len()],
    /// Whether one host sends many long copies and deallocations at once.
    pub greedy: bool,
    /// Keep alive timeout of hosts, milliseconds.
    pub kato: u32,
}

impl Plan {
    /// Draws the plan of a seed.
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed, 1);
        // In each run half of all faults are off, so that each also appears alone.
        let mut some = |most: u64| if dice.chance(50) { dice.below(most) + 1 } else { 0 };
        let mut actions = ACTIONS.map(|(action, most)| (action, some(most)));
        actions[0].1 = ACTIONS[0].1;
        let rates = Rates {
            read: some(2_000) as u16,
            write: some(6_000) as u16,
            sync: some(20_000) as u16,
        };
        let mut commands = [0; 8];
        for (weight, most) in commands.iter_mut().zip([40, 40, 8, 8, 8, 6, 4, 4]) {
            *weight = some(most);
        }
        commands[0] += 10;
        commands[1] += 10;
        Plan {
            seed,
            length: Duration::from_millis(100 + dice.below(400)),
            rates,
            latency: Duration::from_millis(dice.below(6)),
            mix: Mix {
                commands,
                fua: dice.below(30),
                depth: 1 + dice.below(12),
                units: 1 + dice.below(16),
            },
            actions,
            greedy: dice.chance(10),
            kato: 1_000 + dice.below(2_000) as u32,
        }
    }

    /// Enables only these actions, each at its maximum rate. Counters are always read.
    #[must_use]
    pub fn only(mut self, only: &[Action]) -> Self {
        self.greedy = only.contains(&Action::Greedy);
        for ((action, weight), (_, most)) in self.actions.iter_mut().zip(ACTIONS) {
            let on = *action == Action::Counters || only.contains(action);
            *weight = if on { most } else { 0 };
        }
        self
    }
}
