//! The placement identifiers of writes (fio's dataplacement.c).

use wafer_interface::{LBA_BYTES, Placement};
use wafer_random::Rng;

use crate::job::PlacementRule;

/// The rule with its state.
#[derive(Clone, Debug)]
pub(crate) enum Placing {
    Always(Placement),
    RoundRobin { plids: Vec<u16>, next: usize },
    Random { plids: Vec<u16>, rng: Rng },
    Scheme { ranges: Vec<(u64, u64, u16)>, other: Placement },
}

impl Placing {
    pub(crate) fn new(rule: &PlacementRule, rng: Rng) -> Result<Self, String> {
        let one_or = |plids: &[u16], many: fn(Vec<u16>, Rng) -> Placing| match plids {
            [] => Err("plids: the list is empty".to_owned()),
            [only] => Ok(Placing::Always(Placement(*only))),
            _ => Ok(many(plids.to_vec(), rng)),
        };
        match rule {
            PlacementRule::None => Ok(Placing::Always(Placement::NONE)),
            PlacementRule::Fixed(plid) => Ok(Placing::Always(Placement(*plid))),
            PlacementRule::RoundRobin(plids) => {
                one_or(plids, |plids, _| Placing::RoundRobin { plids, next: 0 })
            }
            PlacementRule::Random(plids) => {
                one_or(plids, |plids, rng| Placing::Random { plids, rng })
            }
            PlacementRule::Scheme { ranges, plids } => {
                let other = plids.first().map_or(Placement(0), |p| Placement(*p));
                Ok(Placing::Scheme { ranges: ranges.clone(), other })
            }
        }
    }

    /// Returns the placement of the next write, at logical block `lba` of the namespace.
    #[inline]
    pub(crate) fn next(&mut self, lba: u64) -> Placement {
        match self {
            Placing::Always(placement) => *placement,
            Placing::RoundRobin { plids, next } => {
                let plid = plids[*next];
                *next = if *next + 1 == plids.len() { 0 } else { *next + 1 };
                Placement(plid)
            }
            Placing::Random { plids, rng } => {
                Placement(plids[rng.below(plids.len() as u64) as usize])
            }
            Placing::Scheme { ranges, other } => {
                let byte = lba * LBA_BYTES;
                let range = ranges.iter().find(|r| (r.0..r.1).contains(&byte));
                range.map_or(*other, |r| Placement(r.2))
            }
        }
    }
}
