//! Several jobs on one handle.

use std::collections::BTreeMap;
use std::path::PathBuf;

use wafer_lab::{Experiment, FioSource, Workload};
use wafer_record::record::JobRecord;

use super::{AVOIDABLE, Case, Counterfactual, Measure};

/// Maximum number of handles given to jobs.
const MOST: usize = 32;
/// fio options that choose a placement.
const PLACING: [&str; 6] =
    ["fdp", "fdp_pli", "plids", "dataplacement", "dp_scheme", "fdp_pli_select"];

pub(super) fn plan(case: &Case<'_>) -> Vec<Counterfactual> {
    let writers = case.writers();
    let shared = shared(&writers);
    if case.workload.kind != "fio" || shared.is_empty() || !case.is_plain() || writers.len() > MOST
    {
        return Vec::new();
    }
    let sequential =
        shared.iter().any(|job| matches!(job.rw.as_str(), "write" | "rw" | "readwrite"));
    let random = shared.iter().any(|job| job.rw.starts_with("rand"));
    let (cause, advice) =
        match (sequential && random, writers.len() > 2 && case.handles().len() == 1) {
            (true, _) => (
                "log_with_random",
                "a sequential stream invalidates itself in order; give it its own handle.",
            ),
            (_, true) => ("one_handle", "all jobs write through one handle; give each its own."),
            _ => (
                "shared_handle",
                "jobs whose data has different lifetimes share a handle; give each its own.",
            ),
        };
    let handles = case.base.device.config.handles.max(writers.len() as u16);
    let device = ["fdp=true".to_owned(), format!("handles={handles}")];
    let Some(control) = case.with_device(&device) else { return Vec::new() };
    let text = apart(&case.workload.text, &writers);
    let path = PathBuf::from(&case.workload.path);
    let workload = Workload::new(FioSource { path, text });
    vec![Counterfactual {
        cause,
        experiment: Experiment { workload, ..control.clone() },
        measure: Measure::Beside(Box::new(control)),
        what: "With a handle for each job".to_owned(),
        advice,
        weight: AVOIDABLE,
    }]
}

/// Returns the jobs that share a handle with another job.
fn shared<'a>(writers: &[&'a JobRecord]) -> Vec<&'a JobRecord> {
    let mut users: BTreeMap<u16, Vec<&JobRecord>> = BTreeMap::new();
    for job in writers {
        for handle in &job.handles {
            users.entry(*handle).or_default().push(job);
        }
    }
    users.into_values().filter(|jobs| jobs.len() > 1).flatten().collect()
}

/// Returns the job file with its own handle for each job.
fn apart(text: &str, writers: &[&JobRecord]) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let key = line.split('=').next().unwrap_or_default().trim();
        if PLACING.contains(&key) {
            continue;
        }
        out += line;
        out.push('\n');
        let section = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next());
        if let Some(at) = section.and_then(|name| writers.iter().position(|job| job.name == name)) {
            out += &format!("fdp=1\nfdp_pli={at}\n");
        }
    }
    out
}
