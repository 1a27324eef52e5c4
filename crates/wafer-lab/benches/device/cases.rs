//! The devices and traffic of the benchmark.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use wafer_device::{DeviceConfig, GcConfig, Isolation, ReclaimUnitConfig};
use wafer_fio::job::Distribution;
use wafer_fio::{JobSpec, Mixer, MixerOptions};
use wafer_interface::{
    Batch, Bytes, Command, CommandStream, Completion, Figure, LBA_BYTES, Placement, ServiceConfig,
    StreamDescription, StreamState,
};

const GIB: u64 = 1 << 30;

pub(crate) struct Case {
    /// Name for `--only`, the first column and the notes.
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) config: DeviceConfig,
    pub(crate) traffic: Traffic,
    /// Capacities written before measuring, after one sequential fill.
    pub(crate) warm_up: f64,
    /// The promised minimum share of the probe's rate, if there is one.
    pub(crate) goal: Option<f64>,
}

/// The source of commands.
pub(crate) enum Traffic {
    /// fio jobs, generated as in `wafer run`.
    Jobs(Vec<JobSpec>),
    /// Independent uniform writes of this many bytes, drawn as cheaply as the probe draws, so that the device remains.
    Uniform(u64),
}

impl Traffic {
    pub(crate) fn stream(&self, capacity: u64) -> Box<dyn CommandStream> {
        match self {
            Traffic::Jobs(jobs) => {
                let options = MixerOptions { seed: 1, until_volume: true, ..Default::default() };
                Box::new(Mixer::new(jobs.clone(), &options).expect("a valid workload"))
            }
            Traffic::Uniform(block) => Box::new(Uniform::new(capacity, *block)),
        }
    }
}

/// Endless independent uniform writes. With [`stream::from_fn`](wafer_interface::stream::from_fn), the compiler's code
/// for the closure would make this case 5 % slower, although the device does the same work.
struct Uniform {
    rng: Xoshiro256PlusPlus,
    /// Logical blocks of a write.
    blocks: u32,
    /// Number of writes that fit on the device.
    count: u64,
}

impl Uniform {
    fn new(capacity: u64, block: u64) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        Uniform { rng, blocks: (block / LBA_BYTES) as u32, count: capacity / block }
    }
}

impl CommandStream for Uniform {
    fn description(&self) -> StreamDescription {
        StreamDescription {
            identifiers: false,
            queue_depth: 1,
            loads: false,
            timed: false,
            waits: false,
        }
    }

    fn load(&mut self, _: &mut Batch, _: usize) -> StreamState {
        StreamState::Ended
    }

    fn next(&mut self, batch: &mut Batch, max: usize) -> StreamState {
        let end = batch.len() + max;
        batch.commands.extend((0..max).map(|_| {
            let block = (u128::from(self.rng.next_u64()) * u128::from(self.count)) >> 64;
            Command::write(block as u64 * u64::from(self.blocks), self.blocks, Placement(0))
        }));
        batch.state_at(end)
    }

    fn completed(&mut self, _: &[Completion]) {}

    fn figures(&self) -> Vec<Figure> {
        Vec::new()
    }
}

/// The configuration of the design's figures: 4 KiB pages, over-provisioning 10 %, greedy, initially isolated.
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
        streams: 0,
        gc: GcConfig::default(),
        namespaces: Vec::new(),
        timing: None,
        endurance: None,
        firmware: wafer_interface::FirmwareConfig::default(),
        service: ServiceConfig::default(),
    }
}

/// Endless independent random writes of `block` bytes over the whole device.
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
    let of = |name, what, traffic, goal| Case {
        name,
        what,
        config: device(capacity, 256 << 20),
        traffic,
        warm_up: 3.0,
        goal,
    };
    let jobs = |jobs: Vec<JobSpec>| Traffic::Jobs(jobs);
    let uniform = |block| random(capacity, block, Distribution::Uniform);
    let zipf = |theta| random(capacity, 4096, Distribution::Zipf { theta, center: None });
    let hot_cold = Distribution::Zoned(vec![(99.0, 1.0), (1.0, 99.0)]);
    // A region of a single block, which is one page.
    let hammer = JobSpec { size: 4096, io_size: 4096, ..uniform(4096) };
    let sequential = JobSpec { time_based: true, ..JobSpec::fill(capacity, 128 << 10) };
    let three = vec![sequential.placed(0), uniform(4096).placed(1), zipf(1.2).placed(2)];
    let large = 7_680_000_000_000 / GIB * GIB;
    let hot = "99 % of the writes on 1 % of the pages, fio job";
    vec![
        of("uniform", "uniform 4 KiB", Traffic::Uniform(4096), Some(0.6)),
        of("uniform-job", "uniform 4 KiB, fio job", jobs(vec![uniform(4096)]), None),
        of("large-blocks", "uniform 128 KiB", Traffic::Uniform(128 << 10), None),
        of(
            "three",
            "128 KiB sequential, 4 KiB uniform, 4 KiB zipf 1.2, fio jobs",
            jobs(three),
            None,
        ),
        of("zipf", "4 KiB zipf 2.2, fio job", jobs(vec![zipf(2.2)]), Some(0.3)),
        of("hot-cold", hot, jobs(vec![random(capacity, 4096, hot_cold)]), Some(0.3)),
        of("one-page", "one page over and over, fio job", jobs(vec![hammer]), Some(0.3)),
        Case {
            name: "large",
            what: "7.68 TB, uniform 4 KiB",
            config: device(large, 4 * GIB),
            traffic: Traffic::Uniform(4096),
            warm_up: 0.4,
            goal: None,
        },
    ]
}
