//! Whose turn it is among tenants.

use super::Pacing;

/// The order of turns.
#[derive(Clone, Debug)]
pub(super) enum Turns {
    /// The tenant that has least of its share goes first, the earlier one at a tie.
    Shares {
        /// Written bytes over share, fixed point.
        received: Vec<u128>,
        /// What a byte counts.
        per_byte: Vec<u128>,
        running: Vec<bool>,
    },
    /// First come, first served, of queues that are never empty: a fixed cycle, in which each
    /// tenant appears as often as it has commands in flight.
    Cycle { order: Vec<usize>, at: usize },
    /// By the times of the commands.
    Times,
}

/// Fraction of the fixed point.
const ONE: f64 = 4_294_967_296.0;

impl Turns {
    pub(super) fn new(pacing: &Pacing, tenants: usize) -> Self {
        match pacing {
            Pacing::Shares(shares) => {
                let largest = shares.iter().copied().fold(0.0, f64::max);
                let per_byte = |share: &f64| (ONE * largest / share).round() as u128;
                Turns::Shares {
                    received: vec![0; tenants],
                    per_byte: shares.iter().map(per_byte).collect(),
                    running: vec![true; tenants],
                }
            }
            Pacing::ClosedLoop(depths) => Turns::Cycle { order: spread(depths), at: 0 },
            Pacing::Time => Turns::Times,
        }
    }

    /// The tenant that comes next; none when all have ended.
    pub(super) fn next(&self) -> Option<usize> {
        match self {
            Turns::Shares { received, running, .. } => {
                let live = (0..received.len()).filter(|&i| running[i]);
                live.min_by_key(|&i| received[i])
            }
            Turns::Cycle { order, at } => order.get(*at).copied(),
            Turns::Times => None,
        }
    }

    /// Tenant `i` has sent a command that wrote so many bytes.
    pub(super) fn took(&mut self, i: usize, written: u64) {
        match self {
            Turns::Shares { received, per_byte, .. } => {
                received[i] += u128::from(written) * per_byte[i];
            }
            Turns::Cycle { order, at } => *at = (*at + 1) % order.len(),
            Turns::Times => {}
        }
    }

    /// Tenant `i` has no more commands; the others go on.
    pub(super) fn ended(&mut self, i: usize) {
        match self {
            Turns::Shares { running, .. } => running[i] = false,
            Turns::Cycle { order, at } => {
                let before = order[..*at].iter().filter(|&&t| t != i).count();
                order.retain(|&t| t != i);
                *at = if before < order.len() { before } else { 0 };
            }
            Turns::Times => {}
        }
    }
}

/// Every tenant as often as its count, spread evenly: at each place the one that is furthest behind.
fn spread(counts: &[u32]) -> Vec<usize> {
    let total: i64 = counts.iter().map(|&n| i64::from(n)).sum();
    let mut credit = vec![0i64; counts.len()];
    let mut order = Vec::new();
    for _ in 0..total {
        for (credit, &n) in credit.iter_mut().zip(counts) {
            *credit += i64::from(n);
        }
        let most = (0..counts.len()).rev().max_by_key(|&i| credit[i]);
        let Some(most) = most else { break };
        credit[most] -= total;
        order.push(most);
    }
    order
}
