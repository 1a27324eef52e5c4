//! The data of a page.

use serde::Serialize;
use wafer_record::{Finding, Record, comparison};

/// The data of a page, embedded in a report or sent by a server.
#[derive(Debug, Serialize)]
pub struct Page {
    /// The runs in order.
    runs: Vec<Run>,
    /// Findings of the comparison of the runs.
    comparison: Vec<Finding>,
}

/// A record with its label.
#[derive(Debug, Serialize)]
struct Run {
    /// The name of the record, with its seed or a number where names repeat.
    label: String,
    record: Record,
}

impl Page {
    /// Prepares records for a page.
    pub fn new(mut records: Vec<Record>) -> Self {
        records.iter_mut().for_each(Record::complete);
        let labels = labels(&records);
        let comparison = comparison(&records, &labels);
        let runs = labels.into_iter().zip(records).map(|(label, record)| Run { label, record });
        Page { runs: runs.collect(), comparison }
    }
}

/// Returns labels that differ: the seed, then a number, is added where names are the same.
fn labels(records: &[Record]) -> Vec<String> {
    let differ = |labels: &[String]| {
        labels.iter().collect::<std::collections::BTreeSet<_>>().len() == labels.len()
    };
    let names: Vec<String> = records.iter().map(|r| r.name.clone()).collect();
    if differ(&names) {
        return names;
    }
    let seed = |r: &Record| r.provenance.seed.map_or("–".to_owned(), |seed| seed.to_string());
    let seeded: Vec<String> =
        records.iter().map(|r| format!("{}, seed {}", r.name, seed(r))).collect();
    if differ(&seeded) {
        return seeded;
    }
    seeded.into_iter().enumerate().map(|(n, label)| format!("{label} ({})", n + 1)).collect()
}
