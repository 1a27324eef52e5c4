use super::*;

#[derive(serde::Deserialize)]
struct Vector {
    name: String,
    limit: f64,
    host_bytes: Vec<u64>,
    media_bytes: Vec<u64>,
    cumulative: Vec<Option<f64>>,
    instantaneous: Vec<Option<f64>>,
    clamped: Vec<Option<f64>>,
}

#[test]
fn agrees_with_vectors_worked_out_by_hand() {
    let text = include_str!("vectors.json");
    let vectors: Vec<Vector> = serde_json::from_str(text).unwrap();
    assert!(vectors.len() >= 4);
    for v in vectors {
        let ratios = |wafs: Vec<Waf>| wafs.into_iter().map(Waf::ratio).collect::<Vec<_>>();
        assert_eq!(ratios(cumulative(&v.host_bytes, &v.media_bytes)), v.cumulative, "{}", v.name);
        let between = instantaneous(&v.host_bytes, &v.media_bytes);
        let clamped: Vec<_> = between.iter().map(|w| w.clamped(v.limit)).collect();
        assert_eq!(ratios(between), v.instantaneous, "{}", v.name);
        assert_eq!(clamped, v.clamped, "{}", v.name);
    }
}

#[test]
fn a_sparkline_keeps_the_peak_of_each_group() {
    let values = [Some(1.0), Some(1.0), Some(8.0), Some(1.0), None, None];
    assert_eq!(sparkline(&values, 3), "▁█ ");
    assert_eq!(sparkline(&values, 80).chars().count(), 6);
    assert_eq!(sparkline(&[], 10), "");
    assert_eq!(sparkline(&[Some(1.0), Some(1.0)], 10), "▁▁");
}

/// The history of a drive may begin at any volume. Its writes before that are not spread evenly.
#[test]
fn volumes_before_the_first_sample_have_no_waf() {
    let record: crate::Record = serde_json::from_value(serde_json::json!({
        "schema": "wafer.result/1",
        "name": "late",
        "provenance": {
            "version": "0.1.0", "started": "2026-01-01T00:00:00Z", "config": null, "seed": null,
            "measured": {
                "device": "/dev/nvme0", "model": null, "serial": null, "firmware": null, "capacity_bytes": 1000,
                "source": "fdp", "endurance_group": 1, "nvme_cli": "nvme version 2.13", "interval_seconds": 1,
                "command": [], "exit_status": null, "missed": 0, "wraps": 0, "resets": [],
            },
        },
        "summary": { "host_bytes": 5000, "media_bytes": 12000, "erased_bytes": 0, "waf": 2.4 },
        "timeline": {
            "host_bytes": [2000, 5000], "media_bytes": [6000, 12000], "seconds": [1.0, 2.0], "handles": {},
        },
    }))
    .unwrap();
    let volumes = Metrics::of(&record).volumes;
    let found: Vec<_> = volumes.iter().map(|at| (at.volume, at.waf)).collect();
    assert_eq!(found, [(2.0, 3.0), (3.0, 2.666667), (5.0, 2.4)]);
}
