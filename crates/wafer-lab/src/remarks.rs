//! Remarks that the reader of a record should see before its figures.

use wafer_record::{Cause, Record, text};

/// Returns reasons why figures of a record do not have their usual meaning: the drive became read-only, nothing was
/// written, nothing was read from the flash, the drive was not steady, a search did not finish, or the drive rejected
/// most commands.
pub fn warnings(record: &Record) -> Vec<String> {
    let (name, summary) = (&record.name, &record.summary);
    let mut warnings = Vec::new();
    if summary.wear.is_some_and(|wear| wear.read_only) {
        let written = text::bytes(summary.host_bytes);
        warnings.push(format!(
            "{name}: the drive became read-only after {written}; the run ends there"
        ));
    } else if summary.host_bytes == 0 && record.time.is_none() {
        // Not a failure: fio, too, exits with 0 after a job that only reads.
        warnings.push(format!("{name}: nothing was written, so its WAF of 1 is meaningless"));
    }
    if let Some(time) = &record.time
        && time.read.as_ref().is_some_and(|read| read.count > 0)
        && time.dies.get("host_read").is_none_or(|share| *share == 0.0)
    {
        warnings.push(format!(
            "{name}: no read reached the flash: the data had not been written or was still in the write buffer; \
             a precondition fills the drive first"
        ));
    }
    if let Some(steady) = record.steady.as_ref().filter(|steady| !steady.reached) {
        let why = match steady.change {
            Some(change) => format!("WAF still changed by {:.1} %", change.abs() * 100.0),
            None => "the workload ended first".to_owned(),
        };
        warnings.push(format!("{name}: not steady after {} capacities: {why}", steady.capacities));
    }
    let searching = record.application.iter().filter(|f| f.name == "latency_search_unfinished");
    warnings.extend(searching.map(|figure| {
        format!(
            "{name}: job {} ended before its search for the queue depth of latency_target did: give it a longer runtime, or \
             shorter windows",
            figure.tenant
        )
    }));
    let findings = record.findings.iter().flatten();
    let rejected = findings.filter(|found| matches!(found.cause, Cause::MostlyRejected { .. }));
    warnings.extend(rejected.map(|found| format!("{name}: {found}")));
    warnings
}

/// Returns a remark if the jobs ended before the requested volume was reached.
pub fn early_end(record: &Record) -> Option<String> {
    let volume = record.provenance.workload.as_ref()?.volume?;
    let (written, is_read_only) =
        (record.summary.host_bytes, record.summary.wear.is_some_and(|wear| wear.read_only));
    let is_early = written > 0 && !is_read_only && written < volume.bytes(record.logical_bytes());
    let reached = text::bytes(written);
    is_early.then(|| format!("{}: the jobs ended after {reached}, before {volume}", record.name))
}
