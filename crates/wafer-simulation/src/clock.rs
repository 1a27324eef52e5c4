//! Time and randomness of the simulated server.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use wafer_drive::clock::Clock;
use wafer_drive::random::Random;

/// The clock of the simulation.
pub struct SimulatedClock;

impl Clock for SimulatedClock {
    fn monotonic(&self) -> Duration {
        turmoil::sim_elapsed().unwrap_or_default()
    }

    fn wall(&self) -> Duration {
        // A fixed day.
        Duration::from_secs(20_000 * 86_400) + self.monotonic()
    }
}

/// Random bytes from a seed.
pub struct SeededRandom(Mutex<Xoshiro256PlusPlus>);

impl SeededRandom {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        SeededRandom(Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed)))
    }
}

impl Random for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
    }
}
