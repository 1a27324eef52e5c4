//! Findings that follow from the counters of any record.

use super::{AttributionRecord, Beside, Cause, HandleCost, HandleKey, Record, ratio};
use serde_json::Value;

use crate::Series;
use crate::metrics::parts;

/// Below this share of the host writes, additional writes need no explanation.
const NEGLIGIBLE: f64 = 0.005;
/// Below this share of the host writes, additional writes are few.
const FEW: f64 = 0.1;
/// Minimum share of all relocated bytes at which data relocated again is mentioned.
const AGAIN: f64 = 0.1;
/// The last tenth of a run is mentioned if its WAF exceeds that of the whole run by this factor.
const RISING: f64 = 1.05;
/// A timeline with fewer points has no last tenth worth mentioning ...
const FEWEST_POINTS: usize = 20;
/// ... nor has a run with fewer collections.
const FEWEST_COLLECTIONS: u64 = 200;
/// The costliest handle is named if it costs at least this many times as much as the next one.
const LEAD: f64 = 1.25;
/// Pages written in part are mentioned above this share of the host's pages.
const PARTIAL: f64 = 0.01;

/// Returns the causes that the counters show. The costs of handles come from the attribution if there is one.
pub(super) fn causes(record: &Record, attribution: Option<&AttributionRecord>) -> Vec<Cause> {
    let s = &record.summary;
    let mut causes = Vec::new();
    if let (Some(_), Some(rejected), Some(commands)) = (s.mostly_rejected(), s.rejected, s.commands)
    {
        causes.push(Cause::MostlyRejected { rejected, commands });
    }
    if s.host_bytes == 0 {
        causes.push(Cause::NothingWritten);
        return causes;
    }
    let events = record.events();
    if events.invalid_placement_identifier > 0 {
        causes.push(Cause::UnknownPlacement { writes: events.invalid_placement_identifier });
    }
    if s.wear.as_ref().is_some_and(|wear| wear.read_only) {
        let device_writes = ratio(s.host_bytes, record.logical_bytes());
        causes.push(Cause::ReadOnly { host_bytes: s.host_bytes, device_writes });
    }
    let (waf, added) = (ratio(s.media_bytes, s.host_bytes), record.added_bytes());
    if ratio(added, s.host_bytes) < FEW {
        causes.push(Cause::Clean { waf });
    } else {
        let (share, parts) = (ratio(added, s.media_bytes), parts(record));
        causes.push(Cause::AddedWrites { waf, share, bytes: added, parts });
    }
    causes.extend(adaptive(record));
    if ratio(added, s.host_bytes) < NEGLIGIBLE {
        return causes;
    }
    causes.extend(victims(record));
    causes.extend(streams(record, attribution, added));
    causes.extend(rising(record, waf));
    // A cache also programs pages that do not leave it.
    let pages = s.host_pages.unwrap_or(0).max(s.cache_pages.unwrap_or(0));
    let partial = ratio(s.rmw_pages.unwrap_or(0), pages);
    if partial > PARTIAL {
        causes.push(Cause::PartialWrites { share: partial });
    }
    if events.implicitly_modified_ruh > 0 {
        causes.push(Cause::Spilled { segments: events.implicitly_modified_ruh });
    }
    causes.extend(beside(record));
    causes
}

/// Returns the causes of writes other than host data and garbage collection.
fn beside(record: &Record) -> Vec<Cause> {
    let s = &record.summary;
    let page = record.provenance.geometry.as_ref().map_or(0, |g| g.page_bytes);
    let kinds = [
        (Beside::Parity, s.parity_pages),
        (Beside::SlcCache, s.folded_pages()),
        (Beside::Maintenance, s.maintained_pages),
    ];
    let mut causes: Vec<Cause> = kinds
        .into_iter()
        .filter_map(|(kind, pages)| Some((kind, ratio(pages? * page, s.host_bytes))))
        .filter(|(_, waf)| *waf > NEGLIGIBLE)
        .map(|(what, waf)| Cause::Beside { what, waf })
        .collect();
    causes
        .extend(mapping_table(record).filter(|(waf, _)| *waf > NEGLIGIBLE).map(|(_, cause)| cause));
    let retired = s.wear.as_ref().map_or(0, |wear| wear.retired);
    if let (1.., Some(geometry)) = (retired, &record.provenance.geometry) {
        causes.push(Cause::Retired { units: retired, of: u64::from(geometry.ru_count) });
    }
    causes
}

/// Returns what a map that is only partly in memory adds to the WAF, and the cause.
fn mapping_table(record: &Record) -> Option<(f64, Cause)> {
    let (s, geometry) = (&record.summary, record.provenance.geometry.as_ref()?);
    let firmware = record.firmware()?;
    let page = geometry.page_bytes;
    let waf = ratio(s.map_pages? * page, s.host_bytes);
    let reads = ratio(s.map_reads.unwrap_or(0), s.host_pages.unwrap_or(0));
    let map_bytes = geometry.logical_pages.div_ceil(firmware.entries(page).max(1)) * page;
    let cache_bytes = firmware.mapping_cache.0;
    Some((waf, Cause::MappingTable { waf, reads, map_bytes, cache_bytes }))
}

fn adaptive(record: &Record) -> Option<Cause> {
    let last = record.arrangements.last()?;
    // Arrangements count whole pages.
    let page = record.provenance.geometry.as_ref().map(|geometry| geometry.page_bytes);
    let pages = record.summary.host_pages.zip(page).map(|(pages, page)| pages * page);
    let written = pages.unwrap_or(record.summary.host_bytes);
    Some(Cause::Adaptive {
        arrangement: last.to_string(),
        share: ratio(written.saturating_sub(last.host_bytes), written),
        changes: record.arrangements.len() as u64 - 1,
    })
}

/// Returns the number of reclaim units collected, if they are counted.
fn collected(record: &Record) -> Option<u64> {
    let s = &record.summary;
    Some(s.forced_gc? + s.background_gc? + s.maintained_rus.unwrap_or(0))
}

fn victims(record: &Record) -> Option<Cause> {
    let (s, collected) = (&record.summary, collected(record)?);
    let pages = u64::from(record.provenance.geometry.as_ref()?.pages_per_ru);
    (collected > 0)
        .then(|| ratio(s.relocated_pages.unwrap_or(0), collected * pages))
        .map(|valid_share| Cause::Victims { valid_share })
}

fn streams(record: &Record, attribution: Option<&AttributionRecord>, added: u64) -> Vec<Cause> {
    let jobs = |name: &str| -> Vec<String> {
        let jobs = record.provenance.workload.iter().flat_map(|w| &w.jobs);
        let writes = |handles: &[u16]| handles.iter().any(|handle| handle.to_string() == name);
        jobs.filter(|job| writes(&job.handles)).map(|job| job.name.clone()).collect()
    };
    let (_, mut written) = super::costs(record, attribution);
    let handles = sharing(record, attribution, &written);
    let shared = HandleKey::Gc.to_string();
    written.retain(|cost| cost.host_bytes > 0 && cost.handle != shared);
    written.sort_by(|a, b| b.moved_share.total_cmp(&a.moved_share));
    let mut causes = Vec::new();
    let groups = record.provenance.geometry.as_ref().map_or(1, |geometry| geometry.groups);
    match &written[..] {
        [] => {}
        // Without relocation, data was not mixed.
        [_] if record.summary.relocated_pages == Some(0) => {}
        // Each job may write to its own group.
        [HandleCost { handle, .. }] if groups > 1 && jobs(handle).len() > 1 => {}
        [HandleCost { handle, .. }] => {
            let config = record.provenance.config.as_ref();
            let fdp = config.and_then(|c| c.get("fdp")?.as_bool()).unwrap_or(true);
            causes.push(Cause::OneStream { handle: handle.clone(), fdp, jobs: jobs(handle) });
        }
        _ if attribution.is_none() && record.unites_writes() => {}
        // If several handles cost about the same, none stands out.
        [most, next, ..]
            if most.moved_share > 0.0 && most.moved_share >= LEAD * next.moved_share =>
        {
            let attributed = attribution.is_some();
            causes.push(Cause::CostliestHandle {
                handle: most.handle.clone(),
                attributed,
                moved_share: match attributed {
                    true => most.moved_share,
                    false => ratio(most.moved_bytes, added),
                },
                partial: !attributed && record.summary.rmw_pages.unwrap_or(0) > 0,
                host_share: ratio(most.host_bytes, record.summary.host_bytes),
                waf: most.waf.unwrap_or(1.0),
                jobs: jobs(&most.handle),
            });
        }
        _ => {}
    }
    let again = record.timeline.handles.get(&HandleKey::Gc).map_or(0, Series::moved);
    if ratio(again, added) > AGAIN {
        causes.push(Cause::RelocatedAgain { share: ratio(again, added), handles });
    }
    causes
}

/// Returns how many initially isolated handles have relocated data in the same reclaim units; 0 if that is unknown.
fn sharing(record: &Record, attribution: Option<&AttributionRecord>, costs: &[HandleCost]) -> u64 {
    let groups = record.provenance.geometry.as_ref().map_or(1, |geometry| geometry.groups);
    // Counters do not distinguish groups, and pages written in part also add to the bytes of a handle.
    let padded = attribution.is_none() && record.summary.rmw_pages.unwrap_or(0) > 0;
    if groups > 1 || padded {
        return 0;
    }
    let key = |key| record.provenance.config.as_ref()?.get(key);
    let is_initial = |handle: &str| {
        let own = key("handle_isolation").and_then(|all| all.get(handle));
        own.or(key("isolation")).and_then(Value::as_str) != Some("persistently")
    };
    let shared = HandleKey::Gc.to_string();
    let moved = costs.iter().filter(|cost| cost.handle != shared && cost.moved_share > 0.0);
    moved.filter(|cost| is_initial(&cost.handle)).count() as u64
}

fn rising(record: &Record, whole: f64) -> Option<Cause> {
    let (host, media) = (&record.timeline.host_bytes, &record.timeline.media_bytes);
    let points = host.len();
    if points < FEWEST_POINTS || collected(record).is_some_and(|count| count < FEWEST_COLLECTIONS) {
        return None;
    }
    let from = points * 9 / 10;
    let grown = host[points - 1].saturating_sub(host[from]);
    let waf = ratio(media[points - 1].saturating_sub(media[from]), grown);
    (waf > whole * RISING).then_some(Cause::Rising { waf })
}

/// Returns the relocated bytes and the cost of each handle, as far as the counters show them.
pub(super) fn costs(record: &Record) -> (u64, Vec<HandleCost>) {
    let handles = &record.timeline.handles;
    let page = record.provenance.geometry.as_ref().map(|g| g.page_bytes);
    let all: u64 = handles.values().map(Series::moved).sum();
    let relocated = match (record.summary.relocated_pages, page) {
        (Some(pages), Some(page)) => pages * page,
        _ => record.added_bytes(),
    };
    let cost = |(key, s): (&HandleKey, &Series)| HandleCost {
        handle: key.to_string(),
        host_bytes: s.end().0,
        sequential_share: None,
        waf: (s.end().0 > 0).then(|| ratio(s.end().1, s.end().0)),
        moved_share: ratio(s.moved(), all),
        caused_share: None,
        own_cause: None,
        collected: None,
        empty: None,
        moved_bytes: s.moved(),
    };
    (relocated, handles.iter().map(cost).collect())
}
