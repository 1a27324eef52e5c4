//! Shares over time, from cumulative counters.

/// The share of each column in all bytes, by intervals of all bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct PaceTable {
    /// Ends of the intervals, ascending.
    ends: Vec<u64>,
    /// Per column, the share in each interval.
    shares: Vec<Vec<f64>>,
    /// Per column, the share past the last interval.
    after: Vec<f64>,
}

/// Past the end of a table, shares are the mean over the last 1/`TAIL` of its intervals.
const TAIL: usize = 10;

impl PaceTable {
    /// Computes shares from rows of cumulative, nondecreasing counters: all bytes, then those of each column. Returns
    /// `None` if the count of all bytes never grows.
    pub fn new(rows: &[Vec<u64>]) -> Option<Self> {
        let (first, rest) = rows.split_first()?;
        let columns = first.len() - 1;
        let mut table =
            PaceTable { ends: Vec::new(), shares: vec![Vec::new(); columns], after: Vec::new() };
        let mut last = first;
        let mut grown: Vec<Vec<u64>> = Vec::new();
        for row in rest.iter().filter(|row| row[0] > first[0]) {
            if row[0] == last[0] {
                continue;
            }
            let growth: Vec<u64> = row.iter().zip(last).map(|(new, old)| new - old).collect();
            table.ends.push(row[0]);
            for (shares, part) in table.shares.iter_mut().zip(&growth[1..]) {
                shares.push(*part as f64 / growth[0] as f64);
            }
            grown.push(growth);
            last = row;
        }
        let tail = &grown[grown.len() - (grown.len() / TAIL).max(1).min(grown.len())..];
        let sum = |i: usize| tail.iter().map(|g| g[i]).sum::<u64>() as f64;
        table.after = (1..=columns).map(|i| sum(i) / sum(0)).collect();
        (!grown.is_empty()).then_some(table)
    }

    /// Returns the interval of byte `written` of the run; past the last one, the number of intervals.
    pub(crate) fn interval(&self, written: u64) -> usize {
        self.ends.partition_point(|end| *end <= written)
    }

    /// Returns the end of an interval; `None` past the last one.
    pub(crate) fn end(&self, interval: usize) -> Option<u64> {
        self.ends.get(interval).copied()
    }

    pub(crate) fn share(&self, column: usize, interval: usize) -> f64 {
        self.shares[column].get(interval).copied().unwrap_or(self.after[column])
    }

    pub(crate) fn intervals(&self) -> usize {
        self.ends.len()
    }
}

#[cfg(test)]
mod tests;
