//! Readers of files on arbitrary bytes derived from the committed seeds; see `fuzz/README.md`.

#[path = "../../../fuzz/bounded.rs"]
mod bounded;
#[path = "../../../fuzz/drive.rs"]
mod drive;
#[path = "../../../fuzz/readers.rs"]
mod readers;

use wafer_interface::{Command, NsId, Placement};
use wafer_record::capture::{CaptureEvent, CaptureHeader, CaptureRecord, CaptureWriter};

/// Returns a capture with every kind of record.
fn capture() -> Vec<u8> {
    let header: CaptureHeader = serde_json::from_value(serde_json::json!({
        "format": "wafer.capture/1", "software": "fuzz", "started_unix_ms": 0,
        "device": { "capacity": "4MiB", "reclaim_unit": { "size": "1MiB", "count": 14 }, "handles": 2 },
        "geometry": {
            "page_bytes": 4096, "logical_pages": 1024, "pages_per_ru": 256, "ru_count": 14, "groups": 1, "handles": 2,
        },
        "namespaces": [{ "namespace": 0, "blocks": 8192, "lba_bytes": 512, "handles": [0, 1] }],
    }))
    .unwrap();
    let mut writer = CaptureWriter::new(Vec::new(), &header).unwrap();
    let commands = [
        Command::write(0, 8, Placement(1)),
        Command::write(64, 16, Placement::NONE),
        Command::deallocate(0, 8),
    ];
    let mut events: Vec<CaptureEvent> = commands.map(CaptureEvent::Command).to_vec();
    events.push(CaptureEvent::DeleteNamespace(NsId(0)));
    events.push(CaptureEvent::SetFdp(false));
    events.push(CaptureEvent::CreateNamespace {
        namespace: NsId(0),
        blocks: 4096,
        handles: vec![0, 1, 0, 1, 0],
    });
    for (at, event) in events.into_iter().enumerate() {
        let time_ns = at as u64 * 5_000_000_000;
        writer.record(&CaptureRecord { time_ns, host: 0, event }).unwrap();
    }
    writer.finish().unwrap()
}

fn configs() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/devices");
    ["warp", "warp-pi", "drive-a", "pm9d3"]
        .map(|name| std::fs::read(format!("{folder}/{name}.toml")).unwrap())
        .to_vec()
}

#[test]
fn what_is_right_is_read() {
    let signature = readers::capture(&capture());
    for kind in [0, 1, 98, 99, 105] {
        assert!(signature.contains(&(2, kind, 0)), "{kind}: {signature:?}");
    }
    assert!(signature.contains(&(4, 0, 0)), "its end is there");
    let blkparse = b"\x008,0 0 1 0.000000000 7 C W 8 + 8 [a]\n";
    assert!(readers::trace(blkparse).contains(&(2, 4, 0)), "a write of blkparse");
    for text in configs() {
        assert!(readers::config(&text).contains(&(1, 0, 0)));
    }
}

#[test]
fn hostile_captures() {
    bounded::fuzz("capture", readers::capture, vec![capture()], 4);
}

#[test]
fn hostile_traces() {
    bounded::fuzz("trace", readers::trace, Vec::new(), 4);
}

#[test]
fn hostile_configurations() {
    bounded::fuzz("config", readers::config, configs(), 4);
}

#[test]
fn hostile_job_files() {
    bounded::fuzz("job", readers::job, Vec::new(), 4);
}

#[test]
fn hostile_experiments() {
    bounded::fuzz("experiment", readers::experiment, Vec::new(), 4);
}

#[test]
fn hostile_records() {
    bounded::fuzz("record", readers::record, Vec::new(), 4);
}

/// Returns drives that were closed or killed: some with a state alone, some with a journal.
fn drives() -> Vec<Vec<u8>> {
    let kinds = [(0, true), (40, true), (300, true), (0, false), (40, false), (300, false)];
    kinds.map(|(count, closed)| drive::sample(count, closed)).to_vec()
}

#[test]
fn hostile_drives() {
    for input in drives() {
        let signature = drive::drive(&input);
        assert!(
            signature.iter().all(|(kind, _, namespaces)| (*kind, *namespaces) == (2, 2)),
            "{signature:?}"
        );
    }
    bounded::fuzz("drive", drive::drive, drives(), 6);
}
