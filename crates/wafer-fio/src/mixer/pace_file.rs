//! Shares over time from a file of cumulative counters (`--pace-from`).

use std::path::{Path, PathBuf};

use crate::error::WorkloadError;

/// Cumulative bytes of some columns against `host_bytes`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PaceFile {
    /// Ends of the intervals in `host_bytes`, ascending.
    ends: Vec<u64>,
    /// Per column, the share in each interval.
    shares: Vec<Vec<f64>>,
    /// Per column, the share past the last interval.
    after: Vec<f64>,
}

/// Past the end of a file, shares are the mean over the last one in this many of its intervals.
const TAIL: usize = 10;

impl PaceFile {
    /// Reads `columns` of a comma-separated file with a header line: `ruh0` is the column
    /// `ruh0_host_bytes`, any other name a column of that name. Lines that start with `#` are remarks.
    pub(crate) fn read(path: &Path, columns: &[String]) -> Result<Self, WorkloadError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| WorkloadError::PaceIo { file: path.to_owned(), source })?;
        Self::parse(&text, path, columns)
    }

    fn parse(text: &str, path: &Path, columns: &[String]) -> Result<Self, WorkloadError> {
        let is_row = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| is_row(line));
        let (header_line, header) =
            lines.next().ok_or_else(|| fail(path, 1, "host_bytes", "no header"))?;
        let names: Vec<&str> = header.split(',').map(|n| n.trim().trim_matches('"')).collect();
        let find = |wanted: &str| {
            let long = format!("{wanted}_host_bytes");
            names.iter().position(|n| *n == wanted || *n == long).ok_or_else(|| {
                let known = names.join(", ");
                fail(path, header_line, wanted, &format!("no such column; there are {known}"))
            })
        };
        let mut wanted = vec![("host_bytes", find("host_bytes")?)];
        for column in columns {
            wanted.push((column, find(column)?));
        }

        let mut last: Vec<u64> = Vec::new();
        let mut file = PaceFile {
            ends: Vec::new(),
            shares: vec![Vec::new(); columns.len()],
            after: Vec::new(),
        };
        let mut grown: Vec<Vec<u64>> = Vec::new();
        for (line, text) in lines {
            let cells: Vec<&str> = text.split(',').collect();
            let mut row = Vec::with_capacity(wanted.len());
            for (i, &(name, column)) in wanted.iter().enumerate() {
                let cell = cells.get(column).map_or("", |c| c.trim());
                let value = cell.parse::<u64>().map_err(|_| {
                    fail(path, line, name, &format!("`{cell}` is not a number of bytes"))
                })?;
                if last.get(i).is_some_and(|before| value < *before) {
                    let message = format!("{value} is less than in the line before");
                    return Err(fail(path, line, name, &message));
                }
                row.push(value);
            }
            if last.is_empty() {
                last = row;
                continue;
            }
            if row[0] == last[0] {
                continue;
            }
            let growth: Vec<u64> = row.iter().zip(&last).map(|(new, old)| new - old).collect();
            file.ends.push(row[0]);
            for (shares, part) in file.shares.iter_mut().zip(&growth[1..]) {
                shares.push(*part as f64 / growth[0] as f64);
            }
            grown.push(growth);
            last = row;
        }
        if grown.is_empty() {
            return Err(fail(path, 2, "host_bytes", "does not grow: there are no shares to take"));
        }
        let tail = &grown[grown.len() - (grown.len() / TAIL).max(1)..];
        let sum = |i: usize| tail.iter().map(|g| g[i]).sum::<u64>() as f64;
        file.after = (1..=columns.len()).map(|i| sum(i) / sum(0)).collect();
        Ok(file)
    }

    /// Returns the interval of byte `written` of the run; past the last one, the number of intervals.
    pub(crate) fn interval(&self, written: u64) -> usize {
        self.ends.partition_point(|end| *end <= written)
    }

    /// Returns the end of an interval; `None` past the last.
    pub(crate) fn end(&self, interval: usize) -> Option<u64> {
        self.ends.get(interval).copied()
    }

    /// Returns the share of a column in an interval.
    pub(crate) fn share(&self, column: usize, interval: usize) -> f64 {
        self.shares[column].get(interval).copied().unwrap_or(self.after[column])
    }

    /// Returns the number of intervals.
    pub(crate) fn intervals(&self) -> usize {
        self.ends.len()
    }
}

fn fail(file: &Path, line: usize, column: &str, message: &str) -> WorkloadError {
    WorkloadError::PaceFile {
        file: PathBuf::from(file),
        line,
        column: column.to_owned(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
