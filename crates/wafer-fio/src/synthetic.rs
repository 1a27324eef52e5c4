//! Jobs created in code, for preconditioning and tests without a job file.

use crate::job::{
    BlockSize, DIRECTIONS, Direction, Distribution, JobSpec, Order, PlacementRule, RateProcess,
    Sequencer, Submission,
};

impl JobSpec {
    /// Returns a job over the first `size` bytes of namespace 0 in blocks of `block` bytes, with fio's defaults for
    /// everything else: one pass, random map, QD 1, no placement directive.
    pub fn synthetic(
        name: &str,
        direction: Direction,
        order: Order,
        size: u64,
        block: u64,
    ) -> JobSpec {
        JobSpec {
            name: name.to_owned(),
            instance: 0,
            source: (name.into(), 0),
            phase: 0,
            namespace: 0,
            direction,
            order,
            order_modifier: if order == Order::Random { 1 } else { 0 },
            sequencer: Sequencer::default(),
            read_percent: 50,
            percent_random: [100; DIRECTIONS],
            block_size: std::array::from_fn(|_| BlockSize::Fixed(block)),
            block_size_unaligned: false,
            block_align: [block; DIRECTIONS],
            offset: 0,
            size,
            namespace_bytes: size,
            io_size: size,
            pass_bytes: None,
            number_ios: None,
            loops: 1,
            time_based: false,
            runtime: None,
            ramp_time: 0.0,
            start_delay: 0.0,
            random_map: true,
            distribution: [const { Distribution::Uniform }; DIRECTIONS],
            seed: None,
            random_repeat: true,
            iodepth: 1,
            submission: Submission::Inline,
            reaping: None,
            rate: [None; DIRECTIONS],
            rate_iops: [None; DIRECTIONS],
            rate_process: RateProcess::Linear,
            thinktime_us: 0,
            thinktime_blocks: 1,
            thinktime_issued: false,
            thinkcycles: 0,
            fsync: 0,
            end_fsync: false,
            sync: false,
            latency_target: None,
            steady_state: None,
            flow: None,
            group: 0,
            group_reporting: false,
            exit: None,
            placement: PlacementRule::None,
        }
    }

    /// Returns a job that fills `size` bytes once, in order.
    pub fn fill(size: u64, block: u64) -> JobSpec {
        JobSpec::synthetic("fill", Direction::Write, Order::Sequential, size, block)
    }

    /// Returns a job that writes `bytes` bytes at random over the first `size` bytes: with `random_map`, each block
    /// once per pass and every pass in a different order; otherwise, at independent uniform addresses.
    pub fn random_overwrite(size: u64, block: u64, bytes: u64, random_map: bool) -> JobSpec {
        let job = JobSpec::synthetic("overwrite", Direction::Write, Order::Random, size, block);
        JobSpec { io_size: bytes, random_map, random_repeat: false, ..job }
    }

    /// Returns the same job at `offset` of a namespace.
    pub fn on(self, namespace: u8, offset: u64) -> JobSpec {
        JobSpec { namespace, offset, namespace_bytes: offset + self.size, ..self }
    }

    /// Returns the same job with one placement identifier.
    pub fn placed(self, plid: u16) -> JobSpec {
        JobSpec { placement: PlacementRule::Fixed(plid), ..self }
    }
}
