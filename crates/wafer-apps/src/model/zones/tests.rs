use std::collections::HashMap;

use super::*;

/// Each zone is deallocated, then written once from start to end with one handle before it is deallocated again;
/// no more zones are open than configured.
#[test]
fn zones_are_written_in_sequence() {
    let (zone, write) = (1 << 20, 16 << 10);
    let config = ZonesConfig {
        zone: Bytes(zone),
        open: 3,
        write: Bytes(write),
        handles: vec![2, 5],
        ..Default::default()
    };
    let mut app = config.application(&Space::single((40 << 20) + 5000 * 512, 8), 1).unwrap();
    let (mut out, mut pointers, mut seen) = (Vec::new(), HashMap::new(), [0_u32; 42]);
    for _ in 0..100_000 {
        app.step(&mut out);
    }
    for command in out {
        let (at, bytes) = (command.lba * LBA_BYTES, command.bytes());
        let number = at / zone;
        if command.op == Op::Deallocate {
            assert_eq!((at % zone, bytes), (0, zone));
            assert!(pointers.insert(number, (0, command.placement)).is_none(), "{number} is open");
            assert!(pointers.len() <= 3);
            seen[number as usize] += 1;
            continue;
        }
        let (written, handle) = pointers.get_mut(&number).expect("an open zone");
        assert_eq!((at % zone, bytes), (*written, write));
        if *written == 0 {
            *handle = command.placement;
        }
        assert_eq!(*handle, command.placement, "{number}");
        *written += write;
        if *written == zone {
            pointers.remove(&number);
        }
    }
    assert!(seen.iter().all(|n| *n > 10), "every zone has its turn: {seen:?}");
}

#[test]
fn nothing_is_deallocated_without_discard() {
    let config = ZonesConfig { zone: Bytes(1 << 20), discard: false, ..Default::default() };
    let mut app = config.application(&Space::single(1 << 30, 1), 1).unwrap();
    let mut out = Vec::new();
    (0..1000).for_each(|_| app.step(&mut out));
    assert_eq!(out.iter().filter(|command| command.op == Op::Write).count(), out.len());
}

#[test]
fn wrong_keys_are_named() {
    let space = Space::single(1 << 30, 2);
    let wrong = |key: &str, config: ZonesConfig| {
        let error = config.application(&space, 0).err().unwrap();
        assert_eq!(error.key, key, "{error}");
    };
    let right = ZonesConfig { zone: Bytes(64 << 20), ..Default::default() };
    assert!(right.application(&space, 0).is_ok());
    wrong("zone", ZonesConfig { zone: Bytes(1000 << 10), ..right.clone() });
    wrong("zone", ZonesConfig { zone: Bytes(4 << 40), ..right.clone() });
    wrong("open", ZonesConfig { open: 0, ..right.clone() });
    wrong("open", ZonesConfig { open: 16, ..right.clone() });
    wrong("write", ZonesConfig { write: Bytes(100), ..right.clone() });
    wrong("handles", ZonesConfig { handles: vec![2], ..right });
}
