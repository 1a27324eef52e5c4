//! Growth of counters between readings: wraps, resets and missed readings.

use super::Reading;

/// Widths of counters that drives are known to keep behind 128-bit fields.
const WIDTHS: [u32; 3] = [32, 64, 128];

/// Totals since the first reading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Growth {
    /// Seconds since the first reading.
    pub seconds: f64,
    /// Host bytes written.
    pub host_bytes: u64,
    /// Media bytes written.
    pub media_bytes: u64,
    /// Media bytes erased.
    pub erased_bytes: u64,
}

/// Adds up readings.
///
/// A counter that decreases has wrapped if it was in the last quarter of 32, 64 or 128 bits and is now in
/// the first quarter; its growth is then known. Otherwise the drive was reset (a power cycle of volatile
/// counters, FDP enabled again, another drive): all counters restarted at zero, and their values are the
/// growth since then. A failed reading makes the next interval longer; totals stay complete.
#[derive(Clone, Debug)]
pub struct Tracker {
    last: Reading,
    /// Totals at each reading after the first.
    pub samples: Vec<Growth>,
    total: Growth,
    /// Readings that failed.
    pub missed: u64,
    /// Counters that wrapped.
    pub wraps: u64,
    /// Seconds at which a reset was noticed.
    pub resets: Vec<f64>,
}

impl Tracker {
    /// Starts at a reading.
    pub fn new(first: Reading) -> Self {
        Tracker {
            last: first,
            samples: Vec::new(),
            total: Growth::default(),
            missed: 0,
            wraps: 0,
            resets: Vec::new(),
        }
    }

    /// Takes a reading `seconds` after the first.
    pub fn add(&mut self, seconds: f64, now: Reading) -> Growth {
        let before = self.last;
        let host = step(before.host_bytes, now.host_bytes);
        let media = step(before.media_bytes, now.media_bytes);
        let erased = match (before.erased_bytes, now.erased_bytes) {
            (Some(before), Some(now)) => step(before, now),
            _ => Step::Grown(0),
        };
        let (host, media, erased) = if [host, media, erased].contains(&Step::Reset) {
            self.resets.push(seconds);
            (now.host_bytes, now.media_bytes, now.erased_bytes.unwrap_or(0))
        } else {
            let mut of = |step: Step| match step {
                Step::Grown(bytes) => bytes,
                Step::Wrapped(bytes) => {
                    self.wraps += 1;
                    bytes
                }
                Step::Reset => 0,
            };
            (of(host), of(media), of(erased))
        };
        let sum = |total: u64, growth: u128| {
            u64::try_from(growth).map_or(u64::MAX, |growth| total.saturating_add(growth))
        };
        self.total = Growth {
            seconds,
            host_bytes: sum(self.total.host_bytes, host),
            media_bytes: sum(self.total.media_bytes, media),
            erased_bytes: sum(self.total.erased_bytes, erased),
        };
        self.last = now;
        self.samples.push(self.total);
        self.total
    }

    /// Notes a reading that failed.
    pub fn miss(&mut self) {
        self.missed += 1;
    }

    /// Returns the totals so far.
    pub fn total(&self) -> Growth {
        self.total
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Grown(u128),
    Wrapped(u128),
    Reset,
}

fn step(before: u128, now: u128) -> Step {
    if now >= before {
        return Step::Grown(now - before);
    }
    for width in WIDTHS {
        let most = u128::MAX >> (128 - width);
        if before <= most && before > most / 4 * 3 && now < most / 4 {
            return Step::Wrapped(most - before + now + 1);
        }
    }
    Step::Reset
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(host: u128, media: u128, erased: u128) -> Reading {
        Reading { host_bytes: host, media_bytes: media, erased_bytes: Some(erased) }
    }

    #[test]
    fn growth_adds_up_from_the_first_reading() {
        let mut tracker = Tracker::new(reading(1000, 2000, 0));
        tracker.add(1.0, reading(1100, 2300, 0));
        tracker.miss();
        let total = tracker.add(3.0, reading(1500, 2800, 64));
        assert_eq!((total.host_bytes, total.media_bytes, total.erased_bytes), (500, 800, 64));
        assert_eq!((tracker.missed, tracker.wraps, tracker.resets.len()), (1, 0, 0));
        assert_eq!(tracker.samples.len(), 2);
    }

    #[test]
    fn counters_wrap_at_their_width() {
        for width in WIDTHS {
            let most = u128::MAX >> (128 - width);
            let mut tracker = Tracker::new(reading(most - 9, 5, 0));
            let total = tracker.add(1.0, reading(10, 25, 0));
            assert_eq!((total.host_bytes, total.media_bytes), (20, 20), "{width} bits");
            assert_eq!((tracker.wraps, tracker.resets.len()), (1, 0));
        }
    }

    #[test]
    fn a_reset_keeps_what_was_counted_and_starts_from_zero() {
        let mut tracker = Tracker::new(reading(0, 0, 0));
        tracker.add(1.0, reading(1_000_000, 2_000_000, 500));
        // Media is above its last reading, but the log was reset as one.
        let total = tracker.add(2.0, reading(10, 3_000_000, 0));
        assert_eq!((total.host_bytes, total.media_bytes), (1_000_010, 5_000_000));
        assert_eq!(total.erased_bytes, 500);
        assert_eq!((tracker.resets.as_slice(), tracker.wraps), (&[2.0][..], 0));
        let total = tracker.add(3.0, reading(20, 3_000_100, 0));
        assert_eq!(total.host_bytes, 1_000_020);
    }

    #[test]
    fn totals_never_step_back_whatever_is_read() {
        let mut tracker = Tracker::new(reading(5, 5, 5));
        let mut last = Growth::default();
        let values = [0, u128::MAX, 1, 1 << 64, u128::from(u64::MAX), 7, 1 << 31, 3];
        for (i, (a, b)) in values.iter().zip(values.iter().rev()).enumerate() {
            let total = tracker.add(i as f64, reading(*a, *b, *a));
            assert!(total.host_bytes >= last.host_bytes && total.media_bytes >= last.media_bytes);
            last = total;
        }
    }
}
