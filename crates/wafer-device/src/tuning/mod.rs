//! The adaptive policy: miniature simulations of the device, one for each arrangement of policy, destination and
//! separation, show which writes least under the current traffic (`docs/concepts/adaptive.md`).
//!
//! A miniature is a device with a sample of the logical pages (`sample.rs`) that receives the commands on them
//! (`miniatures.rs`). The weight of its host writes and relocations halves every [`HALF_LIFE`] device writes. The device
//! changes to the arrangement that writes least once leads in consecutive comparisons add up to [`ENOUGH`], or between
//! comparisons if it writes far more than another would (`guard.rs`). Its policy then continues with what the policy of
//! the miniature has learned.

pub(crate) mod arrangement;
mod guard;
mod miniatures;
pub(crate) mod sample;
mod state;

use std::ops::Range;

use crate::config::DeviceConfig;
use crate::geometry::Geometry;
use crate::layout::Layout;
use arrangement::Arrangement;
use guard::Guard;
use sample::Sample;
use serde::{Deserialize, Serialize};
use wafer_interface::{Command, Counters};
use wafer_policies::{GcConfig, adaptive};
use wafer_separation::{AutoStream, Separation, Separator as _};

/// Comparisons of the miniatures per device write.
const LOOKS: u64 = 4;
/// Device writes after which the weight of observations halves.
const HALF_LIFE: f64 = 1.0;
/// Sum of leads in consecutive comparisons at which the device changes. A lead is how much less the best arrangement
/// writes than the current one.
const ENOUGH: f64 = 0.06;
/// Smaller leads count as zero.
const LEAST_LEAD: f64 = 0.015;
/// Factor on the writes of `gittins` if few reclaim units are spare and the device follows another policy: `gittins`
/// can fail abruptly there, and a tie is not worth that risk.
const RISK: f64 = 1.01;
/// The same factor while relocations predict little.
const EARLY_RISK: f64 = 1.03;
/// How much more `look-ahead` writes on a device than in its miniature, relative to the others: the mean of the cases
/// for tuning (`docs/studies/policies.md`).
const LOOK_AHEAD: f64 = 1.012;
/// Initial device writes during which devices fill up and relocations predict little.
const UNKNOWN: u64 = 3;
/// Maximum number of changes kept; older ones are dropped.
const MOST_CHANGES: usize = 256;

/// The results of comparing the miniatures.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    /// The arrangement of the device.
    current: u16,
    /// Host pages of the device at each change, and the arrangement from then on. The last is the current one.
    changes: Vec<(u64, u16)>,
    /// Sum of the leads in the latest comparisons.
    lead: f64,
    /// Host pages of the miniatures at the last comparison.
    looked: u64,
    /// Host pages, and pages relocated by each arrangement, decayed.
    written: f64,
    relocated: Vec<f64>,
    /// Pages relocated by each miniature until the last comparison.
    before: Vec<u64>,
    guard: Guard,
}

impl Seen {
    /// Records that the device follows the current arrangement from this many host pages on.
    fn changed(&mut self, at: u64) {
        if self.changes.len() == MOST_CHANGES {
            self.changes.remove(0);
        }
        self.changes.push((at, self.current));
    }
}

/// The state of an adaptive device in addition to its miniatures, of which it sees the counters.
pub(crate) struct Tuner {
    pub(crate) arrangements: Vec<Arrangement>,
    sample: Sample,
    /// Whether few reclaim units are spare.
    few_spare: bool,
    /// Host pages of a miniature between comparisons.
    interval: u64,
    seen: Seen,
    /// Streams of the device's writes, if an arrangement uses them. A miniature sees too little to count writes.
    streams: Option<AutoStream>,
    /// Commands for the miniatures, with the handle and stream of each; empty between commands of the device.
    batch: Vec<Command>,
    batch_streams: Vec<(u32, u8)>,
}

impl Tuner {
    /// Returns the tuner of a device whose policy is adaptive and whose size leaves a choice, and the sizes of its
    /// miniatures, one for each arrangement.
    pub(crate) fn new(config: &DeviceConfig, geometry: &Geometry) -> Option<(Tuner, Geometry)> {
        if config.gc.policy != adaptive::NAME {
            return None;
        }
        let (scaled, sample) = sample::scaled(config, geometry);
        let mut arrangements = arrangement::arrangements(config, geometry);
        let small = Geometry::resolve(&scaled).ok()?;
        let fits = |of: &Arrangement| of.layout.missing(&small, 1) == 0;
        if !arrangements.first().is_some_and(fits) {
            return None;
        }
        arrangements.retain(fits);
        if arrangements.len() < 2 {
            return None;
        }
        let count = arrangements.len();
        let seen = Seen {
            current: 0,
            changes: vec![(0, 0)],
            lead: 0.0,
            looked: 0,
            written: 0.0,
            relocated: vec![0.0; count],
            before: vec![0; count],
            guard: Guard::new(count, UNKNOWN * sample.pages),
        };
        let interval = (sample.pages / LOOKS).max(1);
        let by_stream = |of: &&Arrangement| of.layout.separation == Some(Separation::AutoStream);
        let streams = arrangements.iter().find(by_stream);
        let streams = streams.map(|of| AutoStream::new(&of.layout.separation_sizes(geometry)));
        let (batch, batch_streams) = Default::default();
        let tuner = Tuner {
            arrangements,
            sample,
            few_spare: arrangement::few_spare(geometry),
            interval,
            seen,
            streams,
            batch,
            batch_streams,
        };
        Some((tuner, small))
    }

    /// Returns the arrangement of the device.
    pub(crate) fn current(&self) -> &Arrangement {
        &self.arrangements[usize::from(self.seen.current)]
    }

    /// Selects the arrangement with this policy and separation.
    #[cfg(test)]
    pub(crate) fn choose(&mut self, policy: &str, separation: Separation) {
        let wanted =
            |of: &Arrangement| of.gc.policy == policy && of.layout.separation == Some(separation);
        self.seen.current = self.arrangements.iter().position(wanted).expect("no such") as u16;
    }

    /// Compares miniatures with these WAFs by configuration. Returns whether the arrangement changes.
    #[cfg(test)]
    pub(crate) fn compare_wafs(&mut self, waf: impl Fn(&GcConfig) -> f64) -> bool {
        self.seen.written = 1.0;
        self.seen.relocated = self.arrangements.iter().map(|of| waf(&of.gc) - 1.0).collect();
        self.compare(&vec![Counters::default(); self.arrangements.len()])
    }

    /// Returns the garbage collection configurations that the device followed while it wrote these host pages, each
    /// with the number of pages before it.
    pub(crate) fn followed(&self, pages: Range<u64>) -> Vec<(u64, GcConfig)> {
        let changes = self.seen.changes.iter();
        let ends = changes.clone().skip(1).map(|(at, _)| *at).chain([u64::MAX]);
        (changes.zip(ends).filter(|(_, end)| *end > pages.start))
            .map(|((at, of), _)| {
                let gc = self.arrangements[usize::from(*of)].gc.clone();
                (at.saturating_sub(pages.start), gc)
            })
            .collect()
    }

    /// Returns the layouts of all arrangements.
    pub(crate) fn layouts(&self) -> impl Iterator<Item = &Layout> {
        self.arrangements.iter().map(|of| &of.layout)
    }

    /// Returns the host pages of a miniature at which the next comparison or check is due.
    fn due(&self) -> u64 {
        self.seen.guard.due(self.interval).min(self.seen.looked + self.interval)
    }

    /// Examines the counters of the device and of the miniatures, which have executed all commands. Returns whether the
    /// arrangement changes.
    fn look(&mut self, device: &Counters, miniatures: &[Counters]) -> bool {
        let seen = &mut self.seen;
        let expected = |at: usize| seen.relocated[at] / seen.written.max(1.0);
        // A failing policy fails with every placement.
        let policy = |at: usize| &self.arrangements[at].gc.policy;
        let current = policy(usize::from(seen.current));
        let others = (0..miniatures.len()).filter(|at| policy(*at) != current);
        let sizes = (self.interval, 1 << self.sample.shift);
        let better = seen.guard.check(device, miniatures, sizes, others, expected);
        let host = miniatures[0].host_pages;
        let mut changes = seen.looked + self.interval <= host && self.compare(miniatures);
        if let (false, Some(better)) = (changes, better) {
            (self.seen.current, self.seen.lead) = (better as u16, 0.0);
            changes = true;
        }
        if changes {
            self.seen.guard.rest(host, self.interval);
        }
        changes
    }

    /// Compares the miniatures. Returns whether the arrangement changes.
    fn compare(&mut self, miniatures: &[Counters]) -> bool {
        let seen = &mut self.seen;
        let fade = (-1.0 / (LOOKS as f64 * HALF_LIFE)).exp2();
        let host = miniatures[0].host_pages;
        seen.written = seen.written * fade + (host - seen.looked) as f64;
        seen.looked = host;
        for (at, miniature) in miniatures.iter().enumerate() {
            let since = (miniature.relocated_pages - seen.before[at]) as f64;
            seen.relocated[at] = seen.relocated[at] * fade + since;
            seen.before[at] = miniature.relocated_pages;
        }
        let current = usize::from(seen.current);
        let risk = if host < UNKNOWN * self.sample.pages { EARLY_RISK } else { RISK };
        let media = |at: usize| {
            let policy = &self.arrangements[at].gc.policy;
            let factor = match policy.as_str() {
                "gittins" if self.few_spare && at != current => risk,
                "look-ahead" => LOOK_AHEAD,
                _ => 1.0,
            };
            (seen.written + seen.relocated[at]) * factor
        };
        let least = (0..seen.relocated.len()).min_by(|a, b| media(*a).total_cmp(&media(*b)));
        let best = least.unwrap_or_default();
        let present = media(current);
        let lead = 1.0 - media(best) / present;
        seen.lead = if lead < LEAST_LEAD { 0.0 } else { seen.lead + lead };
        if seen.lead < ENOUGH {
            return false;
        }
        (seen.current, seen.lead) = (best as u16, 0.0);
        true
    }
}
