//! The order in which tenants take turns.

/// How tenants share the drive.
#[derive(Clone, Debug, PartialEq)]
pub enum Pacing {
    /// Shares of the written bytes, in the order of the tenants; they need not add up to 1.
    Shares(Vec<f64>),
    /// By commands in flight, in the order of the tenants.
    ClosedLoop(Vec<u32>),
    /// By the arrival times of the commands; every stream must be timed.
    Time,
    /// By completions: every stream must wait for them and have times.
    Clock,
}

/// The order of turns.
#[derive(Clone, Debug)]
pub(super) enum Turns {
    /// The tenant furthest behind its share goes first; at a tie, the earlier one.
    Shares {
        /// Written bytes divided by the share, in fixed point.
        received: Vec<u128>,
        /// Weight of a byte.
        per_byte: Vec<u128>,
        running: Vec<bool>,
    },
    /// First come, first served, from queues that are never empty: a fixed cycle in which each
    /// tenant appears as often as it has commands in flight.
    Cycle { order: Vec<usize>, at: usize },
    /// By the arrival times of the commands.
    Times,
    /// The first tenant with a ready command.
    Clock,
}

/// The value 1 in fixed point.
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
            Pacing::Clock => Turns::Clock,
        }
    }

    /// Returns the next tenant, or `None` when all have ended.
    pub(super) fn next(&self) -> Option<usize> {
        match self {
            Turns::Shares { received, running, .. } => {
                let live = (0..received.len()).filter(|&i| running[i]);
                live.min_by_key(|&i| received[i])
            }
            Turns::Cycle { order, at } => order.get(*at).copied(),
            Turns::Times | Turns::Clock => None,
        }
    }

    /// Records that tenant `i` sent a command that wrote `written` bytes.
    pub(super) fn took(&mut self, i: usize, written: u64) {
        match self {
            Turns::Shares { received, per_byte, .. } => {
                received[i] += u128::from(written) * per_byte[i];
            }
            Turns::Cycle { order, at } => *at = (*at + 1) % order.len(),
            Turns::Times | Turns::Clock => {}
        }
    }

    /// Removes tenant `i`, which has no commands left.
    pub(super) fn ended(&mut self, i: usize) {
        match self {
            Turns::Shares { running, .. } => running[i] = false,
            Turns::Cycle { order, at } => {
                let before = order[..*at].iter().filter(|&&t| t != i).count();
                order.retain(|&t| t != i);
                *at = if before < order.len() { before } else { 0 };
            }
            Turns::Times | Turns::Clock => {}
        }
    }
}

/// Spreads the tenants evenly, each as often as its count: each place goes to the one furthest behind.
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
