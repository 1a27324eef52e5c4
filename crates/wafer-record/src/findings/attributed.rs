//! Findings from the attribution of a record.
//!
//! Two of them are named in "Characterizing and Emulating FDP SSDs with WARP" (FAST '26):
//! - *Noisy RUH*: the invalidations of one handle cause relocations of other handles' data.
//! - *Save Sequential*: a sequential stream that would have invalidated its own reclaim units, one after another, is
//!   collected before it could, and much of the relocated data belongs to it.
//!
//! The study names the effects but gives no thresholds. Those here are conventions of this project, the same for every
//! record.

use super::{Added, AttributionRecord, Cause, CollectedRecord, HandleCost, Timeline, ratio};

/// A Noisy RUH causes relocation of at least this many bytes of other handles per host byte ...
const NOISY_PER_HOST_BYTE: f64 = 0.25;
/// ... and adds at least this much to the WAF of another handle.
const NOISY_ADDED_WAF: f64 = 0.10;
/// Save Sequential: at least this share of the handle's bytes is sequential ...
const SEQUENTIAL_SHARE: f64 = 0.50;
/// ... at least this share of all relocated bytes is its data ...
const SAVED_SHARE: f64 = 0.25;
/// ... and it adds at least this much to the WAF of the device.
const SAVED_ADDED_WAF: f64 = 0.05;
/// A handle causes its own cost if it caused at least this share of the relocations of its data.
const OWN_SHARE: f64 = 0.90;
/// A handle whose data adds less than this to the WAF of the device is not mentioned.
const MATERIAL: f64 = 0.05;

/// Returns the relocated bytes and the cost of each handle.
pub(super) fn costs(a: &AttributionRecord, timeline: &Timeline) -> (u64, Vec<HandleCost>) {
    let count = a.handles.len();
    let column = |j: usize| a.relocated_bytes.iter().map(|row| row[j]).sum::<u64>();
    let row = |i: usize| a.relocated_bytes[i].iter().sum::<u64>();
    let all: u64 = (0..count).map(row).sum();
    // The rest of the pages that hosts wrote in part.
    let completed = |h: usize| {
        let mut series = timeline.handles.iter().filter(|(key, _)| key.to_string() == a.handles[h]);
        let media = series.next().map_or(0, |(_, series)| series.end().1);
        media.saturating_sub(a.collected[h].relocated_bytes).saturating_sub(a.host_bytes[h])
    };
    let cost = |h: usize| HandleCost {
        handle: a.handles[h].clone(),
        host_bytes: a.host_bytes[h],
        sequential_share: Some(ratio(a.sequential_bytes[h], a.host_bytes[h])),
        waf: (a.host_bytes[h] > 0).then(|| 1.0 + ratio(completed(h) + column(h), a.host_bytes[h])),
        moved_share: ratio(column(h), all),
        caused_share: Some(ratio(row(h), all)),
        own_cause: Some(ratio(a.relocated_bytes[h][h], column(h))),
        collected: Some(a.collected[h].reclaim_units),
        empty: Some(a.collected[h].empty),
        moved_bytes: a.collected[h].relocated_bytes,
    };
    (all, (0..count).map(cost).collect())
}

/// Returns the collections of reclaim units that belong to no handle; `None` if there are no such units.
pub(super) fn shared(a: &AttributionRecord) -> Option<&CollectedRecord> {
    a.collected.get(a.handles.len())
}

/// Returns the causes that the attribution shows, the largest first within each kind.
pub(super) fn causes(host: u64, a: &AttributionRecord, timeline: &Timeline) -> Vec<Cause> {
    let (all, handles) = costs(a, timeline);
    let mut causes = noisy(a);
    causes.extend(saved(a, &handles, all, host));
    causes.extend(handles.iter().filter_map(|h| {
        let material = h.moved_share * ratio(all, host) >= MATERIAL;
        let own_cause = h.own_cause.filter(|share| *share >= OWN_SHARE)?;
        let waf = h.waf.filter(|_| material && handles.len() > 1)?;
        Some(Cause::OwnCost { handle: h.handle.clone(), waf, own_cause })
    }));
    causes
}

fn noisy(a: &AttributionRecord) -> Vec<Cause> {
    let mut found: Vec<(f64, Cause)> = Vec::new();
    for (i, row) in a.relocated_bytes.iter().enumerate() {
        let others: u64 = row.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, b)| b).sum();
        let per_host_byte = ratio(others, a.host_bytes[i]);
        let mut inflates: Vec<Added> = (0..row.len())
            .filter(|j| *j != i)
            .map(|j| Added { handle: a.handles[j].clone(), waf: ratio(row[j], a.host_bytes[j]) })
            .filter(|added| added.waf >= NOISY_ADDED_WAF)
            .collect();
        inflates.sort_by(|x, y| y.waf.total_cmp(&x.waf));
        if per_host_byte >= NOISY_PER_HOST_BYTE && !inflates.is_empty() {
            let handle = a.handles[i].clone();
            found.push((per_host_byte, Cause::NoisyRuh { handle, per_host_byte, inflates }));
        }
    }
    found.sort_by(|x, y| y.0.total_cmp(&x.0));
    found.into_iter().map(|(_, cause)| cause).collect()
}

fn saved(a: &AttributionRecord, handles: &[HandleCost], all: u64, host: u64) -> Vec<Cause> {
    let mut found: Vec<(f64, Cause)> = Vec::new();
    for (h, cost) in handles.iter().enumerate() {
        let added = cost.moved_share * ratio(all, host);
        let is = cost.sequential_share >= Some(SEQUENTIAL_SHARE)
            && cost.moved_share >= SAVED_SHARE
            && added >= SAVED_ADDED_WAF;
        if !is {
            continue;
        }
        let invalidated: u64 = a.invalidated_bytes.iter().map(|row| row[h]).sum();
        let finding = Cause::SaveSequential {
            handle: cost.handle.clone(),
            sequential_share: ratio(a.sequential_bytes[h], a.host_bytes[h]),
            moved_share: cost.moved_share,
            caused_share: cost.caused_share.unwrap_or(0.0),
            collected: a.collected[h].reclaim_units,
            empty: a.collected[h].empty,
            punched_by_others: 1.0 - ratio(a.invalidated_bytes[h][h], invalidated),
        };
        found.push((cost.moved_share, finding));
    }
    found.sort_by(|x, y| y.0.total_cmp(&x.0));
    found.into_iter().map(|(_, cause)| cause).collect()
}

/// Checks that the tables of a record read from a file have the sizes that findings rely on.
pub(crate) fn check(a: &AttributionRecord) -> Result<(), String> {
    let count = a.handles.len();
    let square =
        |table: &[Vec<u64>]| table.len() == count && table.iter().all(|r| r.len() == count);
    let owners = a.owners.len();
    let sizes = a.host_bytes.len() == count
        && a.sequential_bytes.len() == count
        && square(&a.relocated_bytes)
        && square(&a.demanded_bytes)
        && owners >= count
        && a.owners[..count] == a.handles[..]
        && a.invalidated_bytes.len() == count
        && a.invalidated_bytes.iter().all(|row| row.len() == owners)
        && a.collected.len() == owners;
    if sizes { Ok(()) } else { Err(format!("its tables are not all of {count} handles")) }
}
