//! Randomness for identifiers. Everything else in a drive is deterministic.

use rand::rngs::OsRng;
use rand::{RngCore as _, TryRngCore as _};

/// A source of random bytes.
pub trait Random: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// The random number generator of the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&self, bytes: &mut [u8]) {
        OsRng.unwrap_err().fill_bytes(bytes);
    }
}
