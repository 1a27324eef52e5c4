//! Separation by the history of each address: `autostream` and `fadac`.
//!
//! Source: `docs/reference/configuration.md`, `gc.separation`, the papers named there, and this:
//!
//! - `autostream`: a chunk has one 1,024th of the logical pages, rounded down, at least 1 and at most 256. A page that
//!   does not follow the last page of its handle counts for its chunk. A period is four such pages for each chunk of
//!   the device; at its end, all counts halve, rounded down. The class is the binary logarithm of the count, at most 5.
//!   A page that follows the last one has the same class.
//! - `fadac`: the average of a page is its first lifetime, and then moves by a quarter of the distance to each further
//!   one, rounded towards zero. The average of all pages, times 1,024, begins at the number of logical pages times
//!   1,024; each overwritten page subtracts one 1,024th of it, rounded down, and adds the page's average. The class is
//!   the number of bounds that the page's average reaches: 1/16, 1/4, 1, 4 and 16 times that of all, rounded down; 5
//!   for a page without an average.

use std::collections::BTreeMap;

use wafer_device::Separation;

/// The history of addresses.
#[derive(Clone, Debug)]
pub(crate) struct Averages {
    rule: Separation,
    logical_pages: u64,
    /// Periods in which each chunk was written, in order.
    writes: BTreeMap<u64, Vec<u64>>,
    /// The last page of each handle, and its class.
    last: BTreeMap<u16, (u64, u8)>,
    /// Number of pages that counted.
    counted: u64,
    /// The average lifetime of each page.
    lives: BTreeMap<u64, i64>,
    /// The average of all lifetimes, times 1,024.
    all: i64,
}

impl Averages {
    pub(crate) fn new(rule: Separation, logical_pages: u64) -> Self {
        Averages {
            rule,
            logical_pages,
            writes: BTreeMap::new(),
            last: BTreeMap::new(),
            counted: 0,
            lives: BTreeMap::new(),
            all: logical_pages as i64 * 1024,
        }
    }

    /// Returns the class of a written page whose last content lived for `lived`; `None` if the rule does not use
    /// addresses.
    pub(crate) fn written(&mut self, page: u64, handle: u16, lived: Option<u64>) -> Option<u8> {
        match self.rule {
            Separation::AutoStream => Some(self.stream(page, handle)),
            Separation::Fadac => Some(self.temperature(page, lived)),
            _ => None,
        }
    }

    fn stream(&mut self, page: u64, handle: u16) -> u8 {
        let pages = (self.logical_pages / 1024).clamp(1, 256);
        let chunks = self.logical_pages.div_ceil(pages);
        let class = match self.last.get(&handle) {
            Some((last, class)) if last + 1 == page => *class,
            _ => {
                let now = self.counted / (4 * chunks);
                self.counted += 1;
                let writes = self.writes.entry(page / pages).or_default();
                writes.push(now);
                // Replays all writes from the first.
                let (mut count, mut at) = (0u64, 0);
                for period in writes {
                    while at < *period && count > 0 {
                        count /= 2;
                        at += 1;
                    }
                    at = *period;
                    count += 1;
                }
                (1..=5).take_while(|bits| count >= 1 << bits).count() as u8
            }
        };
        self.last.insert(handle, (page, class));
        class
    }

    fn temperature(&mut self, page: u64, lived: Option<u64>) -> u8 {
        if let Some(lived) = lived {
            let lived = lived.max(1) as i64;
            let average = self.lives.entry(page).or_insert(lived);
            *average += (lived - *average) / 4;
            self.all += *average - self.all / 1024;
        }
        let Some(average) = self.lives.get(&page) else { return 5 };
        [1, 4, 16, 64, 256].iter().filter(|part| *average >= self.all * **part / 16384).count()
            as u8
    }
}
