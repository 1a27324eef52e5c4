//! A storage and a clock for tests, which `wafer-target` uses too.

mod clock;
mod faulty;

pub(crate) use clock::ManualClock;
pub(crate) use faulty::FaultyStorage;
