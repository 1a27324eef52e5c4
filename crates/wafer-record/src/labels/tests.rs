use super::*;
use crate::Timeline;
use crate::record::{Provenance, Summary};

fn record(name: &str, policy: &str, seed: u64, op: f64) -> Record {
    let config = serde_json::json!({ "gc": { "policy": policy }, "overprovisioning": op });
    let provenance = Provenance { seed: Some(seed), config: Some(config), ..Provenance::default() };
    Record::new(name.to_owned(), provenance, Summary::default(), Timeline::default())
}

fn of(records: &[Record]) -> Vec<String> {
    let labels = labels(records);
    assert_eq!(distinct(&labels), records.len(), "{labels:?}");
    labels
}

#[test]
fn runs_are_told_apart_by_what_differs() {
    assert_eq!(of(&[record("a", "fifo", 0, 0.1)]), ["a"]);
    assert_eq!(of(&[record("a", "fifo", 0, 0.1), record("b", "fifo", 0, 0.1)]), ["a", "b"]);
    let policies = [record("a", "fifo", 0, 0.1), record("a", "greedy", 0, 0.1)];
    assert_eq!(of(&policies), ["gc.policy = fifo", "gc.policy = greedy"]);
    let seeds = [record("a", "fifo", 0, 0.1), record("a", "fifo", 1, 0.1)];
    assert_eq!(of(&seeds), ["seed = 0", "seed = 1"]);
    let both =
        [record("a", "fifo", 0, 0.1), record("a", "fifo", 1, 0.1), record("a", "greedy", 0, 0.1)];
    assert_eq!(of(&both)[2], "gc.policy = greedy, seed = 0");
    // A volume is less informative than a setting of the drive.
    let mut long = record("a", "greedy", 1, 0.1);
    let workload = serde_json::json!({
        "kind": "fio", "path": "", "text": "", "volume": "9x", "pace": null, "pace_from": null,
        "precondition": "fresh", "ignored": [],
    });
    long.provenance.workload = Some(serde_json::from_value(workload).unwrap());
    assert_eq!(of(&[record("a", "fifo", 0, 0.1), long])[1], "gc.policy = greedy");
    let timed = Record { time: Some(crate::TimeRecord::default()), ..record("a", "fifo", 0, 0.1) };
    assert_eq!(of(&[record("a", "fifo", 0, 0.1), timed]), ["clock = no", "clock = yes"]);
    // Names that differ remain in front.
    let names =
        [record("a", "fifo", 0, 0.1), record("a", "greedy", 0, 0.1), record("b", "greedy", 0, 0.1)];
    assert_eq!(of(&names)[1..], ["a, gc.policy = greedy", "b"]);
    // A sweep over four settings: a number would hide the fourth.
    let sweep: Vec<Record> = (0..16)
        .map(|i: u32| {
            let policy = ["fifo", "greedy"][usize::from(i & 1 == 1)];
            let mut record =
                record("a", policy, u64::from(i >> 1 & 1), 0.1 + f64::from(i >> 2 & 1));
            if let Some(config) = &mut record.provenance.config {
                config["isolation"] = ["initially", "persistently"][usize::from(i >= 8)].into();
            }
            record
        })
        .collect();
    let labels = of(&sweep);
    assert!(labels.iter().all(|label| label.matches(" = ").count() == 4), "{labels:?}");
    let same = [record("a", "fifo", 0, 0.1), record("a", "fifo", 0, 0.1)];
    assert_eq!(of(&same), ["a (1)", "a (2)"]);
}
