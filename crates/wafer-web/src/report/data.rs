//! The data of a page.

use serde::Serialize;
use wafer_record::{Finding, Record, comparison, labels};

use crate::report::thin::{MANY, thin};

/// The data of a page, embedded in a report or sent by a server.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The runs in order.
    pub(super) runs: Vec<Run>,
    /// Findings of the comparison of the runs.
    pub(super) comparison: Vec<Finding>,
    /// Whether the records are thinned, because there are many.
    thinned: bool,
}

/// A record with its label.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    /// Label that distinguishes the run from the others on the page.
    pub(super) label: String,
    /// Whether a write buffer or an SLC cache merges writes, so that the WAF of a handle can be below 1.
    pub(super) unites_writes: bool,
    pub(super) record: Record,
}

impl Page {
    /// Prepares records for a page.
    pub fn new(mut records: Vec<Record>) -> Self {
        records.iter_mut().for_each(Record::complete);
        let labels = labels(&records);
        let comparison = comparison(&records, &labels);
        let thinned = records.len() > MANY;
        if thinned {
            records = records.into_iter().map(thin).collect();
        }
        let runs = labels.into_iter().zip(records).map(|(label, record)| Run {
            label,
            unites_writes: record.unites_writes(),
            record,
        });
        Page { runs: runs.collect(), comparison, thinned }
    }
}
