//! Makes the records of a sweep small enough for one page: curves of a hundred points, no maps, no texts.

use wafer_record::time::TimeSeries;
use wafer_record::{Metrics, Record};

/// A page of more runs has thinned records.
pub(crate) const MANY: usize = 64;
/// Points that a curve keeps.
const POINTS: usize = 100;

/// Thins a complete record. Totals, findings and values at round volumes stay those of all samples.
pub(crate) fn thin(record: &mut Record) {
    record.reclaim_units = None;
    if let Some(workload) = &mut record.provenance.workload {
        workload.text.clear();
    }
    if let Some(time) = &mut record.time {
        time.series = TimeSeries::default();
        for requests in [&mut time.read, &mut time.write].into_iter().flatten() {
            requests.histogram.clear();
        }
        time.jobs.clear();
        time.handles.clear();
        time.namespaces.clear();
    }
    for published in &mut record.published {
        keep(&mut published.host_bytes);
        keep(&mut published.waf);
    }
    if record.timeline.host_bytes.len() <= POINTS {
        return;
    }
    let timeline = &mut record.timeline;
    keep(&mut timeline.host_bytes);
    keep(&mut timeline.media_bytes);
    keep(&mut timeline.erased_bytes);
    keep(&mut timeline.seconds);
    for series in timeline.handles.values_mut() {
        keep(&mut series.host_bytes);
        keep(&mut series.media_bytes);
    }
    if let Some(whole) = record.metrics.take() {
        let mut metrics = Metrics::of(record);
        metrics.volumes = whole.volumes;
        metrics.intervals.clear();
        record.metrics = Some(metrics);
    }
}

/// Keeps evenly spaced values, the last one among them.
fn keep<T>(column: &mut Vec<T>) {
    let length = column.len();
    let every = length.div_ceil(POINTS).max(1);
    let mut index = 0;
    column.retain(|_| {
        index += 1;
        (length - index).is_multiple_of(every)
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn totals_and_round_volumes_stay_and_curves_are_short() {
        let host: Vec<u64> = (1..=1000).map(|i| i * 1_000_000).collect();
        let media: Vec<u64> = host.iter().map(|h| h + h * h / 1_000_000_000).collect();
        let mut record: Record = serde_json::from_value(json!({
            "schema": "wafer.result/1", "name": "a",
            "provenance": { "geometry": { "page_bytes": 4096, "logical_pages": 61_035, "pages_per_ru": 1, "ru_count": 1,
                "groups": 1, "forced_free": 1, "background_free": 1, "overprovisioning": 0.1 } },
            "summary": { "host_bytes": host.last(), "media_bytes": media.last(), "erased_bytes": 0, "waf": 2.0 },
            "timeline": { "host_bytes": host, "media_bytes": media,
                "handles": { "0": { "host_bytes": host, "media_bytes": media } } },
        }))
        .unwrap();
        record.complete();
        let whole = record.clone();
        thin(&mut record);
        assert_eq!(record.timeline.host_bytes.len(), 100);
        assert_eq!(record.timeline.host_bytes.last(), whole.timeline.host_bytes.last());
        let (metrics, before) = (record.metrics.unwrap(), whole.metrics.unwrap());
        assert!(metrics.volumes.len() >= 3);
        assert_eq!(metrics.volumes, before.volumes);
        assert_eq!(metrics.added_share, before.added_share);
        assert_eq!(metrics.device.cumulative.len(), 100);
        assert_eq!(metrics.device.cumulative.last(), before.device.cumulative.last());
        assert_eq!(record.findings, whole.findings);
    }
}
