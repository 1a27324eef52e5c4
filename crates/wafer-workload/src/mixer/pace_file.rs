//! Shares over time from a file of cumulative counters (`--pace-from`).

use crate::error::WorkloadError;
use std::path::{Path, PathBuf};

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

/// What goes on past the end of a file is the mean over one in this many of its intervals.
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

    /// The interval that byte `written` of the run lies in; past the last one, their number.
    pub(crate) fn interval(&self, written: u64) -> usize {
        self.ends.partition_point(|end| *end <= written)
    }

    /// Where an interval ends; `None` past the last.
    pub(crate) fn end(&self, interval: usize) -> Option<u64> {
        self.ends.get(interval).copied()
    }

    /// The share of a column in an interval.
    pub(crate) fn share(&self, column: usize, interval: usize) -> f64 {
        self.shares[column].get(interval).copied().unwrap_or(self.after[column])
    }

    /// Intervals, without the time after.
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
mod tests {
    use super::*;

    fn parse(text: &str, columns: &[&str]) -> Result<PaceFile, String> {
        let columns: Vec<String> = columns.iter().map(|c| (*c).to_owned()).collect();
        PaceFile::parse(text, Path::new("x.csv"), &columns).map_err(|e| e.to_string())
    }

    #[test]
    fn shares_by_interval() {
        let text = "# a remark\nhost_bytes,media_bytes,ruh0_host_bytes,ruh1_host_bytes\n\
                    0,0,0,0\n100,100,100,0\n100,100,100,0\n300,400,150,150\n";
        let file = parse(text, &["ruh1", "ruh0"]).unwrap();
        assert_eq!(file.intervals(), 2);
        assert_eq!((file.interval(0), file.interval(99), file.interval(100)), (0, 0, 1));
        assert_eq!((file.interval(300), file.end(1), file.end(2)), (2, Some(300), None));
        assert_eq!((file.share(0, 0), file.share(1, 0)), (0.0, 1.0));
        assert_eq!((file.share(0, 1), file.share(1, 1)), (0.75, 0.25));
        assert_eq!(file.share(0, 2), 0.75);
    }

    #[test]
    fn errors_name_line_and_column() {
        let error = |text: &str, columns: &[&str]| parse(text, columns).unwrap_err();
        assert!(error("", &[]).contains("x.csv:1"));
        let text = "host_bytes,ruh0_host_bytes\n0,0\n";
        assert!(error(text, &["ruh3"]).contains("`ruh3`: no such column; there are host_bytes"));
        assert!(error(text, &["ruh0"]).contains("does not grow"));
        let text = "host_bytes,ruh0_host_bytes\n0,0\n5,x\n";
        assert_eq!(error(text, &["ruh0"]), "x.csv:3: column `ruh0`: `x` is not a number of bytes");
        let text = "host_bytes,ruh0_host_bytes\n0,0\n\n5,2\n4,3\n";
        assert!(error(text, &["ruh0"]).starts_with("x.csv:5: column `host_bytes`: 4 is less"));
        assert!(error("host_bytes,ruh0_host_bytes\n0,0\n5\n", &["ruh0"]).contains("x.csv:3"));
    }
}
