//! Options of a run of jobs.

use wafer_interface::ServiceConfig;

use super::pace::Pace;

/// How a [`Mixer`](super::Mixer) runs its jobs.
#[derive(Clone, Debug, Default)]
pub struct MixerOptions {
    /// Seed of the run; every job derives its own from it.
    pub seed: u64,
    /// Service times of the closed loop.
    pub service: ServiceConfig,
    /// Shares of the bytes.
    pub pace: Pace,
    /// Whether the run ends by volume: jobs of the last phase that are limited by time, or only by `size`, continue
    /// until then.
    pub until_volume: bool,
    /// Skips jobs that only read. The others issue the same commands in order, unless shares or `flow` couple them.
    pub without_reads: bool,
}
