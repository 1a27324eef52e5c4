//! Runs with a clock: hosts submit commands in model time, the device executes them, and the media model reports when
//! each command completes.
//!
//! The device executes commands in order of submission, exactly as without a clock: the same commands in the same order
//! give the same counters.

mod drive;

pub(crate) use drive::TimedRun;

#[cfg(test)]
mod tests;
