//! Segments of several pages: the page map of labels against a definite place for every page.
//!
//! When the device draws the place of a page of a divided segment, the oracle exchanges two pages. Agreement in every
//! count is the exchange argument of the segment map, executed.

use proptest::prelude::*;
use wafer_device::{DeviceConfig, Separation};
use wafer_interface::{Bytes, Command, Op, Placement};

use crate::agreement::agree;
use crate::configs::{BLOCKS, Case, PAGE, Step, device, placed};
use crate::traffic::mixed;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Two to ten pages in a segment, several steps between comparisons.
    #[test]
    fn segments_of_several_pages(
        config in device(3..16, 128..900u64), volume in 2..6u64,
        runs in (1..60u64, 1..20u64), batch in 1..30usize, seed in any::<u64>(),
    ) {
        let steps = mixed(&config, volume, runs, seed);
        agree(&Case { config, steps, batch, seed })?;
    }
}

/// Rounds of overwrites that leave out one more page of every `period` pages in each round: ever more segments of
/// single pages. Runs of other lengths separate neighbours; mixed traffic before and after divides segments and shows
/// what became of them.
fn thinned(config: &DeviceConfig, period: u64, rounds: u64, run: u64, seed: u64) -> Vec<Step> {
    let all = config.capacity.0 / PAGE / period * period;
    let mut steps = mixed(config, 3, (20, period), seed);
    for round in 0..rounds {
        for first in (0..all).step_by(run as usize) {
            for page in (first..all.min(first + run)).filter(|page| page % period > round) {
                let placement = Placement((page / period / (round + 1)) as u16 % 4);
                let op = if page % 61 == round { Op::Deallocate } else { Op::Write };
                let command = Command::write(page * BLOCKS, BLOCKS as u32, placement);
                steps.push(Step::Command(Command { op, ..command }));
            }
        }
    }
    steps.extend(mixed(config, 1, (2, period), !seed));
    steps
}

/// Devices with little spare space, so that segments reach their limit before reclaim units do; many that separate, as
/// these know when a segment was begun.
fn thin() -> impl Strategy<Value = DeviceConfig> {
    let separation = prop::option::of(prop::sample::select(vec![
        Separation::Sepbit,
        Separation::Midas,
        Separation::MultiLog,
    ]));
    let config = (device(14..18, Just(1024)), separation).prop_map(|(config, separation)| {
        if separation.is_some() { placed(&config, None, separation) } else { config }
    });
    config.prop_filter("little spare", |config| {
        let bytes = config.reclaim_unit.count.unwrap_or_default() * config.reclaim_unit.size.0;
        config.namespaces.is_empty() && bytes < config.capacity.0 * 7 / 4
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn merging(config in thin(), seed in any::<u64>(), run in 1..40u64) {
        let steps = thinned(&config, 16, 11, run, seed);
        agree(&Case { config, steps, batch: 64, seed })?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Labels that merging gives name the same translation pages.
    #[test]
    fn merging_with_a_map_in_flash(config in thin(), seed in any::<u64>(), run in 1..40u64) {
        let mut config = config;
        config.firmware.mapping_entries = 1000;
        config.firmware.mapping_cache = Bytes(3 * PAGE);
        let steps = thinned(&config, 16, 11, run, seed);
        agree(&Case { config, steps, batch: 64, seed })?;
    }
}
