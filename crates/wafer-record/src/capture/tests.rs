use proptest::prelude::*;
use wafer_device::{DeviceConfig, Geometry};
use wafer_interface::{Bytes, Command, NsId, Op, Placement};

use super::*;

fn header() -> CaptureHeader {
    let device: DeviceConfig = serde_json::from_value(serde_json::json!({
        "capacity": "64MiB", "reclaim_unit": { "size": "1MiB" }, "overprovisioning": 0.5,
    }))
    .unwrap();
    let geometry = CaptureGeometry::from(&Geometry::resolve(&device).unwrap());
    let handles = vec![0, 1];
    CaptureHeader {
        format: "wafer.capture/1".to_owned(),
        software: "test".to_owned(),
        started_unix_ms: 1,
        earlier_media_bytes: 7,
        drive: None,
        geometry,
        namespaces: vec![CaptureNamespace {
            namespace: 0,
            blocks: Bytes(64 << 20).0 / 512,
            lba_bytes: 4096,
            handles,
        }],
        device,
    }
}

fn event() -> impl Strategy<Value = CaptureEvent> {
    let namespace = any::<u8>().prop_map(NsId);
    let placement = any::<u16>().prop_map(Placement);
    let op = prop_oneof![Just(Op::Write), Just(Op::Deallocate), Just(Op::Read)];
    let command = CaptureEvent::Command;
    prop_oneof![
        8 => (any::<u64>(), any::<u32>(), placement.clone(), op, namespace.clone()).prop_map(
            |(lba, blocks, placement, op, namespace)| {
                CaptureEvent::Command(Command { lba, blocks, placement, op, namespace })
            }
        ),
        1 => namespace.clone().prop_map(move |n| command(Command::flush(n))),
        1 => (namespace.clone(), placement).prop_map(move |(n, p)| command(Command::update(n, p))),
        1 => (namespace.clone(), any::<u64>(), prop::collection::vec(any::<u16>(), 0..=128))
            .prop_map(|(namespace, blocks, handles)| {
                CaptureEvent::CreateNamespace { namespace, blocks, handles }
            }),
        1 => namespace.prop_map(CaptureEvent::DeleteNamespace),
        1 => any::<bool>().prop_map(CaptureEvent::SetFdp),
    ]
}

fn records() -> impl Strategy<Value = Vec<CaptureRecord>> {
    let delta = prop_oneof![4 => 0..1_000_000u64, 1 => 0..u64::from(u32::MAX) * 5];
    prop::collection::vec((delta, any::<u16>(), event()), 0..200).prop_map(|list| {
        let mut time_ns = 0;
        let record = |(delta, host, event)| {
            time_ns += delta;
            CaptureRecord { time_ns, host, event }
        };
        list.into_iter().map(record).collect()
    })
}

/// Writes records, ending a frame after every `frame` of them.
fn written(records: &[CaptureRecord], frame: usize) -> Vec<u8> {
    let mut writer = CaptureWriter::new(Vec::new(), &header()).unwrap();
    for part in records.chunks(frame) {
        for record in part {
            writer.record(record).unwrap();
        }
        writer.flush().unwrap();
    }
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read(records in records(), frame in 1..300usize) {
        let bytes = written(&records, frame);
        let mut reader = CaptureReader::new(&bytes[..]).unwrap();
        prop_assert_eq!(reader.header(), &header());
        let read: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
        prop_assert!(!reader.is_truncated());
        prop_assert_eq!(read, records);
    }

    #[test]
    fn a_file_cut_off_gives_its_whole_frames(
        records in records(), frame in 1..50usize, cut in 0.0..1.0f64,
    ) {
        let bytes = written(&records, frame);
        let head = written(&[], 1).len();
        let end = head + ((bytes.len() - head) as f64 * cut) as usize;
        let mut reader = CaptureReader::new(&bytes[..end]).unwrap();
        let read: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
        prop_assert_eq!(&read[..], &records[..read.len()]);
        // At least all frames that are complete.
        let whole = (0..=records.len())
            .step_by(frame)
            .filter(|n| written(&records[..*n], frame).len() <= end)
            .last()
            .unwrap_or(0);
        prop_assert!(read.len() >= whole, "{} of {whole}", read.len());
    }

    #[test]
    fn damage_is_an_error_or_an_end_and_never_a_panic(
        records in records(), at in any::<prop::sample::Index>(), bit in 0..8u8,
    ) {
        let mut bytes = written(&records, 20);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(reader) = CaptureReader::new(&bytes[..]) {
            for record in reader.take(10_000) {
                if record.is_err() {
                    break;
                }
            }
        }
    }
}

#[test]
fn other_files_are_refused() {
    let refused = |bytes: &[u8]| CaptureReader::new(bytes).err().unwrap().to_string();
    assert_eq!(refused(b""), "not a capture: it does not begin with `WAFERCAP`");
    assert_eq!(refused(&[b'x'; 64]), "not a capture: it does not begin with `WAFERCAP`");
    let mut newer = written(&[], 1);
    newer[8] = 9;
    assert_eq!(refused(&newer), "capture version 9; this program reads version 1");
    // An error that quotes the header is one line.
    let mut broken = written(&[], 1);
    let at = broken.windows(12).position(|w| w == b"reclaim_unit").unwrap();
    broken[at + 8] = b'\n';
    let error = refused(&broken);
    assert!(error.contains("damaged") && !error.contains('\n'), "{error}");
    let cut = written(&[], 1);
    assert_eq!(refused(&cut[..40]), "the header of the capture is damaged: the file ends in it");
}

#[test]
fn random_writes_take_few_bytes() {
    let mut state = 1u64;
    let records: Vec<_> = (0..100_000u64)
        .map(|i| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let command = Command::write((state >> 40) % 100_000 * 8, 8, Placement(2));
            let event = CaptureEvent::Command(command);
            CaptureRecord { time_ns: i * 10_000 + (state >> 33) % 5000, host: 0, event }
        })
        .collect();
    let bytes = written(&records, usize::MAX);
    let each = bytes.len() as f64 / records.len() as f64;
    // 17 bits of address and 12 of time are random: at least 3.7 bytes.
    assert!(each < 10.0, "{each}");
}
