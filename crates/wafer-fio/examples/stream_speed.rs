//! Measures the nanoseconds per command of each kind of stream.
//!
//!     cargo run --release -p wafer-fio --example stream_speed

use std::hint::black_box;
use std::time::Instant;

use wafer_fio::job::{BlockSize, Direction, Distribution, JobSpec, Order};
use wafer_fio::{JobStream, Mixer, MixerOptions, Pace};
use wafer_interface::{Batch, CommandStream, stream};

const BATCH: usize = 1024;
/// Commands per measurement, and number of measurements. The fastest one counts, because the machine may be busy.
const COMMANDS: usize = 500_000;
const TIMES: usize = 60;
const BLOCK: u64 = 4096;

fn measure_job(name: &str, mut job: JobStream) {
    measure(name, stream::from_fn(move |out, max| job.fill(out, max)));
}

fn measure(name: &str, mut stream: impl CommandStream) {
    let mut best = f64::MAX;
    let mut batch = Batch::with_capacity(BATCH);
    for _ in 0..TIMES {
        let start = Instant::now();
        let mut done = 0;
        while done < COMMANDS {
            batch.clear();
            let _ = stream.next(&mut batch, BATCH);
            done += black_box(&batch).len();
        }
        best = best.min(start.elapsed().as_secs_f64() / done as f64 * 1e9);
    }
    println!("{name:44} {best:6.2} ns");
}

fn job(blocks: u64, order: Order) -> JobSpec {
    let job = JobSpec::synthetic("job", Direction::Write, order, blocks * BLOCK, BLOCK);
    JobSpec { time_based: true, random_map: false, ..job }
}

fn with(blocks: u64, distribution: Distribution) -> JobSpec {
    JobSpec {
        distribution: std::array::from_fn(|_| distribution.clone()),
        ..job(blocks, Order::Random)
    }
}

fn main() {
    let job_stream = |spec: &JobSpec| JobStream::new(spec, 1, 0).expect("a good job");
    for (what, blocks) in [("224 GiB", 58_720_256), ("3.5 TiB", 900_000_000)] {
        println!("{what} of 4 KiB blocks");
        measure_job("sequential", job_stream(&job(blocks, Order::Sequential)));
        measure_job("uniform", job_stream(&with(blocks, Distribution::Uniform)));
        let map = JobSpec { random_map: true, ..with(blocks, Distribution::Uniform) };
        measure_job("random map, first commands of a pass", job_stream(&map));
        if blocks < 100_000_000 {
            let mut late = job_stream(&map);
            let mut out = Vec::new();
            for _ in 0..blocks / 65536 * 95 / 100 {
                out.clear();
                late.fill(&mut out, 65536);
            }
            let mut short = |late: &mut JobStream| {
                let start = Instant::now();
                let mut done = 0;
                while done < 2_500_000 {
                    out.clear();
                    late.fill(&mut out, BATCH);
                    done += out.len();
                }
                start.elapsed().as_secs_f64() / done as f64 * 1e9
            };
            println!("{:44} {:6.2} ns", "random map, last 5 % of a pass", short(&mut late));
        }
        let zones = vec![(80.0, 20.0), (10.0, 20.0), (10.0, 60.0)];
        measure_job(
            "zoned:80/20:10/20:10/60",
            job_stream(&with(blocks, Distribution::Zoned(zones))),
        );
        for theta in [0.5, 0.9, 1.2, 2.2] {
            let zipf = Distribution::Zipf { theta, center: None };
            measure_job(&format!("zipf:{theta}"), job_stream(&with(blocks, zipf)));
        }
        let pareto = Distribution::Pareto { h: 0.2, center: None };
        measure_job("pareto:0.2", job_stream(&with(blocks, pareto)));
        let normal = Distribution::Normal { deviation: 20.0, center: None };
        measure_job("normal:20", job_stream(&with(blocks, normal)));
        let split = BlockSize::Split(vec![(4096, 60.0), (65536, 40.0)]);
        let split = JobSpec {
            block_size: std::array::from_fn(|_| split.clone()),
            ..with(blocks, Distribution::Uniform)
        };
        measure_job("uniform, bssplit (general way)", job_stream(&split));

        let three = || {
            let large = JobSpec {
                block_size: std::array::from_fn(|_| BlockSize::Fixed(128 << 10)),
                ..job(blocks, Order::Sequential)
            };
            let large = JobSpec { name: "a".into(), ..large };
            let small = JobSpec { iodepth: 32, ..with(blocks, Distribution::Uniform) };
            vec![
                large,
                JobSpec { name: "b".into(), ..small.clone() },
                JobSpec { name: "c".into(), ..small },
            ]
        };
        let mix = |pace: &str| {
            let pace = Pace::parse(pace, false).expect("a good pace");
            let options = MixerOptions { pace, until_volume: true, ..Default::default() };
            Mixer::new(three(), &options).expect("good jobs")
        };
        measure("mixer: 3 jobs, closed loop", mix(""));
        measure("mixer: 3 jobs, --pace .58,.21,.21", mix("a=.58,b=.21,c=.21"));
        let one = vec![with(blocks, Distribution::Uniform)];
        let options = MixerOptions { until_volume: true, ..Default::default() };
        measure("mixer: 1 job, uniform", Mixer::new(one, &options).expect("a good job"));
    }
}
