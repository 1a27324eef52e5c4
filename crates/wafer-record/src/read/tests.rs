use serde_json::json;

use super::*;

fn example() -> Value {
    json!({
        "schema": SCHEMA, "name": "a", "provenance": {},
        "summary": { "host_bytes": 2, "media_bytes": 4, "waf": 2.0 },
        "timeline": { "host_bytes": [1, 2], "media_bytes": [1, 4],
            "handles": { "0": { "host_bytes": [1, 2], "media_bytes": [1, 4] } } },
    })
}

#[test]
fn errors_name_the_place() {
    let message = |text: &str| records_of_text("r.json", text).unwrap_err().to_string();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut record = example();
        change(&mut record);
        message(&record.to_string())
    };
    assert_eq!(message("{\n"), "r.json:2: not JSON: EOF while parsing an object");
    assert_eq!(message("{}"), "r.json: schema: missing; not a record (wafer.result/1)");
    assert_eq!(message("[]"), "r.json: an empty array");
    assert_eq!(
        with(&|r| r["schema"] = json!("x/2")),
        "r.json: schema: expected \"wafer.result/1\", found \"x/2\""
    );
    assert_eq!(
        with(&|r| r["schema"] = json!("wafer.compare/1")),
        "r.json: schema: expected \"wafer.result/1\", found \"wafer.compare/1\", a ranking; give records \
         that `wafer run --json` wrote"
    );
    assert_eq!(
        with(&|r| r["timeline"]["media_bytes"] = json!([1])),
        "r.json: timeline.media_bytes: 1 points, expected 2 as in host_bytes"
    );
    assert_eq!(
        with(&|r| r["timeline"]["handles"]["0"]["host_bytes"] = json!([2, 1])),
        "r.json: timeline.handles.0.host_bytes: point 1 is less than the one before"
    );
    assert_eq!(
        with(&|r| r["summary"]["host_bytes"] = json!(-1)),
        "r.json: summary.host_bytes: invalid value: integer `-1`, expected u64"
    );
    let geometry = json!({ "page_bytes": 4096, "logical_pages": 900, "pages_per_ru": 256,
        "ru_count": 4, "groups": 1, "forced_free": 1, "background_free": 1, "overprovisioning": 0.1 });
    for (key, value, reason) in [
        ("page_bytes", 0, "must be above 0"),
        ("logical_pages", 0, "must be above 0"),
        ("logical_pages", u64::MAX, "more than 8 EiB"),
        ("page_bytes", 1 << 54, "more than 8 EiB"),
    ] {
        let message = with(&|r| {
            r["provenance"]["geometry"] = geometry.clone();
            r["provenance"]["geometry"][key] = json!(value);
        });
        assert!(message.starts_with("r.json: provenance.geometry."), "{message}");
        assert!(message.ends_with(reason), "{key} {value}: {message}");
    }
    let units = json!({ "pages": 1, "count": 0, "stride": 0, "owners": [], "owner": [], "valid": [],
        "erases": [], "open": [] });
    assert_eq!(
        with(&|r| r["reclaim_units"] = units.clone()),
        "r.json: reclaim_units: stride must be above 0"
    );
    assert_eq!(
        read_records(Path::new("/nonexistent.json")).unwrap_err().to_string(),
        "/nonexistent.json: no such file"
    );
}

#[test]
fn folders_and_tables_of_studies_give_their_records() {
    let folder = tempfile::tempdir().unwrap();
    assert!(read_records(folder.path()).is_err());
    let names = |path: &Path| -> Vec<String> {
        read_records(path).unwrap().into_iter().map(|r| r.name).collect()
    };
    for name in ["b", "a"] {
        let mut record = example();
        record["name"] = json!(name);
        std::fs::write(folder.path().join(format!("{name}.json")), record.to_string()).unwrap();
    }
    std::fs::write(folder.path().join("other.json"), "{\"schema\": \"x/1\"}").unwrap();
    assert_eq!(names(folder.path()), ["a", "b"]);
    let table = json!({ "schema": REPRODUCE, "rows": [
        { "id": "x", "result": "b.json" }, { "id": "y", "result": null }, { "id": "z", "result": "b.json" },
    ] });
    let path = folder.path().join("reproduce.json");
    std::fs::write(&path, table.to_string()).unwrap();
    assert_eq!(names(&path), ["b"]);
}

#[test]
fn old_records_get_metrics_findings_and_their_source() {
    let read = |value: Value| records_of_text("r", &value.to_string()).unwrap().remove(0);
    let record = read(example());
    assert_eq!(record.metrics.unwrap().device.instantaneous, [Some(1.0), Some(3.0)]);
    assert!(!record.findings.unwrap().is_empty());
    let mut live = example();
    live["live"] = json!({ "state": "running", "free_open_closed": [1, 2, 3], "connections": [],
        "event_counts": [["media reallocated", 7]], "events": [] });
    assert_eq!(read(live).provenance.kind, crate::record::Kind::Live);
}
