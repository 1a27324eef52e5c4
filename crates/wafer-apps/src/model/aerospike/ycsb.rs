//! YCSB's operations (Cooper et al., "Benchmarking cloud serving systems with YCSB",
//! SoCC 2010; core workloads).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_random::Rng;

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

/// The reading part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    Nothing,
    /// This many consecutive records from a key.
    Read(u32),
}

/// The writing part of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Update,
    ReadUpdate,
    Insert,
}

/// YCSB scans 1 to 100 records, uniformly.
const LONGEST_SCAN: u64 = 100;

impl Ycsb {
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
