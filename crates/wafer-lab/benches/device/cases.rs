//! What is measured: devices and traffic.

use wafer_core::{Bytes, DeviceConfig, GcConfig, Isolation, ReclaimUnitConfig, ServiceConfig};
use wafer_workload::JobSpec;
use wafer_workload::job::Distribution;

const GIB: u64 = 1 << 30;

pub(crate) struct Case {
    /// For `--only`, the first column and the notes.
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) config: DeviceConfig,
    pub(crate) jobs: Vec<JobSpec>,
    /// Volumes written before measuring, after one sequential fill.
    pub(crate) settle: f64,
    /// The least share of the probe's rate that counts as reached, where one is promised.
    pub(crate) goal: Option<f64>,
}

/// 4 KiB pages, over-provisioning 10 %, greedy, initially isolated: the case of the design's figures.
fn device(capacity: u64, reclaim_unit: u64) -> DeviceConfig {
    DeviceConfig {
        capacity: Bytes(capacity),
        page: Bytes(4096),
        reclaim_unit: ReclaimUnitConfig { size: Bytes(reclaim_unit), count: None },
        overprovisioning: Some(0.10),
        handles: 3,
        groups: 1,
        isolation: Isolation::Initially,
        handle_isolation: Default::default(),
        fdp: true,
        gc: GcConfig::default(),
        namespaces: Vec::new(),
        service: ServiceConfig::default(),
    }
}

/// Independent random writes of `block` bytes over the whole device, without end.
fn random(capacity: u64, block: u64, distribution: Distribution) -> JobSpec {
    let job = JobSpec::random_overwrite(capacity, block, capacity, false);
    JobSpec {
        time_based: true,
        distribution: [distribution.clone(), distribution.clone(), distribution],
        ..job
    }
}

pub(crate) fn all() -> Vec<Case> {
    let capacity = 224 * GIB;
    let of = |name, what, jobs, goal| Case {
        name,
        what,
        config: device(capacity, 256 << 20),
        jobs,
        settle: 3.0,
        goal,
    };
    let uniform = |block| random(capacity, block, Distribution::Uniform);
    let zipf = Distribution::Zipf { theta: 2.2, center: None };
    let hot_cold = Distribution::Zoned(vec![(99.0, 1.0), (1.0, 99.0)]);
    // One page: a region of a single block.
    let hammer = JobSpec { size: 4096, io_size: 4096, ..uniform(4096) };
    let three = vec![
        JobSpec { time_based: true, ..JobSpec::fill(capacity, 128 << 10) }.placed(0),
        uniform(4096).placed(1),
        random(capacity, 4096, Distribution::Zipf { theta: 1.2, center: None }).placed(2),
    ];
    let large = 7_680_000_000_000 / (1 << 30) * (1 << 30);
    vec![
        of("uniform-4k", "uniform random 4 KiB", vec![uniform(4096)], Some(0.6)),
        of("random-128k", "uniform random 128 KiB", vec![uniform(128 << 10)], None),
        of("three-streams", "128 KiB sequential, 4 KiB uniform, 4 KiB zipf 1.2, closed loop", three, None),
        of("zipf-2.2", "zipf 2.2, 4 KiB", vec![random(capacity, 4096, zipf)], Some(0.3)),
        of("hot-cold-99-1", "99 % of the writes on 1 % of the pages, 4 KiB", vec![random(capacity, 4096, hot_cold)], Some(0.3)),
        of("one-page", "a single page over and over, 4 KiB", vec![hammer], Some(0.3)),
        Case {
            name: "large-7.68tb",
            what: "7.68 TB, uniform random 4 KiB",
            config: device(large, 4 * GIB),
            jobs: vec![random(large, 4096, Distribution::Uniform)],
            settle: 0.4,
            goal: None,
        },
    ]
}
