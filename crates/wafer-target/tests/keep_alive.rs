//! The keep alive timer, and how long a controller takes to become ready.

use std::time::Duration;

use tokio::time::Instant;
use wafer_controller::{Controller, Reply, fabrics};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_target::fuzzing;

use crate::common::{configure, get, set, subsystem};

#[test]
fn the_timer_counts_in_its_units() {
    let controller = fuzzing::connect(&subsystem());
    for (value, expected) in [(1, 100), (100, 100), (5001, 5100), (u32::MAX, u32::MAX), (0, 0)] {
        set(&controller, Fid::KEEP_ALIVE_TIMER, value).unwrap();
        assert_eq!(get(&controller, Fid::KEEP_ALIVE_TIMER, 0), expected);
    }
    assert_eq!(controller.deadline(), None);
}

#[test]
fn a_controller_that_is_not_enabled_or_shut_down_waits_longer() {
    let controller = fuzzing::connect(&subsystem());
    set(&controller, Fid::KEEP_ALIVE_TIMER, 5000).unwrap();
    let waits = |controller: &Controller| {
        controller.deadline().unwrap() - Instant::now() > Duration::from_secs(60)
    };
    let enabled = Cc::new().with_en(true).with_iosqes(6).with_iocqes(4);
    configure(&controller, enabled).unwrap();
    assert!(!waits(&controller));
    configure(&controller, enabled.with_shn(1)).unwrap();
    assert!(waits(&controller));
    configure(&controller, Cc::new()).unwrap();
    assert!(waits(&controller));
}

#[test]
fn the_time_to_become_ready_is_told_twice() {
    let controller = fuzzing::connect(&subsystem());
    let property = |property: Property, attrib: u8| -> Reply {
        let command = PropertyCommand {
            opcode: AdminOpcode::FABRICS.0,
            fctype: FabricsType::PROPERTY_GET.0,
            attrib,
            offset: property.0.into(),
            ..Default::default()
        };
        fabrics(&controller, 0, &Sqe::read_from_bytes(command.as_bytes()).unwrap()).unwrap()
    };
    let cap = property(Property::CAP, 1);
    let cap = Cap::from_bits(u64::from(cap.dw1) << 32 | u64::from(cap.dw0));
    assert!(cap.crwms());
    assert_eq!(property(Property::CRTO, 0).dw0, u32::from(cap.to()));
}
