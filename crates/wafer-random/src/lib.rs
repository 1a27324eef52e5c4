//! Reproducible random numbers for workloads.
//!
//! # What it is
//! [`Rng`] is one stream of random numbers for one [`Purpose`] of one job or application; [`Ranked`] draws
//! from a skewed distribution over ranks; [`RandomMap`] visits every block of a region once a pass.
//!
//! # Invariants
//! The same seed and purpose give the same numbers on every platform.
//!
//! # Error model
//! Nothing here fails: parameters are checked by the caller.

mod modulo;
mod random_map;
mod ranked;
mod rng;

pub use modulo::Modulo;
pub use random_map::RandomMap;
pub use ranked::{GOLDEN_RATIO, Inverse, Ranked};
pub use rng::{Purpose, Rng, split_mix};
