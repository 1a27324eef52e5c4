//! T6 to T9: streams of different heat.

use std::collections::BTreeMap;

use wafer_core::policy::{RuView, VictimPolicy};
use wafer_core::{Device, Geometry, Owner, RuId};
use wafer_lab::theory::split::{optimal_split, sqrt_split};
use wafer_lab::theory::streams::{global_greedy, isolated, mixed_fifo};
use wafer_lab::theory::{Stream, Victim};

use crate::bench::{Bench, HOT_COLD, JESD219, ONE_LOG, config, spare, streams};
use crate::{OPS, check};

const CASES: [(&str, &[(f64, f64)]); 2] = [("80/20", HOT_COLD), ("JESD219", JESD219)];
const GREEDY: Victim = Victim::Greedy { pages_per_ru: 64 };

/// A device with one persistently isolated handle for each of `handles` streams.
fn isolating(rus: u64, handles: usize) -> wafer_core::DeviceConfig {
    let more = format!("handles = {handles}\nisolation = \"persistently\"\ngc.forced_free = 0.0\n");
    config(64, rus, &more)
}

#[test]
fn t6_one_log() {
    for (name, classes) in CASES {
        for op in OPS {
            let theory = mixed_fifo(&streams(classes, 1.0), 1.0 + op).unwrap();
            let config = config(256, 1200, &format!("{ONE_LOG}gc.policy = \"fifo\""));
            let pages = spare(&config, &[0]).fifo_pages(theory) / (1.0 + op);
            let waf = Bench::new(config, pages, classes, false).waf();
            check(&format!("T6 {name}, one FIFO log"), op, theory, waf, 0.02);
        }
    }
}

/// Two reclaim groups of one device: spare pages that cannot move from one stream to the other.
#[test]
fn t7_isolated_groups() {
    for (share, ops) in [(0.5, [0.07, 0.28]), (0.8, [0.14, 0.07]), (0.2, [0.28, 0.14])] {
        let more = "handles = 1\ngroups = 2\ngc.forced_free = 0.0\n";
        let config = config(64, 5000, more);
        let physical = spare(&config, &[0]).physical_pages();
        let pages = ops.map(|op| physical / (1.0 + op));
        let classes = [(share, pages[0], 0), (1.0 - share, pages[1], 1 << 15)];
        let waf = Bench::of(config, &classes).volumes(10.0, 10.0).waf();
        let streams = classes.map(|(share, pages, _)| Stream::new(share, pages));
        let theory = isolated(&streams, &pages.map(|u| physical - u), GREEDY).unwrap();
        check(&format!("T7 two groups, p = {share}, OP {}", ops[1]), ops[0], theory, waf, 0.01);
    }
}

/// Collects from the handle that holds most reclaim units beyond its quota.
struct Quota(BTreeMap<Owner, f64>);

impl VictimPolicy for Quota {
    fn select(&mut self, rus: &mut RuView<'_>) -> Option<RuId> {
        // Closed reclaim units, and the one with the fewest valid pages.
        let mut held: BTreeMap<Owner, (f64, (u32, RuId))> = BTreeMap::new();
        for (ru, valid) in rus.candidates() {
            let (count, least) = held.entry(rus.owner(ru)).or_insert((0.0, (valid, ru)));
            *count += 1.0;
            *least = (*least).min((valid, ru));
        }
        let excess = |(owner, (count, _)): &(&Owner, &(f64, _))| *count - self.0[*owner];
        held.iter().max_by(|a, b| excess(a).total_cmp(&excess(b))).map(|(_, (_, (_, ru)))| *ru)
    }
}

#[test]
fn t8_quotas() {
    for (name, classes) in CASES {
        for op in OPS {
            let mut theory_and_waf = Vec::new();
            for best in [false, true] {
                let config = isolating(2500, classes.len());
                let handles: Vec<u16> = (0..classes.len() as u16).collect();
                let physical = spare(&config, &handles).physical_pages();
                let pages = physical / (1.0 + op);
                let streams = streams(classes, pages);
                let split = match best {
                    true => optimal_split(&streams, physical - pages, GREEDY).unwrap(),
                    false => sqrt_split(&streams, physical - pages).unwrap(),
                };
                let theory = isolated(&streams, &split, GREEDY).unwrap();
                let quota = streams.iter().zip(&split).enumerate().map(|(i, (stream, spare))| {
                    (Owner::Handle(wafer_core::RuhId(i as u16)), (stream.pages + spare) / 64.0)
                });
                let policy = Box::new(Quota(quota.collect()));
                let bench = Bench::new(config, pages, classes, true).volumes(12.0, 8.0);
                let geometry = Geometry::resolve(&bench.config).unwrap();
                let device = Device::with_geometry(geometry, policy, 1, ()).unwrap();
                theory_and_waf.push((theory, bench.counters_of(device).waf()));
            }
            for (split, (theory, waf)) in ["root", "optimal"].iter().zip(theory_and_waf) {
                check(&format!("T8 {name}, {split} quotas"), op, theory, waf, 0.01);
            }
        }
    }
}

#[test]
fn t9_global_greedy() {
    for (name, classes) in CASES {
        for op in OPS {
            let config = isolating(3000, classes.len());
            let handles: Vec<u16> = (0..classes.len() as u16).collect();
            let pages = spare(&config, &handles).physical_pages() / (1.0 + op);
            let waf = Bench::new(config, pages, classes, true).volumes(16.0, 8.0).waf();
            let theory = global_greedy(op, 64).unwrap();
            check(&format!("T9 {name}, global greedy"), op, theory, waf, 0.01);
        }
    }
}
