//! What a seed runs: each one draws which faults are on, how often they strike, and what hosts like to do.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};

use crate::disk::Rates;

/// Random choices of the simulation.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Makes the dice of a seed; `part` tells the actors of a run apart.
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

/// What the operator does. Weights of [`Dice::weighted`].
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    /// Reading counters.
    pub counters: u64,
    /// Deleting or creating a namespace.
    pub namespaces: u64,
    /// Deleting and creating a namespace while a command for it moves data.
    pub replace: u64,
    /// Asynchronous event requests and controller resets.
    pub resets: u64,
    /// Killing the server.
    pub kills: u64,
    /// Losing power.
    pub power: u64,
    /// Ending the server, and starting it again.
    pub restarts: u64,
    /// Disk faults for a while.
    pub faults: u64,
    /// Cutting a host off the network for a while.
    pub partitions: u64,
    /// Files of another moment in place of those of the server that was killed.
    pub files: u64,
}

impl Operations {
    /// Returns the weights, in the order of the fields.
    pub fn weights(&self) -> [u64; 10] {
        [
            self.counters,
            self.namespaces,
            self.replace,
            self.resets,
            self.kills,
            self.power,
            self.restarts,
            self.faults,
            self.partitions,
            self.files,
        ]
    }
}

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
    /// What the operator does.
    pub operations: Operations,
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
        let operations = Operations {
            counters: 8,
            namespaces: some(6),
            replace: some(4),
            resets: some(6),
            kills: some(4),
            power: some(4),
            restarts: some(3),
            faults: some(6),
            partitions: some(3),
            files: some(3),
        };
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
            length: Duration::from_millis(300 + dice.below(900)),
            rates,
            latency: Duration::from_millis(dice.below(6)),
            mix: Mix {
                commands,
                fua: dice.below(30),
                depth: 1 + dice.below(24),
                units: 1 + dice.below(16),
            },
            operations,
            greedy: dice.chance(10),
            kato: 1_000 + dice.below(2_000) as u32,
        }
    }
}
