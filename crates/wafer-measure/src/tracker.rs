//! Tracks the growth of counters between readings across wraps, resets and missed readings.

use super::{Counter, Reading};

/// Counter widths that drives are known to use in 128-bit fields.
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

/// Sums up readings.
///
/// A counter that decreases has wrapped if it was in the last quarter of 32, 64 or 128 bits and is now in the first
/// quarter; its growth is then known. If it decreases by at most 1 %, it was misread: the reading counts as missed, and
/// the counter grows again once it has passed its last value. Otherwise its log was reset (a power cycle of volatile
/// counters, FDP enabled again, another drive): all counters of the log restarted at zero, and their values are the
/// growth since then. A missed reading lengthens the next interval; totals stay complete.
#[derive(Clone, Debug)]
pub struct Tracker {
    last: Reading,
    /// Totals at each reading after the first.
    pub samples: Vec<Growth>,
    total: Growth,
    /// Number of readings that failed, or in which a counter was misread.
    pub missed: u64,
    /// Number of counter wraps.
    pub wraps: u64,
    /// Times in seconds at which a reset was noticed.
    pub resets: Vec<f64>,
}

impl Tracker {
    /// Starts from a reading.
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

    /// Adds a reading `seconds` after the first.
    pub fn add(&mut self, seconds: f64, now: Reading) -> Growth {
        let before = self.last;
        let erased = now.erased.or(before.erased).unwrap_or_default();
        let erased = (before.erased.unwrap_or(erased), erased);
        let pairs = [(before.host, now.host), (before.media, now.media), erased];
        let steps = pairs.map(|(before, now)| step(before.units, now.units));
        let is_reset = steps.contains(&Step::Reset);
        if steps.contains(&Step::Misread) {
            self.missed += 1;
            if !is_reset {
                // Counting one counter without the others would not give an interval.
                return self.total;
            }
        }
        if is_reset {
            self.resets.push(seconds);
        }
        self.wraps += steps.iter().filter(|step| matches!(step, Step::Wrapped(_))).count() as u64;
        let mut last = pairs.map(|(_, now)| now);
        let mut bytes = [0; 3];
        for (i, step) in steps.into_iter().enumerate() {
            let Counter { units, unit_bytes } = last[i];
            let growth = match step {
                Step::Reset => units,
                _ if is_reset && now.one_log => units,
                Step::Grown(units) | Step::Wrapped(units) => units,
                Step::Misread => {
                    last[i] = pairs[i].0;
                    0
                }
            };
            let growth = growth.saturating_mul(u128::from(unit_bytes));
            bytes[i] = u64::try_from(growth).unwrap_or(u64::MAX);
        }
        self.total = Growth {
            seconds,
            host_bytes: self.total.host_bytes.saturating_add(bytes[0]),
            media_bytes: self.total.media_bytes.saturating_add(bytes[1]),
            erased_bytes: self.total.erased_bytes.saturating_add(bytes[2]),
        };
        let erased = now.erased.or(before.erased).map(|_| last[2]);
        self.last = Reading { host: last[0], media: last[1], erased, ..now };
        self.samples.push(self.total);
        self.total
    }

    /// Counts a failed reading.
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
    /// It decreased by too little for a reset.
    Misread,
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
    if before - now <= before / 100 { Step::Misread } else { Step::Reset }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(host: u128, media: u128, erased: u128) -> Reading {
        let [host, media, erased] =
            [host, media, erased].map(|units| Counter { units, unit_bytes: 1 });
        Reading { host, media, erased: Some(erased), one_log: true }
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
        // Media is above its last reading, but the whole log was reset.
        let total = tracker.add(2.0, reading(10, 3_000_000, 0));
        assert_eq!((total.host_bytes, total.media_bytes), (1_000_010, 5_000_000));
        assert_eq!(total.erased_bytes, 500);
        assert_eq!((tracker.resets.as_slice(), tracker.wraps), (&[2.0][..], 0));
        let total = tracker.add(3.0, reading(20, 3_000_100, 0));
        assert_eq!(total.host_bytes, 1_000_020);
    }

    /// Returns the readings of SMART and of the OCP specification's log.
    fn two_logs(host: u128, media: u128) -> Reading {
        let host = Counter { units: host, unit_bytes: 512_000 };
        Reading {
            host,
            media: Counter { units: media, unit_bytes: 1 },
            erased: None,
            one_log: false,
        }
    }

    #[test]
    fn counters_wrap_in_their_units() {
        let mut tracker = Tracker::new(two_logs((1 << 32) - 2000, 1 << 50));
        let total = tracker.add(1.0, two_logs(2000, (1 << 50) + 5));
        assert_eq!((total.host_bytes, total.media_bytes), (4000 * 512_000, 5));
        assert_eq!((tracker.wraps, tracker.resets.len()), (1, 0));
    }

    #[test]
    fn logs_are_reset_each_by_itself() {
        let mut tracker = Tracker::new(two_logs(9000, 1 << 50));
        let total = tracker.add(1.0, two_logs(3, (1 << 50) + 5));
        assert_eq!((total.host_bytes, total.media_bytes), (3 * 512_000, 5));
        assert_eq!((tracker.wraps, tracker.resets.as_slice()), (0, &[1.0][..]));
    }

    #[test]
    fn a_misread_counter_grows_again_once_it_has_passed_its_last_value() {
        let tera = 1_000_000_000_000;
        let mut tracker = Tracker::new(reading(tera, 2 * tera, 0));
        tracker.add(1.0, reading(tera + 1000, 2 * tera + 2000, 0));
        // The whole reading is missed.
        let total = tracker.add(2.0, reading(tera - 500, 2 * tera + 4000, 0));
        assert_eq!((total.host_bytes, total.media_bytes), (1000, 2000));
        assert_eq!(tracker.samples.len(), 1);
        let total = tracker.add(3.0, reading(tera + 3000, 2 * tera + 6000, 0));
        assert_eq!((total.host_bytes, total.media_bytes), (3000, 6000));
        assert_eq!((tracker.missed, tracker.wraps, tracker.resets.len()), (1, 0, 0));
        // A decrease of more than a hundredth is a reset.
        let total = tracker.add(4.0, reading(tera / 100 * 98, 2 * tera + 6000, 0));
        let expected = (3000 + 980_000_000_000, 6000 + 2_000_000_006_000);
        assert_eq!((total.host_bytes, total.media_bytes), expected);
        assert_eq!(tracker.resets.as_slice(), [4.0]);
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
