//! Compares the distributions of commands with those of the real fio, which must be installed.
//!
//! Both sides have fixed seeds, so a test that passes keeps passing.

use crate::fio::{Io, commands_of_jobs, counts, fio, ours, same_counts, same_distribution, share};
use wafer_fio::job::{BlockSize, Direction, Distribution, JobSpec, Order, Sequencer};
use wafer_fio::{Mixer, MixerOptions};
use wafer_fio_file::{JobFile, Target};
use wafer_interface::Op;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn job(direction: Direction, order: Order, size: u64) -> JobSpec {
    JobSpec::synthetic("job", direction, order, size, 4096)
}

fn random(size: u64) -> JobSpec {
    job(Direction::Write, Order::Random, size)
}

fn with(distribution: Distribution, spec: JobSpec) -> JobSpec {
    let distribution = std::array::from_fn(|_| distribution.clone());
    JobSpec { distribution, random_map: false, ..spec }
}

fn sizes(size: BlockSize, spec: JobSpec) -> JobSpec {
    JobSpec { block_size: std::array::from_fn(|_| size.clone()), ..spec }
}

fn blocks(ios: &[Io]) -> Vec<u64> {
    ios.iter().map(|io| io.at / 4096).collect()
}

/// Distance from the end of each command to the start of the next, bytes.
fn gaps(ios: &[Io]) -> Vec<i64> {
    ios.windows(2).map(|w| w[1].at as i64 - (w[0].at + w[0].bytes) as i64).collect()
}

/// Lengths of runs of commands that follow each other without a gap.
fn runs(ios: &[Io]) -> Vec<usize> {
    let mut runs = vec![1];
    for gap in gaps(ios) {
        match runs.last_mut() {
            Some(last) if gap == 0 => *last += 1,
            _ => runs.push(1),
        }
    }
    runs
}

/// Jobs without random numbers issue the same commands, address for address.
#[test]
fn sequential_jobs_are_fios() {
    let write = || job(Direction::Write, Order::Sequential, 64 * KIB);
    let modified = |order_modifier| JobSpec { order_modifier, ..write() };
    for (options, spec) in [
        ("--rw=write --bs=4k --size=64k", write()),
        ("--rw=write --bs=4k --size=64k --loops=3", JobSpec { loops: 3, ..write() }),
        ("--rw=write --bs=4k --size=64k --io_size=80k", JobSpec { io_size: 80 * KIB, ..write() }),
        (
            "--rw=write --bs=4k --size=64k --io_size=16k --loops=3",
            JobSpec { io_size: 16 * KIB, loops: 3, ..write() },
        ),
        ("--rw=write:4k --bs=4k --size=64k", modified(4096)),
        ("--rw=write:12k --bs=4k --size=64k", modified(3 * 4096)),
        ("--rw=write:-8k --bs=4k --size=64k", modified(-8192)),
        ("--rw=write:-16k --bs=4k --size=64k", modified(-16384)),
        (
            "--rw=write:-8k --bs=4k --size=64k --offset=32k",
            JobSpec { offset: 32 * KIB, namespace_bytes: 1 << 30, ..modified(-8192) },
        ),
        (
            "--rw=write:-8k --bs=4k --size=64k --offset=96k",
            JobSpec { offset: 96 * KIB, namespace_bytes: 1 << 30, ..modified(-8192) },
        ),
        ("--rw=read --bs=4k --size=64k", JobSpec { direction: Direction::Read, ..write() }),
        ("--rw=trim --bs=4k --size=64k", JobSpec { direction: Direction::Trim, ..write() }),
        (
            "--rw=trimwrite --bs=4k --size=64k",
            JobSpec { direction: Direction::TrimWrite, ..write() },
        ),
        (
            "--rw=write --bs=4k --size=14k --loops=2",
            JobSpec { size: 14 * KIB, io_size: 14 * KIB, loops: 2, ..write() },
        ),
        (
            "--rw=write --bs=4k --size=64k --number_ios=9",
            JobSpec { number_ios: Some(9), ..write() },
        ),
    ] {
        assert_eq!(ours(&spec, 10_000), fio(options), "{options}");
    }
}

/// The number of commands of a job, by `size`, `io_size`, `loops` and `number_ios`.
#[test]
fn jobs_end_where_fios_do() {
    for (size, io_size, loops, ios) in [
        (32, 32, 3, 0),
        (32, 96, 1, 0),
        (32, 128, 2, 0),
        (32, 48, 2, 0),
        (32, 80, 2, 0),
        (64, 16, 3, 0),
        (32, 16, 4, 0),
        (64, 64, 2, 10),
    ] {
        for map in [true, false] {
            let flag = if map { "" } else { "--norandommap" };
            let limit = if ios > 0 { format!("--number_ios={ios}") } else { String::new() };
            let io = if io_size == size { String::new() } else { format!("--io_size={io_size}k") };
            let options = format!(
                "--rw=randwrite --bs=4k --size={size}k {io} --loops={loops} {limit} {flag}"
            );
            let spec = JobSpec {
                io_size: io_size * KIB,
                loops,
                number_ios: (ios > 0).then_some(ios),
                random_map: map,
                ..random(size * KIB)
            };
            assert_eq!(ours(&spec, 10_000).len(), fio(&options).len(), "{options}");
        }
    }
}

/// Jobs issue commands in proportion to their weights, whatever else they do. The pauses keep fio's last job from doing
/// much after the others have ended.
#[test]
fn jobs_of_a_flow_share_as_fios() {
    let text = "[global]\nioengine=null\nsize=1g\nbs=4k\nnorandommap\nthread\ntime_based\nruntime=1\nthinktime=300\n\
                [a]\nrw=randwrite\nflow=1\n[b]\nrw=randread\nbs=64k\nflow=8\n[c]\nrw=randwrite\nflow=3\n";
    let counts = commands_of_jobs(text);
    let target =
        Target { namespace_bytes: vec![1 << 30], namespace_handles: vec![1], page_bytes: 4096 };
    let jobs = JobFile::parse(text, "jobs.fio").unwrap().resolve(&target).unwrap().jobs;
    let mut commands = Vec::new();
    Mixer::new(jobs, &MixerOptions::default()).unwrap().fill(&mut commands, 3600);
    let ours = [Op::Write, Op::Read].map(|op| commands.iter().filter(|c| c.op == op).count());
    assert!(ours[0].abs_diff(1200) < 5 && ours[1].abs_diff(2400) < 5, "{ours:?}");
    let [a, b, c] = counts.iter().map(|n| *n as f64).collect::<Vec<_>>()[..] else {
        panic!("{counts:?}")
    };
    assert!(a > 20.0 && (b / a - 8.0).abs() < 0.5 && (c / a - 3.0).abs() < 0.2, "{counts:?}");
}

/// Each pass covers each block once, in the same order as the pass before, unless `randseed` is given.
#[test]
fn the_random_map_covers_and_repeats() {
    let n = 4096;
    let spec = JobSpec { loops: 3, ..random(n as u64 * 4096) };
    let options = "--rw=randwrite --bs=4k --size=16m --loops=3";
    let no_repeat = JobSpec { random_repeat: false, ..spec.clone() };
    for (ios, repeats) in [
        (fio(options), true),
        (ours(&spec, 1 << 20), true),
        (fio(&format!("{options} --randseed=11")), false),
        (ours(&no_repeat, 1 << 20), false),
    ] {
        let all = blocks(&ios);
        assert_eq!(all.len(), 3 * n);
        let passes: Vec<&[u64]> = all.chunks(n).collect();
        for pass in &passes {
            let mut pass = pass.to_vec();
            pass.sort_unstable();
            assert!(pass.into_iter().eq(0..n as u64));
        }
        assert_eq!(passes[0] == passes[1] && passes[1] == passes[2], repeats);
    }
}

/// A time-based job also covers the region pass after pass, but never in the same order.
#[test]
fn time_based_passes_go_on_with_their_random_numbers() {
    let n = 4096;
    let options = "--rw=randwrite --bs=4k --size=16m --time_based --runtime=1 --rate_iops=20000";
    let spec = JobSpec { time_based: true, ..random(n as u64 * 4096) };
    for ios in [fio(options), ours(&spec, 4 * n)] {
        let all = blocks(&ios);
        assert!(all.len() > 2 * n, "only {} commands in a second", all.len());
        let passes: Vec<&[u64]> = all.chunks_exact(n).collect();
        for pass in &passes {
            let mut pass = pass.to_vec();
            pass.sort_unstable();
            assert!(pass.into_iter().eq(0..n as u64));
        }
        assert!(passes.windows(2).all(|w| w[0] != w[1]));
    }
}

/// A random start, then the next free block: early in a pass, late in it, and at its end.
#[test]
fn the_random_map_orders_blocks_alike() {
    let theirs = fio("--rw=randwrite --bs=4k --size=256m --randseed=5");
    let mine = ours(&random(256 * MIB), 1 << 20);
    let n = mine.len();
    assert_eq!(theirs.len(), n);
    for (what, from, to) in
        [("first", 0, n / 4), ("middle", n / 4, n * 3 / 4), ("late", n * 9 / 10, n)]
    {
        same_distribution(
            &format!("{what}, gaps"),
            &gaps(&theirs[from..to]),
            &gaps(&mine[from..to]),
        );
        // Late in a pass, the free blocks form clusters, so their positions are not an independent sample.
        if what == "first" {
            same_distribution(what, &blocks(&theirs[from..to]), &blocks(&mine[from..to]));
        }
        let (a, b) = (runs(&theirs[from..to]), runs(&mine[from..to]));
        same_counts(&format!("{what}, runs"), &counts(a.into_iter()), &counts(b.into_iter()));
    }
    // The length of runs of neighbours when hardly any block is free.
    let (a, b) = (runs(&theirs[n * 98 / 100..]), runs(&mine[n * 98 / 100..]));
    same_distribution("end, runs", &a, &b);
}

/// Commands larger than the smallest size are cut short at a block that the map already has.
#[test]
fn the_random_map_cuts_commands_alike() {
    let theirs = fio("--rw=randwrite --bsrange=4k-64k --size=512m --randseed=5");
    let range = BlockSize::Range { min: 4096, max: 65536 };
    let mine = ours(&sizes(range, random(512 * MIB)), 1 << 20);
    let ratio = theirs.len() as f64 / mine.len() as f64;
    assert!((0.98..1.02).contains(&ratio), "{} and {} commands", theirs.len(), mine.len());
    for (what, part) in [("first", 0..5), ("second", 5..10), ("last", 15..20), ("all", 0..20)] {
        let cut = |ios: &[Io]| {
            let n = ios.len();
            counts(ios[n * part.start / 20..n * part.end / 20].iter().map(|io| io.bytes))
        };
        same_counts(&format!("{what} sizes"), &cut(&theirs), &cut(&mine));
    }
}

#[test]
fn uniform_addresses_without_a_map() {
    let theirs = fio("--rw=randwrite --bs=4k --size=16m --io_size=1g --norandommap");
    let mine = ours(&JobSpec { random_map: false, io_size: 1 << 30, ..random(16 * MIB) }, 1 << 20);
    assert_eq!(theirs.len(), mine.len());
    same_counts("blocks", &counts(blocks(&theirs).into_iter()), &counts(blocks(&mine).into_iter()));
    same_distribution("gaps", &gaps(&theirs), &gaps(&mine));
}

/// Given the center, nothing depends on a seed, so the hottest block must be the same one, and every other block as hot
/// as in fio.
#[test]
fn skewed_addresses_are_fios_block_by_block() {
    let some = Some(0.0);
    for (option, distribution) in [
        ("zipf:1.2:0.0", Distribution::Zipf { theta: 1.2, center: some }),
        ("zipf:0.8:0.3", Distribution::Zipf { theta: 0.8, center: Some(0.3) }),
        ("zipf:2.2:0.0", Distribution::Zipf { theta: 2.2, center: some }),
        ("pareto:0.2:0.0", Distribution::Pareto { h: 0.2, center: some }),
        ("pareto:0.9:0.7", Distribution::Pareto { h: 0.9, center: Some(0.7) }),
        ("normal:10", Distribution::Normal { deviation: 10.0, center: None }),
        ("normal:40:0.2", Distribution::Normal { deviation: 40.0, center: Some(0.2) }),
    ] {
        let rest = "--rw=randwrite --bs=4k --size=30m --io_size=640m --random_distribution";
        let theirs = fio(&format!("{rest}={option}"));
        let spec = JobSpec { io_size: 640 * MIB, ..random(30 * MIB) };
        let mine = ours(&with(distribution, spec), 1 << 20);
        assert_eq!(theirs.len(), mine.len());
        let (a, b) = (counts(blocks(&theirs).into_iter()), counts(blocks(&mine).into_iter()));
        same_counts(option, &a, &b);
        // The number of writes of each block, hottest first.
        let ranks = |c: &std::collections::BTreeMap<u64, u64>| {
            let mut ranks: Vec<u64> = c.values().copied().collect();
            ranks.sort_unstable_by(|x, y| y.cmp(x));
            ranks
        };
        let (ra, rb) = (ranks(&a), ranks(&b));
        for (x, y) in ra.iter().zip(&rb).take(50) {
            let limit = 5.0 * ((x + y) as f64).sqrt();
            assert!((*x as f64 - *y as f64).abs() < limit, "{option}: {x} and {y}");
        }
        if option.starts_with("zipf") || option.starts_with("pareto:0.2") {
            let hottest = |c: &std::collections::BTreeMap<u64, u64>| {
                c.iter().max_by_key(|e| *e.1).map(|e| *e.0)
            };
            assert_eq!(hottest(&a), hottest(&b), "{option}");
        }
        // The hash leaves the same blocks without a write.
        let (x, y) = (a.len() as f64, b.len() as f64);
        assert!((x - y).abs() < 2.0 * (x + y).sqrt(), "{option}: {x} and {y} different blocks");
    }
}

/// Without a center, the hottest block is anywhere, but the others lie around it as in fio.
#[test]
fn zipf_without_a_center_is_only_moved() {
    let theirs =
        fio("--rw=randwrite --bs=4k --size=30m --io_size=512m --random_distribution=zipf:1.2");
    let zipf = Distribution::Zipf { theta: 1.2, center: None };
    let mine = ours(&with(zipf, JobSpec { io_size: 512 * MIB, ..random(30 * MIB) }), 1 << 20);
    let n = 30 * MIB / 4096;
    let moved = |ios: &[Io]| {
        let all = counts(blocks(ios).into_iter());
        let hottest = all.iter().max_by_key(|e| *e.1).map(|e| *e.0).expect("some block");
        counts(blocks(ios).into_iter().map(|b| (b + n - hottest) % n))
    };
    same_counts("moved", &moved(&theirs), &moved(&mine));
}

#[test]
fn zones_get_their_shares() {
    let percent = vec![(80.0, 20.0), (10.0, 20.0), (10.0, 60.0)];
    let absolute = vec![(60.0, MIB), (30.0, 3 * MIB), (10.0, 16 * MIB)];
    for (option, distribution, ends) in [
        ("zoned:80/20:10/20:10/60", Distribution::Zoned(percent), [0.8, 0.1, 0.1]),
        ("zoned_abs:60/1m:30/3m:10/16m", Distribution::ZonedAbs(absolute), [0.6, 0.3, 0.1]),
    ] {
        let rest = "--rw=randwrite --bs=4k --size=20m --io_size=1g --random_distribution";
        let theirs = fio(&format!("{rest}={option}"));
        let mine =
            ours(&with(distribution, JobSpec { io_size: 1 << 30, ..random(20 * MIB) }), 1 << 20);
        same_counts(
            option,
            &counts(blocks(&theirs).into_iter()),
            &counts(blocks(&mine).into_iter()),
        );
        let borders = if option.starts_with("zoned:") { [1024, 2048] } else { [256, 1024] };
        for ios in [&theirs, &mine] {
            let zone = |b: &u64| borders.iter().filter(|e| *b >= **e).count();
            for (i, expected) in ends.into_iter().enumerate() {
                let hits = blocks(ios).iter().filter(|b| zone(b) == i).count();
                share(option, hits, ios.len(), expected);
            }
        }
    }
}

#[test]
fn block_sizes_get_their_shares() {
    let split = BlockSize::Split(vec![(4096, 60.0), (65536, 30.0), (16384, 10.0)]);
    let range = BlockSize::Range { min: 4096, max: 40960 };
    let odd = BlockSize::Range { min: 4096, max: 10240 };
    for (option, size) in [
        ("--bssplit=4k/60:64k/30:16k/10", split),
        ("--bsrange=4k-40k", range),
        ("--bsrange=4k-10k", odd),
    ] {
        let rest = "--size=64m --io_size=2g --norandommap";
        let theirs = fio(&format!("--rw=randwrite {option} {rest}"));
        let spec = JobSpec { random_map: false, io_size: 2 << 30, ..random(64 * MIB) };
        let mine = ours(&sizes(size.clone(), spec), 1 << 20);
        let bytes = |ios: &[Io]| counts(ios.iter().map(|io| io.bytes));
        same_counts(option, &bytes(&theirs), &bytes(&mine));
        let ratio = theirs.len() as f64 / mine.len() as f64;
        assert!((0.99..1.01).contains(&ratio), "{option}: {ratio}");
        // Sequential jobs draw sizes as well.
        let theirs = fio(&format!("--rw=write {option} --size=256m"));
        let mine = ours(&sizes(size, job(Direction::Write, Order::Sequential, 256 * MIB)), 1 << 20);
        same_counts(option, &bytes(&theirs), &bytes(&mine));
        assert!(mine.windows(2).all(|w| w[1].at == w[0].at + w[0].bytes));
    }
}

#[test]
fn reads_and_writes_mix_alike() {
    for percent in [50, 70, 95, 3] {
        let options = format!(
            "--rw=randrw --bs=4k --size=64m --io_size=512m --norandommap --rwmixread={percent}"
        );
        let theirs = fio(&options);
        let spec = JobSpec {
            read_percent: percent,
            random_map: false,
            io_size: 512 * MIB,
            ..job(Direction::ReadWrite, Order::Random, 64 * MIB)
        };
        let mine = ours(&spec, 1 << 20);
        for ios in [&theirs, &mine] {
            let reads = ios.iter().filter(|io| io.op == Op::Read).count();
            share(&options, reads, ios.len(), f64::from(percent) / 100.0);
        }
        let same_op = |ios: &[Io]| {
            let mut runs = vec![1];
            for w in ios.windows(2) {
                match runs.last_mut() {
                    Some(last) if w[0].op == w[1].op => *last += 1,
                    _ => runs.push(1),
                }
            }
            counts(runs.into_iter())
        };
        same_counts(&options, &same_op(&theirs), &same_op(&mine));
    }
    // Reads and writes share the map: each block is read or written once.
    let both = job(Direction::ReadWrite, Order::Random, 16 * MIB);
    for ios in [fio("--rw=randrw --bs=4k --size=16m"), ours(&both, 1 << 20)] {
        let mut all = blocks(&ios);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..4096));
    }
}

#[test]
fn random_and_sequential_parts_alike() {
    let run = |options: &str, spec: JobSpec| {
        let (theirs, mine) = (fio(options), ours(&spec, 1 << 20));
        assert_eq!(theirs.len(), mine.len(), "{options}");
        same_counts(options, &counts(runs(&theirs).into_iter()), &counts(runs(&mine).into_iter()));
        same_distribution(options, &gaps(&theirs), &gaps(&mine));
    };
    let rest = "--bs=4k --size=256m --norandommap --randseed=3";
    let free = || JobSpec { random_map: false, ..random(256 * MIB) };
    for percent in [30, 80] {
        let options = format!("--rw=randwrite --percentage_random={percent} {rest}");
        run(&options, JobSpec { percent_random: [percent; 3], ..free() });
    }
    run(&format!("--rw=randwrite:8 {rest}"), JobSpec { order_modifier: 8, ..free() });
    let identical = JobSpec { order_modifier: 4, sequencer: Sequencer::Identical, ..free() };
    run(&format!("--rw=randwrite:4 --rw_sequencer=identical {rest}"), identical);
    // With the map: sequential parts neither consult nor update it.
    let mapped = JobSpec { percent_random: [50; 3], ..random(256 * MIB) };
    run("--rw=randwrite --bs=4k --size=256m --percentage_random=50 --randseed=3", mapped);
}

#[test]
fn trims_come_before_their_writes() {
    let spec = job(Direction::TrimWrite, Order::Random, 16 * MIB);
    for ios in [fio("--rw=randtrimwrite --bs=4k --size=16m"), ours(&spec, 1 << 20)] {
        assert_eq!(ios.len(), 8192);
        for pair in ios.chunks(2) {
            assert_eq!((pair[0].op, pair[1].op), (Op::Deallocate, Op::Write));
            assert_eq!((pair[0].at, pair[0].bytes), (pair[1].at, pair[1].bytes));
        }
        let mut all = blocks(&ios);
        all.sort_unstable();
        assert!(all.into_iter().eq((0..4096).flat_map(|b| [b, b])));
    }
}

/// `offset` and `blockalign`.
#[test]
fn regions_and_alignment() {
    let options =
        "--rw=randwrite --bs=8k --blockalign=4k --norandommap --offset=8m --size=4m --io_size=256m";
    let theirs = fio(options);
    let spec = JobSpec {
        offset: 8 * MIB,
        block_align: [4096; 3],
        random_map: false,
        io_size: 256 * MIB,
        ..random(4 * MIB)
    };
    let mine = ours(&sizes(BlockSize::Fixed(8192), spec), 1 << 20);
    assert_eq!(theirs.len(), mine.len());
    same_counts(options, &counts(blocks(&theirs).into_iter()), &counts(blocks(&mine).into_iter()));
}
