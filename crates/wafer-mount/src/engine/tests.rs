//! The engine against a byte array, and its capture against its counters.

use std::fs::File;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use wafer_device::{Device, DeviceConfig};
use wafer_drive::{DriveOptions, Protection};
use wafer_interface::Bytes;
use wafer_record::capture::{CaptureEvent, CaptureReader};
use wafer_record::time::Requests;
use wafer_storage::DataSpec;

use super::*;

fn config() -> DeviceConfig {
    let config = serde_json::json!({
        "capacity": Bytes(8 << 20), "overprovisioning": 1.0, "handles": 2,
        "reclaim_unit": { "size": Bytes(1 << 20) },
        "namespaces": [
            { "size": Bytes(5 << 20), "handles": [0] },
            { "size": Bytes(3 << 20), "handles": [1] },
        ],
    });
    serde_json::from_value(config).unwrap()
}

fn drive() -> Drive {
    drive_of(config())
}

fn drive_of(device: DeviceConfig) -> Drive {
    let options = DriveOptions {
        device,
        seed: 1,
        data: DataSpec::Memory,
        lba_bytes: 512,
        events_enabled: false,
        given: Default::default(),
    };
    Drive::new(options).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize, u64, usize, u8),
    Read(usize, u64, usize),
    Deallocate(usize, u64, u64),
    Flush(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0u64..(6 << 20);
    prop_oneof![
        4 => (0..2usize, at.clone(), 0..100_000usize, any::<u8>())
            .prop_map(|(n, o, l, b)| Step::Write(n, o, l, b)),
        2 => (0..2usize, at.clone(), 0..100_000usize).prop_map(|(n, o, l)| Step::Read(n, o, l)),
        2 => (0..2usize, at, 0..3_000_000u64).prop_map(|(n, o, l)| Step::Deallocate(n, o, l)),
        1 => (0..2usize).prop_map(Step::Flush),
    ]
}

#[test]
fn what_hosts_protected_or_marked_stays_so() {
    let drive = drive();
    drive.protect(0, 1, Protection::Protected).unwrap();
    let marked = drive.namespace(2).unwrap();
    drive.mark_uncorrectable(&marked, 4096, 512).unwrap();
    let engine = Engine::new(drive, "m".into(), Provenance::default());
    let read_only = io::ErrorKind::ReadOnlyFilesystem;
    assert_eq!(engine.write(0, 0, 0, &[1]).unwrap_err().kind(), read_only);
    assert_eq!(engine.deallocate(0, 0, 0, 4096).unwrap_err().kind(), read_only);
    assert_eq!(engine.read(0, 0, 0, &mut [0; 512]).unwrap(), 512);
    engine.read(0, 1, 4000, &mut [0; 512]).unwrap_err();
    engine.write(0, 1, 4096, &[1; 512]).unwrap();
    engine.read(0, 1, 4000, &mut [0; 512]).unwrap();
    engine.drive.protect(0, 1, Protection::None).unwrap();
    engine.drive.begin_sanitize(2).unwrap();
    engine.read(0, 0, 0, &mut [0; 512]).unwrap_err();
    assert_eq!(engine.write(0, 0, 0, &[1]).unwrap_err().kind(), read_only);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn it_is_an_array_of_bytes_whose_capture_replays(steps in prop::collection::vec(step(), 1..120)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.trace");
        let drive = drive();
        drive.record(&path).unwrap();
        let engine = Engine::new(drive, "t".to_owned(), Default::default());
        let mut model = [vec![0u8; 5 << 20], vec![0u8; 3 << 20]];
        for step in steps {
            match step {
                Step::Write(n, offset, length, byte) => {
                    let from = (offset as usize).min(model[n].len());
                    let to = (from + length).min(model[n].len());
                    let written = engine.write(0, n, offset, &vec![byte; length]).ok();
                    prop_assert_eq!(written, Some(to - from).filter(|count| *count > 0 || length == 0));
                    model[n][from..to].fill(byte);
                }
                Step::Read(n, offset, length) => {
                    let mut buffer = vec![0xee; length];
                    let got = engine.read(0, n, offset, &mut buffer).unwrap();
                    let from = (offset as usize).min(model[n].len());
                    let to = (from + length).min(model[n].len());
                    prop_assert_eq!(&buffer[..got], &model[n][from..to]);
                }
                Step::Deallocate(n, offset, length) => {
                    engine.deallocate(0, n, offset, length).unwrap();
                    let from = (offset as usize).min(model[n].len());
                    let to = (from + length as usize).min(model[n].len());
                    model[n][from..to].fill(0);
                }
                Step::Flush(n) => engine.flush(0, n).unwrap(),
            }
        }
        engine.close().unwrap();
        let mut replay = Device::new(&config(), 1).unwrap();
        let reader = CaptureReader::new(File::open(&path).unwrap()).unwrap();
        let mut reads = 0;
        for record in reader {
            if let CaptureEvent::Command(command) = record.unwrap().event {
                replay.apply(&[command]);
                reads += u64::from(command.op == Op::Read);
            }
        }
        let record = engine.record();
        prop_assert_eq!(record.live.unwrap().drive.unwrap().read_commands, reads);
        let counters = record.summary;
        prop_assert_eq!(counters.commands.unwrap(), replay.counters().commands);
        prop_assert_eq!(counters.host_bytes, replay.counters().host_bytes);
        prop_assert_eq!(counters.media_bytes, replay.counters().media_bytes);
        prop_assert_eq!(counters.deallocated_pages.unwrap(), replay.counters().deallocated_pages);
    }
}

/// Returns the engine of a drive with this cell read time.
fn timed(cells: Duration) -> Engine {
    let timing = serde_json::json!({
        "dies": 4, "read_us": cells.as_micros() as u64, "program_us": 1000, "slice_us": 100, "write_buffer": "192KiB",
        "read_overhead_us": 10, "write_overhead_us": 5, "link_read": "3GB", "link_write": "3GB",
    });
    let timing = Some(serde_json::from_value(timing).unwrap());
    let drive = drive_of(DeviceConfig { timing, ..config() });
    drive.emulate().unwrap();
    Engine::new(drive, "t".into(), Provenance::default())
}

#[test]
fn a_reply_waits_for_the_media() {
    let cells = Duration::from_millis(40);
    let engine = timed(cells);
    let (sender, replies) = channel();
    let reply = |ticket: u64| {
        let sender = sender.clone();
        engine.reply(ticket, move || sender.send((ticket, Instant::now())).unwrap());
    };
    // More than the buffer holds.
    for unit in 0..16 {
        let ticket = engine.ticket();
        engine.write(ticket, 0, unit << 16, &[1; 1 << 16]).unwrap();
        reply(ticket);
        assert_eq!(replies.recv().unwrap().0, ticket);
    }
    let began = Instant::now();
    let (read, unmapped) = (engine.ticket(), engine.ticket());
    let mut buffer = [0; 4096];
    engine.read(read, 0, 0, &mut buffer).unwrap();
    engine.read(unmapped, 1, 0, &mut buffer).unwrap();
    reply(read);
    reply(unmapped);
    // Unwritten data is read without accessing the cells.
    assert_eq!(replies.recv().unwrap().0, unmapped);
    let (ticket, at) = replies.recv().unwrap();
    assert!(ticket == read && at - began >= cells);
    // A deallocation of nothing takes no time.
    let nothing = engine.ticket();
    engine.deallocate(nothing, 0, 0, 0).unwrap();
    reply(nothing);
    assert_eq!(replies.try_recv().unwrap().0, nothing);
    let flush = engine.ticket();
    engine.flush(flush, 0).unwrap();
    reply(flush);
    assert_eq!(replies.recv().unwrap().0, flush);
    let of = |record: &Record| {
        let time = record.time.as_ref().unwrap();
        let count = |requests: &Option<Requests>| requests.as_ref().map_or(0, |all| all.count);
        [count(&time.read), count(&time.write), count(&time.flush)]
    };
    let record = engine.record();
    assert_eq!(of(&record), [2, 16, 1]);
    let time = record.time.unwrap();
    assert!(time.read.unwrap().max_us >= 40_000.0 && !time.late_us.is_empty());
    assert_eq!(time.handles.len(), 1);
}
