//! Findings about a run with a clock: what its slowest requests wait for, and what keeps the dies busy.

use super::{Cause, Maintenance};
use crate::Summary;
use crate::metrics::Written;
use crate::time::{Direction, Requests, TimeRecord};

/// Candidate percentiles, each with the upper end of the band of slower requests. The highest one with enough requests
/// is used.
const TAILS: [(f64, f64); 3] = [(99.9, 99.99), (99.0, 99.9), (90.0, 99.0)];
/// Minimum number of slower requests for a percentile to be meaningful.
const FEWEST: f64 = 50.0;
/// A tail is explained only if it is at least this multiple of the median.
const TAIL: f64 = 2.0;
/// Minimum share of the dies' time at which the work of the drive for itself is mentioned.
const BACKGROUND: f64 = 0.02;
/// Minimum share of the median latency at which late completions are mentioned.
const LATE: f64 = 0.1;

/// Returns the causes that the times of a run and its counters show.
pub(super) fn causes(time: &TimeRecord, counters: &Summary) -> Vec<Cause> {
    let tails = time.each().filter_map(|(direction, all)| tail(direction, all));
    tails.chain(background(time, counters)).chain(late(time)).collect()
}

fn tail(direction: Direction, requests: &Requests) -> Option<Cause> {
    let median = *requests.percentiles_us.get("50")?;
    let enough = |percent: f64| requests.count as f64 * (1.0 - percent / 100.0) >= FEWEST;
    let (percentile, to) = TAILS.into_iter().find(|(percent, _)| enough(*percent))?;
    let us = *requests.percentiles_us.get(&percentile.to_string())?;
    let band = requests.bands.iter().find(|band| band.from == percentile && band.to == to)?;
    let all: f64 = band.parts_us.values().sum();
    let (part, most) = band.parts_us.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
    let part = part.clone();
    let direction = direction.name().to_owned();
    (us >= TAIL * median && all > 0.0).then(|| Cause::Tail {
        direction,
        percentile,
        us,
        median_us: median,
        part,
        share: most / all,
    })
}

fn late(time: &TimeRecord) -> Option<Cause> {
    let late = |percent| time.late_us.get(percent).copied();
    let (median_us, p99_us) = (late("50")?, late("99")?);
    let medians = time.each().filter_map(|(_, all)| all.percentiles_us.get("50").copied());
    let least = medians.min_by(f64::total_cmp)?;
    (median_us >= LATE * least).then_some(Cause::Late { median_us, p99_us })
}

/// The media model counts all background reads together; the counters of the device show what they are for.
fn background(time: &TimeRecord, s: &Summary) -> Option<Cause> {
    let of = |work: &str| time.dies.get(work).copied().unwrap_or(0.0);
    let some = |pages: Option<u64>| pages.unwrap_or(0) > 0;
    let relocates = s.relocated_pages != Some(0);
    let others = [
        (Written::ReadModifyWrite, some(s.rmw_pages)),
        (Written::Map, some(s.map_reads)),
        (Written::SlcCache, some(s.folded_pages())),
    ];
    let mut reads_for: Vec<Written> =
        others.into_iter().filter_map(|(what, reads)| reads.then_some(what)).collect();
    let collects = relocates || some(s.forced_gc) || some(s.background_gc);
    let (mut gc, mut reads) = (if collects { of("erase") } else { 0.0 }, of("gc_read"));
    gc += if relocates { of("gc_program") } else { 0.0 };
    if reads_for.is_empty() || reads == 0.0 {
        gc += if relocates { std::mem::take(&mut reads) } else { 0.0 };
        (reads, reads_for) = (0.0, Vec::new());
    } else if relocates {
        reads_for.insert(0, Written::Gc);
    }
    let busy = 1.0 - of("idle");
    let maintenance = match (s.maintained_pages.unwrap_or(0), s.relocated_pages.unwrap_or(0)) {
        (0, _) => Maintenance::None,
        (maintained, all) if maintained < all => Maintenance::Some,
        _ => Maintenance::All,
    };
    let cause = Cause::BusyDies { busy, gc, maintenance, reads, reads_for };
    (gc + reads >= BACKGROUND).then_some(cause)
}
