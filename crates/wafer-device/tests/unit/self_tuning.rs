//! The self-tuning policy: that it changes where it should, and only there.

use super::policies::random;
use wafer_interface::*;

use crate::*;

/// Pages of a reclaim unit.
const PAGES: u64 = 32;

fn config(rus: u64, count: u64, handles: u16) -> DeviceConfig {
    let page = 65536;
    let mut config = super::policies::config("self-tuning", Isolation::Initially);
    config.page = Bytes(page);
    config.capacity = Bytes(rus * PAGES * page);
    config.reclaim_unit = ReclaimUnitConfig { size: Bytes(PAGES * page), count: Some(count) };
    config.handles = handles;
    config.gc.destination = None;
    config
}

#[test]
fn has_tuner() {
    let mut c = config(300, 340, 1);
    c.page = Bytes(8192);
    c.capacity = Bytes(1000 << 20);
    c.reclaim_unit = ReclaimUnitConfig { size: Bytes(1 << 20), count: Some(1140) };
    let mut d = Device::new(&c, 1).unwrap();
    eprintln!("{:?}", d.tuner.as_ref().map(|t| t.arrangements.len()));
    let mut seed = 1;
    for _ in 0..500 {
        let v: Vec<_> = (0..1000)
            .map(|_| Command::write(random(&mut seed, 128000) * 16, 16, Placement(0)))
            .collect();
        d.apply(&v);
    }
    eprintln!("{:?}", d.counters());
}
