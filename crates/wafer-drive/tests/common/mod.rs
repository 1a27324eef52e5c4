//! A storage and a clock for tests, which `wafer-target` uses too.

mod clock;
mod faulty;

pub(crate) use clock::ManualClock;
#[allow(unused_imports)]
pub(crate) use faulty::{FaultyStorage, Operation};
