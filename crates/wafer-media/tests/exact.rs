//! Every completion, every part of its latency and every counter equal the oracle's.

use proptest::prelude::*;
use wafer_interface::{Bytes, GcPacing, MediaWork, OneOrMany, PowerConfig, TimingConfig};
use wafer_media::{Done, Media, MediaCounts, Request, Shape};

use crate::oracle::simulate;
use crate::requests::{Action, actions, requests};

const PAGE: u64 = 4096;

/// 0, or microseconds with nanoseconds.
fn us_or_none(range: std::ops::Range<u64>) -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), range.prop_map(|ns| ns as f64 / 1e3)]
}

fn us(range: std::ops::Range<u64>) -> impl Strategy<Value = f64> {
    range.prop_map(|ns| ns as f64 / 1e3)
}

prop_compose! {
    fn flash()(
        dies in 1..4u32, groups in 1..4u16, planes in 1..4u32, independent_planes in any::<bool>(), pages in 1..4u64,
        cell_bits in 1..4u32,
        reads in prop::collection::vec(us(5_000..90_000), 1..4),
        program_us in us(20_000..900_000), erase_us in us_or_none(100_000..3_000_000),
        block in 1..4u64, slice_us in us_or_none(5_000..200_000), erase_slice_us in us_or_none(20_000..900_000),
        missed_slices in prop_oneof![Just(0.0), Just(0.4)], resume_us in us_or_none(1..20_000),
        channels in 1..4u32,
    ) -> (u16, TimingConfig) {
        let config = TimingConfig {
            dies: dies * u32::from(groups), planes, independent_planes, plane_page: Bytes(pages * PAGE), cell_bits,
            read_us: OneOrMany::Many(reads), program_us, slc_program_us: None, slc_read_us: None, erase_us, block: Bytes(block * 37 * PAGE),
            slice_us, erase_slice_us, missed_slices, resume_us, channels,
            channel_rate: Bytes(0), link_read: Bytes(0), link_write: Bytes(0),
            read_overhead_us: 0.0, write_overhead_us: 0.0, read_iops: None, write_iops: None, command_slots: None, arbitration_burst: None,
            write_buffer: Bytes(0), buffer_protected: true, gc_pacing: GcPacing::Smooth,
            gc_burst: Bytes(0), gc_buffered: false, gc_credit: None, gc_knee: 0.0, gc_host_rate: None, metadata: 0.0,
            power: PowerConfig::default(),
        };
        (groups, config)
    }
}

prop_compose! {
    fn drive()(
        (groups, flash) in flash(),
        rates in prop::array::uniform3(50_000_000..4_000_000_000u64),
        overheads in prop::array::uniform2(us_or_none(1..20_000)),
        iops in prop::array::uniform2(prop::option::of(20_000..2_000_000u64)),
        buffer_programs in 1..8u64, buffer_rest in 0..30u64, buffer_protected in any::<bool>(), gc_buffered in any::<bool>(),
        burst in prop::option::of(1..60u64), credit in prop::option::of(0..40u64),
        gc_knee in prop_oneof![Just(0.0), 0.05..1.0],
        gc_host_rate in prop::option::of(20_000_000..2_000_000_000u64), command_slots in prop::option::of(1..6u32),
        arbitration_burst in prop::option::of(1..5u32),
        metadata in prop_oneof![Just(0.0), 0.0..0.6],
        pages_per_ru in 20..120u32, ru_count in 10..16u32,
        slc in prop::option::of((us(10_000..300_000), us(5_000..60_000))),
    ) -> (Shape, TimingConfig) {
        let write_buffer = Bytes(buffer_programs * flash.program_bytes() + buffer_rest * PAGE);
        let shape = Shape { page_bytes: PAGE, pages_per_ru, ru_count, groups };
        let config = TimingConfig {
            channel_rate: Bytes(rates[0]), link_read: Bytes(rates[1]), link_write: Bytes(rates[2]),
            read_overhead_us: overheads[0], write_overhead_us: overheads[1],
            read_iops: iops[0].map(|iops| iops as f64), write_iops: iops[1].map(|iops| iops as f64),
            command_slots, arbitration_burst, write_buffer, buffer_protected, gc_buffered,
            gc_pacing: if burst.is_some() { GcPacing::Burst } else { GcPacing::Smooth },
            gc_burst: Bytes(burst.unwrap_or(0) * PAGE), gc_credit: credit.map(|pages| Bytes(pages * PAGE)),
            gc_knee, gc_host_rate: gc_host_rate.map(Bytes), metadata,
            slc_program_us: slc.map(|slc| slc.0), slc_read_us: slc.map(|slc| slc.1),
            ..flash
        };
        (shape, config)
    }
}

/// Like [`drive`], with times that are multiples of a few microseconds and transfers that take none, so that many
/// events coincide.
fn coarse_drive() -> impl Strategy<Value = (Shape, TimingConfig)> {
    let coarse = |us: f64| (us / 5.0).ceil() * 5.0;
    drive().prop_map(move |(shape, config)| {
        let read_us = config.read_us.as_slice().iter().map(|us| coarse(*us)).collect();
        let at_once = Bytes(1 << 63);
        let config = TimingConfig {
            read_us: OneOrMany::Many(read_us),
            program_us: coarse(config.program_us),
            slc_program_us: config.slc_program_us.map(coarse),
            slc_read_us: config.slc_read_us.map(coarse),
            erase_us: coarse(config.erase_us),
            slice_us: coarse(config.slice_us),
            erase_slice_us: coarse(config.erase_slice_us),
            resume_us: coarse(config.resume_us),
            channel_rate: at_once,
            link_read: at_once,
            link_write: at_once,
            read_iops: config.read_iops.map(|_| 200_000.0),
            write_iops: config.write_iops.map(|_| 100_000.0),
            gc_host_rate: None,
            ..config
        };
        (shape, config)
    })
}

/// How a caller advances the media.
#[derive(Clone, Copy, Debug)]
enum Calls {
    /// Advances to each submission, then submits.
    ToSubmissions,
    /// Advances from event to event.
    FromEventToEvent,
    /// Advances only to the submission two requests earlier, so that later submissions have not been processed yet.
    TwoBehind,
    /// Submits everything first.
    AllAtOnce,
}

fn run(
    config: &TimingConfig,
    shape: Shape,
    requests: &[(Request, Vec<MediaWork>)],
    calls: Calls,
) -> (Vec<Done>, MediaCounts) {
    let mut media = Media::new(config, shape).unwrap();
    if !matches!(calls, Calls::FromEventToEvent) {
        // From now on, reads may go to the dies ahead of their time.
        media.reset_counts(0);
    }
    let mut done = Vec::new();
    for (number, (request, work)) in requests.iter().enumerate() {
        match calls {
            Calls::TwoBehind => {
                let behind = requests[number.saturating_sub(2)].0.submitted;
                media.advance(behind, &mut done);
            }
            Calls::ToSubmissions => media.advance(request.submitted, &mut done),
            Calls::FromEventToEvent => {
                while let Some(at) = media.next_event().filter(|at| *at <= request.submitted) {
                    media.advance(at, &mut done);
                }
            }
            Calls::AllAtOnce => {}
        }
        media.submit(*request, work);
    }
    media.advance(u64::MAX, &mut done);
    done.sort_by_key(|done| done.request.ticket);
    (done, media.counts())
}

fn check(
    shape: Shape,
    config: &TimingConfig,
    actions: &[(u64, Action)],
) -> Result<(), TestCaseError> {
    let requests = requests(shape, config.slc_program_us.is_some(), actions);
    let (mut expected, counts) = simulate(config, shape, &requests);
    expected.sort_by_key(|done| done.request.ticket);
    prop_assert_eq!(expected.len(), requests.len());
    let all = [Calls::ToSubmissions, Calls::FromEventToEvent, Calls::TwoBehind, Calls::AllAtOnce];
    for calls in all {
        let (done, own) = run(config, shape, &requests, calls);
        prop_assert_eq!(done.len(), requests.len());
        for (own, expected) in done.iter().zip(&expected) {
            prop_assert_eq!(own, expected, "{:?}", calls);
        }
        prop_assert_eq!(own, counts);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_completion_is_that_of_the_oracle((shape, config) in drive(), actions in actions()) {
        check(shape, &config, &actions)?;
    }

    #[test]
    fn so_it_is_when_much_happens_at_once((shape, config) in coarse_drive(), mut actions in actions()) {
        actions.iter_mut().for_each(|(gap, _)| *gap = *gap / 5_000 * 5_000);
        check(shape, &config, &actions)?;
    }
}
