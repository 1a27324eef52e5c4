//! The choice of keys in a database, as in YCSB (Cooper et al., "Benchmarking cloud serving systems
//! with YCSB", SoCC 2010).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_random::{Inverse, Ranked, Rng};

/// YCSB's exponent.
const ZIPFIAN: f64 = 0.99;

/// The choice of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyOrder {
    /// All equally likely.
    Uniform,
    /// Zipf with exponent 0.99; the popular keys are scattered.
    Zipfian,
    /// Zipf with exponent 0.99; the newest keys are the most popular.
    Latest,
}

/// The keys of a database: `0..records`, in a ring whose newest key advances with every insert.
pub(super) struct Keys {
    records: u64,
    order: KeyOrder,
    /// Ranks, for the two orders that use them.
    ranked: Option<Ranked>,
    newest: u64,
    rng: Rng,
}

impl Keys {
    pub(super) fn new(order: KeyOrder, records: u64, rng: Rng) -> Self {
        let zipf = || Ranked::new(Inverse::zipf(records, ZIPFIAN), records, 0);
        let ranked = (order != KeyOrder::Uniform).then(zipf);
        Keys { records, order, ranked, newest: records - 1, rng }
    }

    pub(super) fn records(&self) -> u64 {
        self.records
    }

    pub(super) fn draw(&mut self) -> u32 {
        let key = match (&self.ranked, self.order) {
            (Some(ranked), KeyOrder::Zipfian) => ranked.draw(&mut self.rng),
            (Some(ranked), _) => {
                let rank = ranked.rank_of(self.rng.next32()).min(self.records - 1);
                (self.newest + self.records - rank) % self.records
            }
            (None, _) => self.rng.below(self.records),
        };
        key as u32
    }

    pub(super) fn after(&self, key: u32, n: u32) -> u32 {
        ((u64::from(key) + u64::from(n)) % self.records) as u32
    }

    /// Inserts a key, which takes the place of the oldest, and returns it.
    pub(super) fn insert(&mut self) -> u32 {
        self.newest = (self.newest + 1) % self.records;
        self.newest as u32
    }
}
