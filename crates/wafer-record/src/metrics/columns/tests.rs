use wafer_interface::{Counters, HandleCounters};

use super::*;
use crate::Summary;
use crate::snapshot::DriveState;

#[test]
fn intervals_end_with_the_run() {
    let timeline = Timeline {
        host_bytes: (1..=205).collect(),
        media_bytes: (1..=205).map(|h| 2 * h).collect(),
        ..Timeline::default()
    };
    let interval = Interval::of(&timeline, 0.05).unwrap();
    assert_eq!((interval.points[0], interval.points.last()), (4, Some(&204)));
    assert_eq!(interval.device.instantaneous.len(), interval.points.len());
    assert!(interval.device.instantaneous.iter().all(|waf| *waf == Some(2.0)));
    assert!(Interval::of(&timeline, 0.001).is_none());
}

#[test]
fn volumes_are_round_and_end_with_the_run() {
    assert_eq!(volumes(4.2), [1.0, 2.0, 3.0, 4.2]);
    assert_eq!(volumes(3.0), [1.0, 2.0, 3.0]);
    assert_eq!(volumes(0.5), [0.5]);
    // One page more than two capacities.
    assert_eq!(volumes(2.00006), [1.0, 2.00006]);
    assert_eq!(volumes(1100.0)[9..], [30.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 1100.0]);
}

#[test]
fn a_live_point_has_the_growth_since_the_one_before() {
    let at = |seconds: f64, host: u64, media: u64| Snapshot {
        seconds,
        counters: Counters { host_bytes: host, media_bytes: media, ..Counters::default() },
        handles: Snapshot::keyed(
            &[HandleCounters { host_bytes: host, media_bytes: media, erased_bytes: 0 }],
            None,
        ),
        ..Snapshot::default()
    };
    let metrics = Metrics::between(&at(1.0, 100, 100), &at(3.0, 200, 400));
    assert_eq!(metrics.device.cumulative, [Some(2.0)]);
    assert_eq!(metrics.device.instantaneous, [Some(3.0)]);
    assert_eq!(metrics.media_bytes_per_second, [Some(150)]);
    let alone = Metrics::between(&at(1.0, 100, 100), &at(2.0, 100, 300));
    assert_eq!((alone.device.instantaneous, alone.device.gc_only), (vec![None], vec![0]));
    // Counters that were reset start from zero.
    let reset = Metrics::between(&at(1.0, 100, 100), &at(2.0, 10, 30));
    assert_eq!(reset.device.instantaneous, [Some(3.0)]);
    // After a reset, counters may exceed their earlier values; those of a drive's life reveal it.
    let of_drive = |host: u64, earlier: u64| {
        let mut snapshot = at(1.0, host, host);
        let lifetime = Summary { host_bytes: earlier + host, ..Summary::default() };
        snapshot.live.drive = Some(DriveState { lifetime, ..DriveState::default() });
        snapshot
    };
    let since = |earlier: u64| of_drive(500, earlier).since(&of_drive(100, 0)).counters.host_bytes;
    assert_eq!((since(0), since(100)), (400, 500));
}
