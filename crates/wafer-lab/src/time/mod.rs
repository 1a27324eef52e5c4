//! Runs with a clock: hosts submit commands in model time, the device does its work, and the media reports when each
//! command completes.
//!
//! The device executes commands in the order of their submission, exactly as without a clock: the same commands in
//! the same order give the same counters.

mod drive;

pub(crate) use drive::TimedRun;

#[cfg(test)]
mod tests;
