//! Reproducible random numbers for workloads.
//!
//! # What it is
//! [`Rng`] is one stream of random numbers for one [`Purpose`] of one job or application. [`Ranked`] draws from a
//! skewed distribution over ranks, [`Normal`] and [`Zoned`] from fio's other distributions. [`RandomMap`] records the
//! visited blocks of a region, so that each pass visits every block once.
//!
//! # Invariants
//! The same seed and purpose give the same numbers on every platform.
//!
//! # Error model
//! Only zones are validated here, when they are created. The caller checks all other parameters.

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
