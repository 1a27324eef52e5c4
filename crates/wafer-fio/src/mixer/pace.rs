//! Shares of the bytes for jobs that run at the same time (`--pace`, `--pace-from`).
//!
//! Among the running jobs of a phase:
//! - if all are named, each gets its share of the sum of their shares (2,1,1 equals 0.5,0.25,0.25), and together they
//!   are as fast as their closed loops would be;
//! - if some are named, a named job gets its share of *all* bytes, and the others keep their closed-loop pace among
//!   themselves; the shares must leave something for them;
//! - `numjobs` clones of a named section divide its share evenly;
//! - a job running alone needs no share.
//!
//! `rate` and `thinktime` of a named job do not apply. Written bytes count, or all bytes for a job
//! that never writes.

use super::pace_table::PaceTable;
use crate::error::WorkloadError;

/// Shares of the bytes by job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    entries: Vec<(String, Share)>,
    /// Columns named by shares, in order.
    columns: Vec<String>,
    table: Option<PaceTable>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Share {
    Fixed(f64),
    /// Column of the table, by position in `columns`.
    Column(usize),
}

impl Pace {
    /// Parses `NAME=SHARE,...`, where `SHARE` is a number or, if there will be a [table](Pace::with_table), the name of
    /// a column. Empty text means no shares.
    ///
    /// # Errors
    /// The text is something else, or names a job twice.
    pub fn parse(text: &str, with_table: bool) -> Result<Pace, WorkloadError> {
        let fail = |message: String| Err(WorkloadError::Pace(message));
        let mut pace = Pace::default();
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let Some((name, value)) = part.rsplit_once('=') else {
                return fail(format!("`{part}` is not NAME=SHARE"));
            };
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() {
                return fail(format!("`{part}` is not NAME=SHARE"));
            }
            if pace.entries.iter().any(|e| e.0 == name) {
                return fail(format!("job `{name}` is named twice"));
            }
            let share = match value.parse::<f64>() {
                Ok(share) if share > 0.0 && share.is_finite() => Share::Fixed(share),
                Ok(_) => return fail(format!("`{part}`: a share must be above 0")),
                Err(_) if !with_table => {
                    let hint = "to name a column, give the table of shares too";
                    return fail(format!("`{part}`: `{value}` is not a number; {hint}"));
                }
                Err(_) => {
                    pace.columns.push(value.to_owned());
                    Share::Column(pace.columns.len() - 1)
                }
            };
            pace.entries.push((name.to_owned(), share));
        }
        Ok(pace)
    }

    /// Returns the columns named by shares, in the order that a table must have.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the same shares, with `table` for those that name a column.
    pub fn with_table(self, table: PaceTable) -> Self {
        Pace { table: Some(table), ..self }
    }

    /// Returns whether no job has a share.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Checks that every named job exists.
    pub(crate) fn check(&self, names: &[&str]) -> Result<(), WorkloadError> {
        for (name, _) in &self.entries {
            if !names.contains(&name.as_str()) {
                let mut known = names.to_vec();
                known.dedup();
                return Err(WorkloadError::Pace(format!(
                    "there is no job `{name}`; the jobs are {}",
                    known.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Returns the entry of a job.
    pub(crate) fn entry(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|e| e.0 == name)
    }

    /// Returns the share of an entry, if it is fixed.
    pub(crate) fn fixed(&self, entry: usize) -> Option<f64> {
        match self.entries[entry].1 {
            Share::Fixed(share) => Some(share),
            Share::Column(_) => None,
        }
    }

    /// Returns the shares of `entries` when `written` bytes of the run are written, and the byte at which they change.
    /// An interval in which all of them are 0 (a phase of the table that this run does not have) takes the shares of
    /// the next one in which they are not.
    pub(crate) fn shares(&self, written: u64, entries: &[usize]) -> (Vec<f64>, Option<u64>) {
        let Some(table) = &self.table else {
            return (entries.iter().map(|&e| self.fixed(e).unwrap_or(0.0)).collect(), None);
        };
        let now = table.interval(written);
        let at = |interval: usize| -> Vec<f64> {
            let share = |&e: &usize| match self.entries[e].1 {
                Share::Fixed(share) => share,
                Share::Column(column) => table.share(column, interval),
            };
            entries.iter().map(share).collect()
        };
        let some = |shares: &Vec<f64>| shares.iter().any(|s| *s > 0.0);
        let shares = (now..=table.intervals()).map(at).find(some);
        (shares.unwrap_or_else(|| vec![1.0; entries.len()]), table.end(now))
    }
}

#[cfg(test)]
mod tests;
