//! The engine against an array of bytes, and its capture against its counters.

use proptest::prelude::*;
use wafer_core::{Bytes, DeviceConfig};
use wafer_workload::trace::capture::{CaptureHeader, CaptureReader};

use super::*;
use crate::backend::memory::Memory;

fn device() -> Device {
    let text = serde_json::json!({
        "capacity": Bytes(8 << 20), "overprovisioning": 1.0, "handles": 2,
        "reclaim_unit": { "size": Bytes(1 << 20) },
        "namespaces": [{ "size": Bytes(5 << 20), "handles": [0] }, { "size": Bytes(3 << 20), "handles": [1] }],
    });
    let config: DeviceConfig = serde_json::from_value(text).unwrap();
    Device::new(&config, 1).unwrap()
}

fn header() -> CaptureHeader {
    crate::mount::capture_header(
        &device(),
        &serde_json::from_value(serde_json::json!({
            "capacity": Bytes(8 << 20), "overprovisioning": 1.0,
            "reclaim_unit": { "size": Bytes(1 << 20) },
        }))
        .unwrap(),
    )
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn it_is_an_array_of_bytes_whose_capture_replays(steps in prop::collection::vec(step(), 1..120)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.trace");
        let out = BufWriter::new(File::create(&path).unwrap());
        let capture = CaptureWriter::new(out, &header()).unwrap();
        let engine = Engine::new(device(), Box::new(Memory), Some(capture)).unwrap();
        let mut model = [vec![0u8; 5 << 20], vec![0u8; 3 << 20]];
        for step in steps {
            match step {
                Step::Write(n, offset, length, byte) => {
                    let data = vec![byte; length];
                    let fits = offset as usize + length <= model[n].len();
                    prop_assert_eq!(engine.write(n, offset, &data).is_ok(), fits);
                    if fits {
                        model[n][offset as usize..offset as usize + length].fill(byte);
                    }
                }
                Step::Read(n, offset, length) => {
                    let mut buffer = vec![0xee; length];
                    let got = engine.read(n, offset, &mut buffer).unwrap();
                    let from = (offset as usize).min(model[n].len());
                    let to = (from + length).min(model[n].len());
                    prop_assert_eq!(&buffer[..got], &model[n][from..to]);
                }
                Step::Deallocate(n, offset, length) => {
                    engine.deallocate(n, offset, length).unwrap();
                    let from = (offset as usize).min(model[n].len());
                    let to = (from + length as usize).min(model[n].len());
                    model[n][from..to].fill(0);
                }
                Step::Flush(n) => engine.flush(n).unwrap(),
            }
        }
        engine.finish().unwrap();
        let mut replay = device();
        let reader = CaptureReader::new(File::open(&path).unwrap()).unwrap();
        for record in reader {
            if let CaptureEvent::Command(command) = record.unwrap().event {
                replay.apply(&[command]);
            }
        }
        let counters = engine.counters();
        prop_assert_eq!(counters.host_bytes, replay.counters().host_bytes);
        prop_assert_eq!(counters.media_bytes, replay.counters().media_bytes);
        prop_assert_eq!(counters.deallocated_pages, replay.counters().deallocated_pages);
    }
}
