//! What a seed runs: each one draws which faults are on, how often they strike, and what hosts like to do.

use std::time::Duration;

use clap::ValueEnum;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};

use crate::disk::Rates;

/// Random choices of the simulation.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Creates the dice of a seed; `part` tells the actors of a run apart.
    pub fn new(seed: u64, part: u64) -> Self {
        let seed =
            seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03);
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// Returns true in `percent` of all cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        let count = choices.len() as u64;
        (count > 0).then(|| choices[self.below(count) as usize])
    }

    /// Returns the place of one of the weights, in proportion to them.
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

/// What the hosts' commands are. Weights of [`Dice::weighted`].
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Write, Read, Write Zeroes, deallocate, Copy, Flush, Reclaim Unit Handle Update, Verify.
    pub commands: [u64; 8],
    /// Percent of writes with Force Unit Access.
    pub fua: u64,
    /// Maximum number of outstanding commands of a queue.
    pub depth: u64,
    /// Maximum 4 KiB units of a command.
    pub units: u64,
}

/// Something that the operator does, or that a host does to the others.
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
    /// End the server in order, and start it again.
    Restarts,
    /// Fail operations of the disk for a while.
    Faults,
    /// Cut a host off the network for a while.
    Partitions,
    /// Kill the server, and start it with files of another moment.
    Files,
    /// One host sends many long copies at once.
    Greedy,
}

/// The actions of the operator, with the weight that each may have at most.
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

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The seed of it.
    pub seed: u64,
    /// Simulated time that the hosts work.
    pub length: Duration,
    /// How often disk operations fail while faults are on.
    pub rates: Rates,
    /// Maximum latency of the network.
    pub latency: Duration,
    /// What hosts do.
    pub mix: Mix,
    /// What the operator does, with weights.
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
        // Half of all faults are off in a run, so that each also shows alone.
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

    /// Leaves only these actions, each as often as it can be. Counters are always read.
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
