use wafer_interface::{Command, Placement};

use super::*;

fn written() -> Device {
    let text = "capacity = \"64MiB\"\noverprovisioning = 0.5\nreclaim_unit.size = \"1MiB\"";
    let mut device = Device::new(&toml::from_str(text).unwrap(), 1).unwrap();
    let write = |lba, blocks| Command::write(lba, blocks, Placement::NONE);
    device.apply(&[write(0, 8192), write(0, 1024)]);
    device
}

#[test]
fn columns_agree_with_the_device() {
    let device = written();
    let table = ReclaimUnits::of(&device);
    let count = device.geometry().ru_count;
    assert_eq!((table.count, table.stride), (count, 1));
    assert_eq!(table.owner.len(), count as usize);
    assert_eq!(table.valid.iter().sum::<u32>(), 8192 / 8);
    let free = device.free_rus(wafer_interface::RgId(0)) as u64;
    assert_eq!(table.free_open_closed()[0], free);
    // Every handle has an open reclaim unit from the start.
    assert!(table.open.len() >= usize::from(device.geometry().handles));
    assert!(table.open.iter().all(|i| table.owner[*i as usize] >= 0));
}

#[test]
fn retired_reclaim_units_are_not_free() {
    let text = "capacity = \"16MiB\"\noverprovisioning = 1.0\nreclaim_unit.size = \"1MiB\"\n\
                firmware.retire_after = 2";
    let mut device = Device::new(&toml::from_str(text).unwrap(), 1).unwrap();
    for _ in 0..1000 {
        device.apply(&[Command::write(0, 2048, Placement::NONE)]);
    }
    let table = ReclaimUnits::of(&device);
    assert!(!table.retired.is_empty() && table.check().is_ok());
    assert_eq!(table.retired.len(), device.retired_rus());
    assert_eq!(table.free_open_closed()[0], device.free_rus(wafer_interface::RgId(0)) as u64);
    let wear = crate::Wear::of(&device);
    assert!(wear.read_only && wear.retired == table.retired.len() as u64);
}

#[test]
fn a_large_device_is_thinned() {
    let device = written();
    let table = ReclaimUnits::thinned(&device, 10);
    assert_eq!(table.count, device.geometry().ru_count);
    assert_eq!(table.stride, table.count.div_ceil(10));
    assert!(table.owner.len() <= 10 && table.owner.len() == table.erases.len());
}
