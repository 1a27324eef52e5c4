use proptest::prelude::*;
use wafer_interface::Op;

use super::*;
use crate::job::{BlockSize, DIRECTIONS, Distribution, PlacementRule, Sequencer};

fn commands(spec: &JobSpec, n: usize) -> Vec<Command> {
    let mut out = Vec::new();
    JobStream::new(spec, 42, 3).unwrap().fill(&mut out, n);
    out
}

fn blocks(spec: &JobSpec) -> Vec<u64> {
    commands(spec, 100_000).iter().map(|c| c.lba / 8).collect()
}

fn job(direction: Direction, order: Order, blocks: u64) -> JobSpec {
    JobSpec::synthetic("test", direction, order, blocks * 4096, 4096)
}

fn random(blocks: u64) -> JobSpec {
    job(Direction::Write, Order::Random, blocks)
}

#[test]
fn a_pass_covers_each_block_once() {
    for n in [1, 7, 64, 1000] {
        let mut found = blocks(&random(n));
        assert_eq!(found.len() as u64, n);
        found.sort_unstable();
        assert!(found.iter().copied().eq(0..n));
    }
}

/// Checked with fio 3.42: with `io_size`, each direction of a mixed job wraps on its own.
#[test]
fn both_directions_of_a_long_job_reach_the_end() {
    let mixed = JobSpec {
        read_percent: 70,
        io_size: 10 * 256 * 4096,
        ..job(Direction::ReadWrite, Order::Sequential, 256)
    };
    for pass_bytes in [None, Some(mixed.io_size)] {
        let all = commands(&JobSpec { pass_bytes, ..mixed.clone() }, 100_000);
        assert_eq!(all.len(), 2560);
        for op in [Op::Read, Op::Write] {
            let blocks = all.iter().filter(|c| c.op == op).map(|c| c.lba / 8);
            assert!(blocks.enumerate().all(|(i, block)| block == i as u64 % 256), "{op:?}");
        }
    }
}

#[test]
fn passes_repeat_only_as_fio_does() {
    let n = 500;
    let three = |repeat, time_based, io_size| {
        let spec = JobSpec {
            random_repeat: repeat,
            time_based,
            io_size: if io_size { 3 * n * 4096 } else { n * 4096 },
            loops: if io_size { 1 } else { 3 },
            ..random(n)
        };
        let all: Vec<u64> = commands(&spec, 3 * n as usize).iter().map(|c| c.lba / 8).collect();
        assert_eq!(all.len(), 3 * n as usize);
        let passes: Vec<Vec<u64>> = all.chunks(n as usize).map(<[u64]>::to_vec).collect();
        for pass in &passes {
            let mut sorted = pass.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..n));
        }
        passes[0] == passes[1] && passes[1] == passes[2]
    };
    assert!(three(true, false, true) && three(true, false, false));
    assert!(!three(false, false, true) && !three(false, false, false));
    assert!(!three(true, true, true), "a time based job goes on with its random numbers");
}

#[test]
fn sequential_jobs() {
    let write = job(Direction::Write, Order::Sequential, 8);
    assert_eq!(blocks(&write), [0, 1, 2, 3, 4, 5, 6, 7]);
    let longer = JobSpec { io_size: 12 * 4096, ..write.clone() };
    assert_eq!(blocks(&longer), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]);
    let gaps = JobSpec { order_modifier: 4096, ..write.clone() };
    assert_eq!(blocks(&gaps), [0, 2, 4, 6, 0, 2, 4, 6]);
    let back = JobSpec { order_modifier: -8192, ..write.clone() };
    assert_eq!(blocks(&back), [0, 6, 5, 4, 3, 2, 1, 0]);
    let endless = JobSpec { time_based: true, ..write.clone() };
    assert_eq!(commands(&endless, 1000).len(), 1000);
    let odd = JobSpec { size: 14 * 1024, io_size: 14 * 1024, loops: 2, ..write };
    assert_eq!(blocks(&odd), [0, 1, 2, 0, 1, 2]);
}

/// Commands with gaps wrap at the end of the device. In a part of the device, the pass ends earlier (counted with fio
/// 3.33).
#[test]
fn gaps_end_a_pass_in_a_part_of_the_device() {
    let of = |gap, size: u64, loops| JobSpec {
        order_modifier: gap,
        size,
        io_size: size,
        loops,
        ..job(Direction::Write, Order::Sequential, 4096)
    };
    for (spec, count) in [
        (of(64 << 10, 8 << 20, 1), 121),
        (of(12 << 10, 8 << 20, 1), 512),
        (of(64 << 10, 2 << 20, 2), 62),
        (of(64 << 10, 16 << 20, 1), 4096),
    ] {
        assert_eq!(commands(&spec, 10_000).len(), count);
        let written = JobStream::new(&spec, 1, 0).unwrap().total_bytes();
        assert_eq!(written, Some(count as u64 * 4096));
    }
}

#[test]
fn totals_as_fio_counts_them() {
    // Size and io_size in blocks, loops, and commands with and without a random map, counted with fio 3.33.
    for (size, io_size, loops, map, free) in [
        (8, 8, 3, 24, 24),
        (8, 24, 1, 24, 24),
        (8, 32, 2, 32, 64),
        (8, 12, 2, 16, 24),
        (16, 4, 3, 12, 12),
        (8, 4, 4, 16, 16),
    ] {
        let spec = JobSpec { io_size: io_size * 4096, loops, ..random(size) };
        assert_eq!(blocks(&spec).len(), map, "{size} {io_size} {loops}");
        let written = JobStream::new(&spec, 0, 0).unwrap().total_bytes().unwrap();
        assert_eq!(written, map as u64 * 4096);
        let spec = JobSpec { random_map: false, ..spec };
        assert_eq!(blocks(&spec).len(), free, "{size} {io_size} {loops} without map");
    }
    let spec = JobSpec { number_ios: Some(10), loops: 2, ..random(16) };
    assert_eq!(blocks(&spec).len(), 20);
}

#[test]
fn trim_then_write() {
    for order in [Order::Random, Order::Sequential] {
        let spec = JobSpec { io_size: 24 * 4096, ..job(Direction::TrimWrite, order, 8) };
        let found = commands(&spec, 1000);
        assert_eq!(found.len(), 48);
        for pair in found.chunks(2) {
            assert_eq!((pair[0].op, pair[1].op), (Op::Deallocate, Op::Write));
            assert_eq!((pair[0].lba, pair[0].blocks), (pair[1].lba, pair[1].blocks));
        }
    }
}

#[test]
fn order_modifier_and_sequencer() {
    let spec = JobSpec { order_modifier: 4, ..random(1000) };
    for four in blocks(&spec).chunks(4).filter(|c| c.len() == 4) {
        // At the end of the region, the run continues at a random block.
        assert!(four.windows(2).all(|w| w[1] == w[0] + 1 || w[0] == 999), "{four:?}");
    }
    let spec = JobSpec { sequencer: Sequencer::Identical, ..spec };
    assert!(blocks(&spec).chunks(4).all(|c| c.iter().all(|b| *b == c[0])));
}

#[test]
fn commands_are_cut_at_blocks_already_visited() {
    let sizes = BlockSize::Range { min: 4096, max: 65536 };
    let spec = JobSpec { block_size: [const { BlockSize::Fixed(4096) }; 3], ..random(5000) };
    let spec = JobSpec { block_size: spec.block_size.map(|_| sizes.clone()), ..spec };
    let mut seen = vec![false; 5000];
    let found = commands(&spec, 10_000);
    for c in &found {
        for b in c.lba / 8..(c.lba + u64::from(c.blocks)) / 8 {
            assert!(!std::mem::replace(&mut seen[b as usize], true), "block {b} twice");
        }
    }
    assert!(seen.iter().all(|s| *s) && found.len() > 5000 / 16);
}

#[test]
fn placements() {
    let of = |placement| -> Vec<u16> {
        let spec = JobSpec { placement, ..job(Direction::Write, Order::Sequential, 8) };
        commands(&spec, 100).iter().map(|c| c.placement.0).collect()
    };
    assert_eq!(of(PlacementRule::None), [u16::MAX; 8]);
    assert_eq!(of(PlacementRule::Fixed(3)), [3; 8]);
    assert_eq!(of(PlacementRule::RoundRobin(vec![1, 2, 5])), [1, 2, 5, 1, 2, 5, 1, 2]);
    let random = of(PlacementRule::Random(vec![1, 2]));
    assert!(random.contains(&1) && random.contains(&2));
    let ranges = vec![(4096, 12288, 6), (8192, 16384, 7)];
    let scheme = PlacementRule::Scheme { ranges, plids: vec![2] };
    assert_eq!(of(scheme), [2, 6, 6, 7, 2, 2, 2, 2]);
    let read = job(Direction::Read, Order::Sequential, 8).placed(3);
    assert!(commands(&read, 9).iter().all(|c| c.placement == wafer_interface::Placement::NONE));
}

#[test]
fn impossible_jobs_name_themselves() {
    let spec = JobSpec { size: 100, source: ("a.fio".into(), 7), ..random(8) };
    let error = JobStream::new(&spec, 0, 0).unwrap_err().to_string();
    assert_eq!(error, "a.fio:7: job `test`: size: 100 bytes are less than one block");
    let distribution = [const { Distribution::Zipf { theta: 1.0, center: None } }; 3];
    let error = JobStream::new(&JobSpec { distribution, ..random(8) }, 0, 0).unwrap_err();
    assert!(error.to_string().contains("random_distribution: zipf:1"), "{error}");
}

fn any_job() -> impl Strategy<Value = JobSpec> {
    let direction = prop_oneof![
        3 => Just(Direction::Write),
        1 => Just(Direction::Read),
        1 => Just(Direction::Trim),
        2 => Just(Direction::ReadWrite),
        1 => Just(Direction::TrimWrite),
    ];
    let size = prop_oneof![
        3 => Just(BlockSize::Fixed(4096)),
        1 => Just(BlockSize::Range { min: 4096, max: 20480 }),
        1 => Just(BlockSize::Split(vec![(4096, 50.0), (16384, 30.0), (8192, 20.0)])),
    ];
    let distribution = prop_oneof![
        4 => Just(Distribution::Uniform),
        1 => Just(Distribution::Zipf { theta: 1.2, center: None }),
        1 => Just(Distribution::Pareto { h: 0.2, center: Some(0.3) }),
        1 => Just(Distribution::Normal { deviation: 20.0, center: Some(0.2) }),
        1 => Just(Distribution::Zoned(vec![(60.0, 20.0), (40.0, 80.0)])),
    ];
    let numbers = (1..300u64, 1..900u64, 1..4u64, prop::option::of(1..700u64), any::<u64>());
    let order = prop_oneof![3 => Just(Order::Random), 1 => Just(Order::Sequential)];
    let flags = (any::<[bool; 4]>(), prop_oneof![3 => Just(100u8), 1 => 0..=100u8], order);
    (direction, size, distribution, numbers, flags, 0..4i64).prop_map(
        |(
            direction,
            size,
            distribution,
            (n, io, loops, ios, seed),
            (flags, share, order),
            every,
        )| {
            let base = job(direction, order, n + 5);
            JobSpec {
                order_modifier: if order == Order::Random { every.max(1) } else { every * 4096 },
                block_size: std::array::from_fn(|_| size.clone()),
                distribution: std::array::from_fn(|_| distribution.clone()),
                io_size: if flags[0] { io * 4096 } else { (n + 5) * 4096 },
                pass_bytes: (seed % 2 == 0 && direction != Direction::TrimWrite)
                    .then_some((n + 5) * 4096),
                loops,
                number_ios: ios,
                time_based: flags[1],
                random_map: flags[2],
                random_repeat: flags[3],
                percent_random: [share; DIRECTIONS],
                offset: 8192,
                seed: Some(seed),
                placement: PlacementRule::RoundRobin(vec![0, 1, 2]),
                ..base
            }
        },
    )
}

proptest! {
    #[test]
    fn batches_do_not_matter(spec in any_job()) {
        let stream = JobStream::new(&spec, 1, 2).unwrap();
        let take = |mut stream: JobStream, batch: usize| {
            let mut out = Vec::new();
            while out.len() < 4096 {
                let before = out.len();
                stream.fill(&mut out, batch.min(4096 - before));
                if out.len() == before {
                    break;
                }
            }
            out
        };
        let whole = take(stream.clone(), 4096);
        prop_assert_eq!(&whole, &take(stream.clone(), 1));
        prop_assert_eq!(&whole, &take(stream.clone(), 7));
        // The fast path generates the same commands as the general one.
        prop_assert_eq!(&whole, &take(JobStream { plain: None, ..stream }, 4096));
        let (low, high) = (spec.offset / 512, (spec.offset + spec.size) / 512);
        for c in &whole {
            prop_assert!(c.lba >= low && c.lba + u64::from(c.blocks) <= high && c.blocks > 0);
        }
        prop_assert!(!whole.is_empty());
        prop_assert!(!spec.time_based || whole.len() == 4096);
    }
}
