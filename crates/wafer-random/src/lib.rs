//! Reproducible random numbers for workloads.
//!
//! # What it is
//! [`Rng`] is one stream of random numbers for one [`Purpose`] of one job or application; [`Ranked`] draws
//! from a skewed distribution over ranks, [`Normal`] and [`Zoned`] draw from fio's other distributions; [`RandomMap`]
//! visits every block of a region once a pass.
//!
//! # Invariants
//! The same seed and purpose give the same numbers on every platform.
//!
//! # Error model
//! Only zones are checked here, when they are made. All other parameters are checked by the caller.

mod modulo;
mod normal;
mod random_map;
mod ranked;
mod rng;
mod zoned;

pub use modulo::Modulo;
pub use normal::Normal;
pub use random_map::RandomMap;
pub use ranked::{GOLDEN_RATIO, Inverse, Ranked};
pub use rng::{Purpose, Rng, split_mix};
pub use zoned::Zoned;
