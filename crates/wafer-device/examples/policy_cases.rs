//! Runs policies on small devices with simple streams within seconds, for use while changing a policy. `wafer compare`
//! does the same with any workload, `scripts/policies-matrix` with many.
//!
//! cargo run --release -p wafer-device --example policy_cases -- greedy,gittins z14,z7
//!
//! Prints for each policy the WAF of the whole run (of the last three device writes for isolated classes), that of the
//! last two device writes, and the time in seconds.

use std::time::Instant;

use wafer_device::{Device, DeviceConfig, GcConfig, Isolation, ReclaimUnitConfig};
use wafer_interface::{Bytes, Command, Placement, ServiceConfig};

/// Number of logical reclaim units, pages of a reclaim unit, and bytes of a page.
const RUS: u64 = 1792;
const PAGES: u64 = 128;
const PAGE: u64 = 32768;

/// Returns a random number below `bound`, by SplitMix64.
fn below(state: &mut u64, bound: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(z ^ (z >> 31)) * u128::from(bound)) >> 64) as u64
}

/// The law by which the next page of a range is chosen.
#[derive(Clone)]
enum Law {
    Sequential,
    Uniform,
    /// For each zone in order, its share of the writes and of the range.
    Zoned(&'static [(f64, f64)]),
    /// Zipf by rank, after Gray et al. (SIGMOD '94), as fio does; ranks are spread over the range.
    Zipf {
        pages: u64,
        theta: f64,
        zeta: f64,
        eta: f64,
    },
}

fn zipf(pages: u64, theta: f64) -> Law {
    let zeta: f64 = (1..=pages).map(|rank| (rank as f64).powf(-theta)).sum();
    let two = 1.0 + 0.5f64.powf(theta);
    let eta = (1.0 - (2.0 / pages as f64).powf(1.0 - theta)) / (1.0 - two / zeta);
    Law::Zipf { pages, theta, zeta, eta }
}

impl Law {
    fn draw(&self, pages: u64, state: &mut u64) -> u64 {
        let mut unit = || below(state, 1 << 53) as f64 / (1u64 << 53) as f64;
        match self {
            Law::Sequential | Law::Uniform => below(state, pages),
            Law::Zoned(zones) => {
                let (mut u, mut at) = (unit(), 0.0);
                for (writes, share) in *zones {
                    if u < *writes {
                        return ((at + share * u / writes) * pages as f64) as u64 % pages;
                    }
                    u -= writes;
                    at += share;
                }
                pages - 1
            }
            Law::Zipf { pages, theta, zeta, eta } => {
                let u = unit();
                let rank = if u * zeta < 1.0 {
                    0
                } else if u * zeta < 1.0 + 0.5f64.powf(*theta) {
                    1
                } else {
                    (*pages as f64 * (eta * u - eta + 1.0).powf(1.0 / (1.0 - theta))) as u64
                };
                (rank % pages).wrapping_mul(0x9e37_79b9_7f4a_7c15) % pages
            }
        }
    }
}

/// A stream: its share of the pages written, its range as shares of the capacity, its handle.
#[derive(Clone)]
struct Stream(f64, f64, f64, u16, Law);

struct Case {
    name: &'static str,
    /// Over-provisioning.
    op: f64,
    fdp: bool,
    isolation: Isolation,
    /// Ranges and handles of the sequential fill.
    fill: Vec<(f64, f64, u16)>,
    /// The length of each phase in device writes, and its streams.
    phases: Vec<(f64, Vec<Stream>)>,
    /// Device writes before counting begins.
    skip: usize,
}

/// WARP's three streams: one sequential over 90 %, one random over the same range, and one random over the rest.
fn three(name: &'static str, op: f64, fdp: bool, law: &Law, handles: [u16; 3]) -> Case {
    let [first, second, third] = handles;
    let rest = match law {
        Law::Zipf { theta, .. } => zipf(RUS * PAGES / 10, *theta),
        _ => Law::Uniform,
    };
    let streams = vec![
        Stream(0.58, 0.0, 0.9, first, Law::Sequential),
        Stream(0.21, 0.0, 0.9, third, law.clone()),
        Stream(0.21, 0.9, 1.0, second, rest),
    ];
    Case {
        name,
        op,
        fdp,
        isolation: Isolation::Initially,
        fill: vec![(0.0, 0.9, first), (0.9, 1.0, second)],
        phases: vec![(9.0, streams)],
        skip: 0,
    }
}

/// Persistently isolated handles over consecutive ranges.
fn handles(name: &'static str, widths: &[f64], phases: Vec<(f64, Vec<(f64, Law)>)>) -> Case {
    let ranges: Vec<(f64, f64, u16)> = (0..widths.len())
        .map(|i| (widths[..i].iter().sum(), widths[..=i].iter().sum(), i as u16))
        .collect();
    let streams = |laws: Vec<(f64, Law)>| {
        let all = laws.into_iter().zip(&ranges).filter(|((share, _), _)| *share > 0.0);
        all.map(|((share, law), (from, to, handle))| Stream(share, *from, *to, *handle, law))
            .collect()
    };
    let phases = phases.into_iter().map(|(volume, laws)| (volume, streams(laws))).collect();
    let (op, isolation) = (0.14, Isolation::Persistently);
    Case { name, op, fdp: true, isolation, fill: ranges, phases, skip: 0 }
}

fn isolated(name: &'static str, op: f64, classes: &[(f64, f64)]) -> Case {
    let widths: Vec<f64> = classes.iter().map(|(_, width)| *width).collect();
    let laws = classes.iter().map(|(share, _)| (*share, Law::Uniform)).collect();
    Case { op, skip: 9, ..handles(name, &widths, vec![(12.0, laws)]) }
}

fn cases() -> Vec<Case> {
    use Law::{Sequential, Uniform};
    let zoned = Law::Zoned(&[(0.8, 0.2), (0.1, 0.2), (0.1, 0.6)]);
    let zipf = zipf(RUS * PAGES * 9 / 10, 1.2);
    let jesd = [(0.5, 0.05), (0.3, 0.15), (0.2, 0.8)];
    let eighty = [(0.8, 0.2), (0.2, 0.8)];
    let bursts = || [(0.7, vec![(1.0, Uniform)]), (0.3, vec![(0.0, Uniform), (1.0, Sequential)])];
    let swap = |i: usize| {
        let share = [0.9, 0.1][i % 2];
        (4.0, vec![(share, Uniform), (1.0 - share, Uniform)])
    };
    let phase = |i: usize| (4.0, vec![(0.5, [Sequential, Uniform][i % 2].clone()), (0.5, Uniform)]);
    let ninety = vec![(0.5, Uniform), (0.1, Uniform), (0.4, Sequential)];
    let noisy = vec![(0.4, Uniform), (0.3, Uniform), (0.2, Sequential), (0.1, Sequential)];
    let stops = vec![(4.0, vec![(0.6, Uniform), (0.4, Sequential)]), (6.0, vec![(1.0, Uniform)])];
    vec![
        three("z14", 0.14, true, &zoned, [0, 1, 2]),
        three("z7", 0.07, true, &zoned, [0, 1, 2]),
        three("zshare", 0.14, true, &zoned, [0, 1, 0]),
        three("znofdp", 0.14, false, &zoned, [0, 0, 0]),
        three("u14", 0.14, true, &Uniform, [0, 1, 2]),
        three("zipf12", 0.14, true, &zipf, [0, 1, 2]),
        isolated("i80-7", 0.07, &eighty),
        isolated("i80-14", 0.14, &eighty),
        isolated("i80-28", 0.28, &eighty),
        isolated("jesd-7", 0.07, &jesd),
        isolated("jesd-14", 0.14, &jesd),
        isolated("jesd-28", 0.28, &jesd),
        handles("uni", &[1.0], vec![(9.0, vec![(1.0, Uniform)])]),
        handles("bursts", &[0.7, 0.3], (0..12).flat_map(|_| bursts()).collect()),
        handles("swap", &[0.5, 0.5], (0..3).map(swap).collect()),
        handles("phase", &[0.6, 0.4], (0..3).map(phase).collect()),
        handles("90seq", &[0.1, 0.5, 0.4], vec![(10.0, ninety)]),
        handles("noisy2", &[0.2, 0.3, 0.4, 0.1], vec![(10.0, noisy)]),
        handles("stops", &[0.4, 0.6], stops),
    ]
}

/// Returns the WAF while counting, that of the last two device writes, and the seconds.
fn run(case: &Case, policy: &str) -> (f64, f64, f64) {
    let config = DeviceConfig {
        capacity: Bytes(RUS * PAGES * PAGE),
        page: Bytes(PAGE),
        reclaim_unit: ReclaimUnitConfig {
            size: Bytes(PAGES * PAGE),
            count: Some((RUS as f64 * (1.0 + case.op)) as u64),
        },
        overprovisioning: None,
        handles: 8,
        groups: 1,
        isolation: case.isolation,
        handle_isolation: Default::default(),
        fdp: case.fdp,
        streams: 0,
        gc: GcConfig { policy: policy.to_owned(), ..GcConfig::default() },
        namespaces: Vec::new(),
        timing: None,
        endurance: None,
        firmware: wafer_interface::FirmwareConfig::default(),
        service: ServiceConfig::default(),
    };
    let mut device = Device::new(&config, 1).unwrap_or_else(|error| panic!("{error}"));
    let blocks = PAGE / 512;
    let handle = |handle: u16| Placement(if case.fdp { handle } else { 0 });
    let write = |page, pages: u64, to| Command::write(page * blocks, (pages * blocks) as u32, to);
    let total = RUS * PAGES;
    let page = |share: f64| (share * RUS as f64 * PAGES as f64) as u64;
    let begun = Instant::now();
    for (from, to, owner) in &case.fill {
        let (mut at, end) = (page(*from), page(*to));
        while at < end {
            let pages = 32.min(end - at);
            device.apply(&[write(at, pages, handle(*owner))]);
            at += pages;
        }
    }
    let (mut state, mut done) = (7920u64, 0u64);
    let mut places = [0u64; 8];
    // Counters at the start and after each quarter of a device write.
    let mut marks = vec![device.counters()];
    let mut commands = Vec::new();
    let mut end = 0;
    for (volume, streams) in &case.phases {
        end += (volume * total as f64) as u64;
        let mut due = vec![0.0; streams.len()];
        while done < end {
            let next = (0..due.len()).min_by(|a, b| f64::total_cmp(&due[*a], &due[*b]));
            let next = next.expect("a phase has streams");
            let Stream(share, from, to, owner, law) = &streams[next];
            let (from, to) = (page(*from), page(*to));
            let pages = if let Law::Sequential = law {
                let place = &mut places[usize::from(*owner)];
                let at = from + *place;
                let pages = 32.min(to - at);
                *place = (*place + pages) % (to - from);
                commands.push(write(at, pages, handle(*owner)));
                pages
            } else {
                let at = from + law.draw(to - from, &mut state);
                commands.push(write(at, 1, handle(*owner)));
                1
            };
            due[next] += pages as f64 / share;
            done += pages;
            let mark = done >= marks.len() as u64 * total / 4;
            if commands.len() >= 1024 || mark {
                device.apply(&commands);
                commands.clear();
            }
            if mark {
                marks.push(device.counters());
            }
        }
    }
    device.apply(&commands);
    let counters = device.counters();
    let since = |mark: usize| {
        let media = counters.media_bytes - marks[mark].media_bytes;
        media as f64 / (counters.host_bytes - marks[mark].host_bytes) as f64
    };
    let seconds = begun.elapsed().as_secs_f64();
    (since(4 * case.skip), since(marks.len().saturating_sub(9)), seconds)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let policies = arguments.next().unwrap_or_else(|| "greedy,gittins".to_owned());
    let names = arguments.next().unwrap_or_else(|| "all".to_owned());
    println!("{:10}{}", "", policies.split(',').map(|p| format!("{p:>24}")).collect::<String>());
    for case in cases() {
        if names != "all" && !names.split(',').any(|name| name == case.name) {
            continue;
        }
        print!("{:10}", case.name);
        for policy in policies.split(',') {
            let (waf, late, seconds) = run(&case, policy);
            print!("  {waf:7.3} {late:7.3} {seconds:5.1}s");
        }
        println!();
    }
}
