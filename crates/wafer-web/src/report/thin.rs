//! Makes the records of a sweep small enough for one page: brief records, with results computed from the complete ones.

use wafer_record::{Metrics, Record};

/// Number of runs beyond which a page has thinned records.
pub(crate) const MANY: usize = 64;
/// Maximum values in the timeline of a run, over all its series.
const VALUES: usize = 1200;

/// Thins a complete record. Totals, findings and values at round volumes remain those of all samples.
pub(crate) fn thin(mut record: Record) -> Record {
    let findings = record.findings.take();
    let whole = record.metrics.take();
    let mut brief = record.brief(VALUES);
    let volumes = whole.map_or_else(Vec::new, |whole| whole.volumes);
    brief.metrics = Some(Metrics { volumes, intervals: Vec::new(), ..Metrics::of(&brief) });
    brief.findings = findings;
    if let Some(workload) = &mut brief.provenance.workload {
        workload.text.clear();
    }
    brief
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
        let record = thin(record);
        assert_eq!(record.timeline.host_bytes.len(), 300);
        assert_eq!(record.timeline.host_bytes.last(), whole.timeline.host_bytes.last());
        let (metrics, before) = (record.metrics.unwrap(), whole.metrics.unwrap());
        assert!(metrics.volumes.len() >= 3);
        assert_eq!(metrics.volumes, before.volumes);
        assert_eq!(metrics.added_share, before.added_share);
        assert_eq!(metrics.device.cumulative.len(), 300);
        assert_eq!(metrics.device.cumulative.last(), before.device.cumulative.last());
        assert_eq!(record.findings, whole.findings);
    }
}
