//! WAF over samples of counters: cumulative, instantaneous and clamped.
//!
//! The three are those of KIOXIA's performance brief on FDP (2025). With HBMW *h* and MBMW *m* at samples
//! 0, 1, ... since the start:
//!
//! - *cumulative* at *i*: `m[i] / h[i]`;
//! - *instantaneous* at *i*: `(m[i] - m[i-1]) / (h[i] - h[i-1])`, sample -1 being zero;
//! - *clamped*: instantaneous, cut at a limit so that the trend can be seen.
//!
//! An interval without host writes has no ratio. If the media was not written either, there is no value
//! ([`Waf::Idle`]). If it was, GC worked alone and no finite number is right ([`Waf::Unbounded`]): instantaneous has a
//! gap, and clamped has the limit. The brief shows such intervals as dips below 1.
//!
//! [`Metrics`] holds them as columns of a record, which pages and Python show as they are.

mod columns;
mod parts;

pub use columns::{AtVolume, HandleMetrics, Interval, Metrics, Ratios, volumes};
pub(crate) use parts::parts;
pub use parts::{Part, Written};

/// Default limit of clamped WAF, as in the brief.
pub const DEFAULT_LIMIT: f64 = 5.0;

/// WAF of one interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waf {
    /// The host wrote: media bytes over host bytes.
    Ratio(f64),
    /// Neither host nor media were written.
    Idle,
    /// Only the media was written.
    Unbounded,
}

impl Waf {
    /// Returns the WAF of an interval with these bytes.
    pub fn of(host_bytes: u64, media_bytes: u64) -> Self {
        match (host_bytes, media_bytes) {
            (0, 0) => Waf::Idle,
            (0, _) => Waf::Unbounded,
            (host, media) => Waf::Ratio(media as f64 / host as f64),
        }
    }

    /// Returns the ratio if the host wrote.
    pub fn ratio(self) -> Option<f64> {
        if let Waf::Ratio(ratio) = self { Some(ratio) } else { None }
    }

    /// Returns the ratio, at most `limit`; the limit if only the media was written.
    pub fn clamped(self, limit: f64) -> Option<f64> {
        match self {
            Waf::Ratio(ratio) => Some(ratio.min(limit)),
            Waf::Idle => None,
            Waf::Unbounded => Some(limit),
        }
    }
}

/// Returns the cumulative WAF at each sample of counters since the start.
pub fn cumulative(host_bytes: &[u64], media_bytes: &[u64]) -> Vec<Waf> {
    host_bytes.iter().zip(media_bytes).map(|(h, m)| Waf::of(*h, *m)).collect()
}

/// Returns the WAF between each sample and the previous one. A counter that decreases counts as no growth.
pub fn instantaneous(host_bytes: &[u64], media_bytes: &[u64]) -> Vec<Waf> {
    let mut last = (0, 0);
    let growth = |(h, m): (&u64, &u64)| {
        let (host, media) = (h.saturating_sub(last.0), m.saturating_sub(last.1));
        last = (*h, *m);
        Waf::of(host, media)
    };
    host_bytes.iter().zip(media_bytes).map(growth).collect()
}

/// Draws values as a line of at most `width` block characters, from 1 to the largest value. Each block shows the
/// largest of a group of values; a group without values is a space.
pub fn sparkline(values: &[Option<f64>], width: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let groups = width.min(values.len());
    let most = values.iter().flatten().copied().fold(1.0, f64::max);
    let group = |g: usize| &values[g * values.len() / groups..(g + 1) * values.len() / groups];
    let block = |values: &[Option<f64>]| {
        let Some(top) = values.iter().flatten().copied().reduce(f64::max) else { return ' ' };
        let share = if most > 1.0 { (top - 1.0).max(0.0) / (most - 1.0) } else { 0.0 };
        BLOCKS[((share * 7.0).round() as usize).min(7)]
    };
    (0..groups).map(|g| block(group(g))).collect()
}

#[cfg(test)]
mod tests;
