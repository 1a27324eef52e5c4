//! Namespaces that come and go: a device with gaps and moved namespaces counts like one without.

use proptest::prelude::*;
use wafer_device::{Device, DeviceConfig, NamespaceError};
use wafer_interface::{Command, NsId, Placement, RuId, RuhId};

fn config() -> DeviceConfig {
    serde_json::from_value(serde_json::json!({
        "capacity": "32MiB", "reclaim_unit": { "size": "1MiB" }, "overprovisioning": 1.0,
        "handles": 3, "gc": { "forced_free": 0.1, "background_free": 0.2 },
    }))
    .unwrap()
}

/// A device without namespaces.
fn empty(seed: u64) -> Device {
    let mut device = Device::new(&config(), seed).unwrap();
    assert!(device.delete_namespace(NsId(0)));
    device
}

#[derive(Clone, Debug)]
enum Step {
    Create(u64, Vec<u16>),
    Delete(u8),
    Write(u8, u64, u32, u16),
    Deallocate(u8, u64, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let handles = prop::sample::subsequence(vec![0u16, 1, 2], 0..=3);
    prop_oneof![
        1 => (1..4000u64, handles).prop_map(|(pages, handles)| Step::Create(pages, handles)),
        1 => (0..6u8).prop_map(Step::Delete),
        20 => (0..6u8, 0..30_000u64, 1..2000u32, 0..4u16)
            .prop_map(|(n, lba, blocks, pid)| Step::Write(n, lba, blocks, pid)),
        3 => (0..6u8, 0..30_000u64, 1..9000u32)
            .prop_map(|(n, lba, blocks)| Step::Deallocate(n, lba, blocks)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn everything_holds_while_they_come_and_go(
        steps in prop::collection::vec(step(), 1..150), seed in 0..100u64,
    ) {
        let mut device = empty(seed);
        // The expected sizes, by number.
        let mut expected: Vec<Option<u64>> = Vec::new();
        for step in steps {
            match step {
                Step::Create(pages, handles) => {
                    let handles: Vec<RuhId> = handles.into_iter().map(RuhId).collect();
                    let left = 8192 - expected.iter().flatten().sum::<u64>();
                    prop_assert_eq!(device.unallocated_pages(), left);
                    let created = device.create_namespace(pages, &handles);
                    if pages > left {
                        prop_assert_eq!(created, Err(NamespaceError::Capacity { asked: pages, left }));
                        continue;
                    }
                    let number = expected.iter().position(Option::is_none).unwrap_or(expected.len());
                    prop_assert_eq!(created, Ok(NsId(number as u8)));
                    if number == expected.len() {
                        expected.push(None);
                    }
                    expected[number] = Some(pages);
                }
                Step::Delete(n) => {
                    let there = expected.get_mut(usize::from(n)).and_then(Option::take).is_some();
                    prop_assert_eq!(device.delete_namespace(NsId(n)), there);
                }
                Step::Write(n, lba, blocks, pid) => {
                    let before = device.counters();
                    device.apply(&[Command::write(lba, blocks, Placement(pid)).on(NsId(n))]);
                    let pages = expected.get(usize::from(n)).copied().flatten().unwrap_or(0);
                    let fits = lba + u64::from(blocks) <= pages * 8;
                    let written = device.counters().host_bytes - before.host_bytes;
                    prop_assert_eq!(written, if fits { u64::from(blocks) * 512 } else { 0 });
                }
                Step::Deallocate(n, lba, blocks) => {
                    device.apply(&[Command::deallocate(lba, blocks).on(NsId(n))]);
                }
            }
        }
        prop_assert_eq!(device.check_invariants(), Ok(()));
        for n in 0..expected.len() {
            device.delete_namespace(NsId(n as u8));
        }
        prop_assert_eq!(device.check_invariants(), Ok(()));
        let valid: u32 = (0..device.geometry().ru_count).map(|r| device.valid_pages(RuId(r))).sum();
        prop_assert_eq!(valid, 0, "all deleted, nothing valid");
    }
}

#[test]
fn a_move_keeps_the_data_of_every_namespace() {
    // Three namespaces fill the device; the middle one is deleted; one larger than either gap is created.
    let mut device = empty(1);
    for pages in [2000, 3000, 2000] {
        device.create_namespace(pages, &[RuhId(1)]).unwrap();
    }
    let fill = |n| Command::write(0, 16_000, Placement(0)).on(NsId(n));
    device.apply(&[fill(0), fill(2)]);
    assert!(device.delete_namespace(NsId(1)));
    let moved = device.create_namespace(4192, &[]).unwrap();
    assert_eq!((moved, device.unallocated_pages()), (NsId(1), 0));
    assert_eq!(device.check_invariants(), Ok(()));
    // The third still has its own data: deallocating it finds exactly its pages.
    device.apply(&[Command::deallocate(0, 16_000).on(NsId(2))]);
    assert_eq!(device.counters().deallocated_pages, 2000);
    device.apply(&[Command::deallocate(0, 16_000).on(NsId(1))]);
    assert_eq!(device.counters().deallocated_pages, 2000);
}

#[test]
fn lists_are_checked() {
    let mut device = empty(1);
    let refused = |device: &mut Device, handles: &[u16]| {
        let list: Vec<RuhId> = handles.iter().copied().map(RuhId).collect();
        device.create_namespace(1, &list).unwrap_err()
    };
    assert_eq!(refused(&mut device, &[3]), NamespaceError::Handle(RuhId(3)));
    assert_eq!(refused(&mut device, &[1, 1]), NamespaceError::Handle(RuhId(1)));
    assert_eq!(device.create_namespace(0, &[]), Err(NamespaceError::Empty));
    assert!(!device.delete_namespace(NsId(9)));
    let made = device.create_namespace(10, &[RuhId(2), RuhId(0)]).unwrap();
    assert_eq!(device.placements(made), [Placement(0), Placement(1)]);
}
