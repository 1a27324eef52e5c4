//! Which handle costs what, in words: what `wafer explain` says of a result record.
//!
//! Two of the findings have names from "Characterizing and Emulating FDP SSDs with WARP" (FAST '26):
//! - *Noisy RUH*: the invalidations of one handle make data of other handles move.
//! - *Save Sequential*: a sequential stream that would have invalidated itself, unit after unit, is
//!   collected before it did, and what moves is in large part its data.
//!
//! The study names the effects and gives no thresholds. Those here are conventions of this project,
//! constants below, the same for every record.

use std::fmt;

use serde::Serialize;

use crate::{AttributionRecord, LabError, ResultRecord};

/// A Noisy RUH makes at least so many bytes of other handles move for each byte it writes ...
const NOISY_PER_HOST_BYTE: f64 = 0.25;
/// ... and at least so many for each byte that the handle concerned writes: its WAF grows by as much.
const NOISY_ADDED_WAF: f64 = 0.10;
/// Saved: at least this share of the handle's bytes goes on where its last command ended ...
const SEQUENTIAL_SHARE: f64 = 0.50;
/// ... at least this share of all that moves is its data ...
const SAVED_SHARE: f64 = 0.25;
/// ... and it moves at least so often per byte written: WAF of the device grows by a twentieth.
const SAVED_ADDED_WAF: f64 = 0.05;
/// A handle is its own cause if it caused this share of what it has to move.
const OWN_SHARE: f64 = 0.90;
/// A handle whose data adds less than this to the WAF of the device is not worth a word; below twice
/// as much there is little to explain.
const MATERIAL: f64 = 0.05;

/// What is to be said of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Name of the run.
    pub name: String,
    /// WAF of the device.
    pub waf: f64,
    /// Bytes relocated.
    pub relocated_bytes: u64,
    /// One for each handle.
    pub handles: Vec<HandleCost>,
    /// The largest first within each kind.
    pub findings: Vec<Finding>,
}

/// What one handle costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HandleCost {
    /// The handle.
    pub handle: String,
    /// Bytes that hosts wrote through it.
    pub host_bytes: u64,
    /// Of those, the share that goes on where the last command of the handle ended.
    pub sequential_share: f64,
    /// 1 + bytes of its data relocated, wherever they were by then, per host byte.
    pub waf: f64,
    /// Share of everything relocated that is its data.
    pub moved_share: f64,
    /// Share of everything relocated that its invalidations caused.
    pub caused_share: f64,
    /// Of its data that moved, the share that its own invalidations caused.
    pub own_cause: f64,
    /// Its reclaim units that were collected.
    pub collected: u64,
    /// Of those, without a valid page.
    pub empty: u64,
    /// Bytes moved out of them.
    pub moved_bytes: u64,
}

/// Something worth knowing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// Little is relocated: less than a tenth of what hosts wrote.
    Clean {
        /// WAF of the device.
        waf: f64,
    },
    /// A handle whose invalidations make data of others move.
    NoisyRuh {
        /// The handle.
        handle: String,
        /// Bytes of other handles relocated per host byte of this one.
        per_host_byte: f64,
        /// The handles concerned, and what this one adds to their WAF.
        inflates: Vec<Added>,
    },
    /// A sequential stream that was collected too early.
    SaveSequential {
        /// The handle.
        handle: String,
        /// Share of its bytes that are sequential.
        sequential_share: f64,
        /// Share of everything relocated that is its data.
        moved_share: f64,
        /// Share of everything relocated that its invalidations caused.
        caused_share: f64,
        /// Its reclaim units collected, and how many of them were empty.
        collected: u64,
        /// See `collected`.
        empty: u64,
        /// Bytes of others and of its own that invalidated pages in them: the share of others.
        punched_by_others: f64,
    },
    /// A handle that causes nearly all its cost itself.
    OwnCost {
        /// The handle.
        handle: String,
        /// WAF of its data.
        waf: f64,
        /// Share that its own invalidations caused.
        own_cause: f64,
    },
}

/// What is added to the WAF of a handle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Added {
    /// The handle.
    pub handle: String,
    /// Relocated bytes per host byte of that handle.
    pub waf: f64,
}

impl Explanation {
    /// Explains a run.
    ///
    /// # Errors
    /// The record has no attribution, or one that does not fit together.
    pub fn of(record: &ResultRecord) -> Result<Self, LabError> {
        let Some(attribution) = &record.attribution else {
            let reason = "no attribution in this record; run it again with --attribution";
            return Err(LabError::config(record.name.as_str(), reason));
        };
        check(attribution)
            .map_err(|reason| LabError::config(format!("{}: attribution", record.name), reason))?;
        let host = record.summary.host_bytes;
        Ok(Explanation::of_attribution(&record.name, record.summary.waf, host, attribution))
    }

    fn of_attribution(name: &str, waf: f64, host: u64, a: &AttributionRecord) -> Self {
        let count = a.handles.len();
        let column = |j: usize| a.relocated_bytes.iter().map(|row| row[j]).sum::<u64>();
        let row = |i: usize| a.relocated_bytes[i].iter().sum::<u64>();
        let all: u64 = (0..count).map(row).sum();
        let handles: Vec<HandleCost> = (0..count)
            .map(|h| HandleCost {
                handle: a.handles[h].clone(),
                host_bytes: a.host_bytes[h],
                sequential_share: ratio(a.sequential_bytes[h], a.host_bytes[h]),
                waf: 1.0 + ratio(column(h), a.host_bytes[h]),
                moved_share: ratio(column(h), all),
                caused_share: ratio(row(h), all),
                own_cause: ratio(a.relocated_bytes[h][h], column(h)),
                collected: a.collected[h].reclaim_units,
                empty: a.collected[h].empty,
                moved_bytes: a.collected[h].relocated_bytes,
            })
            .collect();
        let mut findings = Vec::new();
        if ratio(all, host) < 2.0 * MATERIAL {
            findings.push(Finding::Clean { waf });
        }
        findings.extend(noisy(a));
        findings.extend(saved(a, &handles, all, host));
        findings.extend(handles.iter().filter_map(|h| {
            let material = h.moved_share * ratio(all, host) >= MATERIAL;
            (material && h.own_cause >= OWN_SHARE && count > 1).then(|| Finding::OwnCost {
                handle: h.handle.clone(),
                waf: h.waf,
                own_cause: h.own_cause,
            })
        }));
        Explanation { name: name.to_owned(), waf, relocated_bytes: all, handles, findings }
    }

    /// Whether a Noisy RUH was found.
    pub fn noisy_ruh(&self) -> bool {
        self.findings.iter().any(|f| matches!(f, Finding::NoisyRuh { .. }))
    }

    /// Whether Save Sequential was found.
    pub fn save_sequential(&self) -> bool {
        self.findings.iter().any(|f| matches!(f, Finding::SaveSequential { .. }))
    }
}

fn noisy(a: &AttributionRecord) -> Vec<Finding> {
    let mut found: Vec<(f64, Finding)> = Vec::new();
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
            found.push((per_host_byte, Finding::NoisyRuh { handle, per_host_byte, inflates }));
        }
    }
    found.sort_by(|x, y| y.0.total_cmp(&x.0));
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn saved(a: &AttributionRecord, handles: &[HandleCost], all: u64, host: u64) -> Vec<Finding> {
    let mut found: Vec<(f64, Finding)> = Vec::new();
    for (h, cost) in handles.iter().enumerate() {
        let added = cost.moved_share * ratio(all, host);
        let is = cost.sequential_share >= SEQUENTIAL_SHARE
            && cost.moved_share >= SAVED_SHARE
            && added >= SAVED_ADDED_WAF;
        if !is {
            continue;
        }
        let invalidated: u64 = a.invalidated_bytes.iter().map(|row| row[h]).sum();
        let finding = Finding::SaveSequential {
            handle: cost.handle.clone(),
            sequential_share: cost.sequential_share,
            moved_share: cost.moved_share,
            caused_share: cost.caused_share,
            collected: cost.collected,
            empty: cost.empty,
            punched_by_others: 1.0 - ratio(a.invalidated_bytes[h][h], invalidated),
        };
        found.push((cost.moved_share, finding));
    }
    found.sort_by(|x, y| y.0.total_cmp(&x.0));
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// Whether the tables of a record from a file have the sizes that the others rely on.
fn check(a: &AttributionRecord) -> Result<(), String> {
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

fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Clean { waf } => {
                write!(
                    f,
                    "WAF {waf:.3}: little is relocated; data that dies together lies together."
                )
            }
            Finding::NoisyRuh { handle, per_host_byte, inflates } => {
                write!(
                    f,
                    "Noisy RUH: handle {handle}. For each byte written through it, {per_host_byte:.2} \
                     bytes of other handles are relocated:"
                )?;
                for (at, added) in inflates.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(
                        f,
                        "{comma} it adds {:.2} to the WAF of handle {}",
                        added.waf, added.handle
                    )?;
                }
                f.write_str(
                    ". Its writes invalidate pages among data that stays valid, and the victim search \
                     is over all handles.",
                )
            }
            Finding::SaveSequential {
                handle,
                sequential_share,
                moved_share,
                caused_share,
                collected,
                empty,
                punched_by_others,
            } => write!(
                f,
                "Save Sequential: handle {handle}. {} of its bytes are sequential, so its reclaim units \
                 would die whole by themselves; of {collected} collected, {empty} had. The others were \
                 collected too early: {} of everything relocated is its data, and {} was caused by its \
                 own invalidations. Other handles made {} of the holes in its reclaim units.",
                percent(*sequential_share),
                percent(*moved_share),
                percent(*caused_share),
                percent(*punched_by_others)
            ),
            Finding::OwnCost { handle, waf, own_cause } => write!(
                f,
                "Handle {handle} pays for itself: WAF {waf:.2}, {} of it by its own invalidations. \
                 Separating its data further, or more spare space, would help; other handles would not.",
                percent(*own_cause)
            ),
        }
    }
}

#[cfg(test)]
mod tests;
