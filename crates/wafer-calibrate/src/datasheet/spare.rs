//! Infers over-provisioning from a data sheet: the media write at one rate, for hosts or
//! relocation.
//!
//! In steady state, random writes reach the media rate divided by the WAF. The media rate is that of sequential
//! writes minus the time for reads of relocated data and for erases: 0.81 to 1.02 of it on six drives (Haas et al.,
//! "SSD-iq", PVLDB 18(11), 2025). So the rate of random 4 KiB writes determines the WAF, and the WAF determines
//! over-provisioning, here for greedy collection under uniform writes (T2 of the theory).

use wafer_lab::LabError;
use wafer_studies::theory::uniform;

use super::{Datasheet, PAGE};

/// Media rate under garbage collection relative to the sequential write rate, on six drives.
const FACTORS: (f64, f64) = (0.81, 1.02);
/// Range of plausible over-provisioning.
const LEAST: f64 = 0.02;
const MOST: f64 = 1.5;

/// Media times per page over all dies, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageTimes {
    pub(super) program: f64,
    /// Read before relocation.
    pub(super) read: f64,
    pub(super) erase: f64,
}

impl PageTimes {
    /// Returns the WAF at which hosts write this many pages per second.
    fn waf(self, pages_per_second: f64) -> f64 {
        (1.0 / pages_per_second + self.read) / (self.program + self.read + self.erase)
    }
}

/// The spare space inferred from the rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spare {
    /// WAF of random writes in steady state.
    pub(super) waf: f64,
    /// Effective over-provisioning: of physical pages that can hold data when a victim is chosen.
    pub(super) op: f64,
    /// Over-provisioning at the ends of the range of media rates.
    pub(super) range: (f64, f64),
}

impl Spare {
    /// Infers the spare space of a drive with these times and reclaim units of this many pages.
    ///
    /// # Errors
    /// If no over-provisioning explains the rates.
    pub(super) fn of(sheet: &Datasheet, times: PageTimes, pages: u32) -> Result<Self, LabError> {
        let waf = times.waf(sheet.rand_write);
        let ratio = sheet.seq_write.0 as f64 / (sheet.rand_write * PAGE);
        let op = over_provisioning(waf, pages).ok_or_else(|| {
            let why = match waf > 2.0 {
                true => {
                    "so little over-provisioning that no drive has it; a drive that maps more than 4 KiB at a time, as many \
                     QLC drives do, cannot be inferred"
                }
                false => "more over-provisioning than drives have: are these rates of a cache?",
            };
            LabError::argument(
                "rand_write",
                format!("sequential writes are {ratio:.2} times as fast as random ones, which means {why}"),
            )
        })?;
        let end = |factor: f64, otherwise: f64| {
            over_provisioning(factor * ratio, pages).unwrap_or(otherwise)
        };
        let range = (end(FACTORS.1, LEAST).min(op), end(FACTORS.0, MOST).max(op));
        Ok(Spare { waf, op, range })
    }
}

/// Returns the over-provisioning at which greedy collection has this WAF under uniform writes.
fn over_provisioning(waf: f64, pages: u32) -> Option<f64> {
    let at = |op: f64| uniform::greedy(op, pages).unwrap_or(f64::INFINITY);
    if !(at(MOST)..=at(LEAST)).contains(&waf) {
        return None;
    }
    // WAF falls as over-provisioning grows.
    let (mut low, mut high) = (LEAST, MOST);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if at(middle) > waf { low = middle } else { high = middle }
    }
    Some(0.5 * (low + high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_is_inverted() {
        for op in [0.03, 0.07, 0.1453, 0.28, 1.0] {
            let waf = uniform::greedy(op, 1 << 18).unwrap();
            assert!((over_provisioning(waf, 1 << 18).unwrap() / op - 1.0).abs() < 1e-9, "{op}");
        }
        assert_eq!(over_provisioning(1.0, 1 << 18), None);
        assert_eq!(over_provisioning(100.0, 1 << 18), None);
        assert_eq!(over_provisioning(f64::NAN, 1 << 18), None);
    }
}
