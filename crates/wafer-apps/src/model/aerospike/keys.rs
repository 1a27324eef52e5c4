//! YCSB's operations and choice of keys (Cooper et al., "Benchmarking cloud serving systems with YCSB",
//! SoCC 2010; core workloads).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_random::{Inverse, Ranked, Rng};

/// A core workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ycsb {
    /// 50 % reads, 50 % updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads only.
    C,
    /// 95 % reads, 5 % inserts.
    D,
    /// 95 % scans, 5 % inserts.
    E,
    /// 50 % reads, 50 % read-modify-write.
    F,
}

/// The choice of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyOrder {
    /// All alike.
    Uniform,
    /// Zipf with exponent 0.99, the popular ones scattered over the keys.
    Zipfian,
    /// Zipf with exponent 0.99, the newest most popular.
    Latest,
}

/// Reading part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    Nothing,
    /// So many records from a key on.
    Read(u32),
}

/// Writing part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Update,
    ReadUpdate,
    Insert,
}

/// YCSB scans 1 to 100 records, uniformly.
const LONGEST_SCAN: u64 = 100;
/// YCSB's exponent.
const ZIPFIAN: f64 = 0.99;

impl Ycsb {
    /// Draws an operation.
    pub(super) fn draw(self, rng: &mut Rng) -> (Other, Change) {
        let percent = rng.percent();
        let (writes, change) = match self {
            Ycsb::A => (50, Change::Update),
            Ycsb::B => (5, Change::Update),
            Ycsb::C => (0, Change::Nothing),
            Ycsb::D | Ycsb::E => (5, Change::Insert),
            Ycsb::F => (50, Change::ReadUpdate),
        };
        if percent <= writes {
            return (Other::Nothing, change);
        }
        let count = if self == Ycsb::E { 1 + rng.below(LONGEST_SCAN) as u32 } else { 1 };
        (Other::Read(count), Change::Nothing)
    }
}

/// The keys of a database: `0..records`, in a ring whose newest moves on with every insert.
pub(super) struct Keys {
    records: u64,
    order: KeyOrder,
    /// Ranks, for the two orders that have them.
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

    /// Draws a key.
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

    /// The key `n` after another.
    pub(super) fn after(&self, key: u32, n: u32) -> u32 {
        ((u64::from(key) + u64::from(n)) % self.records) as u32
    }

    /// A new key: it takes the place of the oldest, which expires.
    pub(super) fn insert(&mut self) -> u32 {
        self.newest = (self.newest + 1) % self.records;
        self.newest as u32
    }
}
