//! Devices with several reclaim groups: which group receives a write, and what it costs.

use serde_json::json;
use wafer_device::{Device, DeviceConfig};
use wafer_interface::{Command, FdpEvent, NsId, Observer, Placement, RgId, RuId, RuhId};

use super::devices::random;

const PAGE: u64 = 4096;
const PAGES: u64 = 128 * 256;

/// Counts writes that went to another group than the one named.
#[derive(Default)]
struct Spills(u64);

impl Observer for Spills {
    fn event(&mut self, event: &FdpEvent) {
        if let FdpEvent::ImplicitlyModifiedRuh { group, handle, used } = event {
            assert_eq!((*group, *handle), (RgId(0), RuhId(0)));
            assert_ne!(*used, RgId(0));
            self.0 += 1;
        }
    }
}

fn config(policy: &str, groups: u16, overprovisioning: f64) -> DeviceConfig {
    let config = json!({
        "capacity": PAGES * PAGE, "page": PAGE, "handles": 1, "groups": groups,
        "overprovisioning": overprovisioning, "reclaim_unit": { "size": 256 * PAGE },
        "gc": { "policy": policy, "forced_free": 0.01, "background_free": 0.0 },
    });
    serde_json::from_value(config).unwrap()
}

/// Returns the WAF of six capacities of uniform writes, after two others, and how often they spilled.
fn waf(config: &DeviceConfig, placement: Placement) -> (f64, u64) {
    let mut device = Device::with_observer(config, 1, Spills::default()).unwrap();
    let mut random = random(3);
    let mut writes = |count: u64| {
        (0..count).map(|_| Command::write(random(PAGES) * 8, 8, placement)).collect::<Vec<_>>()
    };
    device.apply(&writes(2 * PAGES));
    device.reset_counters();
    device.apply(&writes(6 * PAGES));
    let counters = device.counters();
    let waf = counters.media_bytes as f64 / counters.host_bytes as f64;
    assert_eq!(device.check_invariants(), Ok(()));
    let taken = |group| {
        let rus = device.geometry().group_range(group);
        rus.map(|ru| u64::from(device.valid_pages(RuId(ru)))).sum::<u64>()
    };
    // Without a directive, all groups receive their share.
    let share = if placement == Placement(0) { 10 } else { 80 };
    let least = PAGES * share / 100 / u64::from(config.groups);
    assert!((0..config.groups).all(|group| taken(group) > least), "{placement:?}");
    (waf, device.observer().0)
}

/// Writes that name no group cost about as much in several groups as in one: each keeps a few reclaim units open.
#[test]
fn writes_without_directive_go_to_all_groups() {
    // A placement identifier that the namespace does not define counts as none.
    for placement in [Placement::NONE, Placement(7)] {
        for (policy, spare) in [("greedy", 0.4), ("fifo", 0.5), ("cost-benefit", 0.6)] {
            let (one, _) = waf(&config(policy, 1, spare), placement);
            for groups in [2, 3] {
                let (more, spills) = waf(&config(policy, groups, spare), placement);
                assert!(more < 1.2 * one, "{policy}, {groups} groups: {more}, not about {one}");
                assert_eq!(spills, 0, "a device does not depart from a group that nobody named");
            }
        }
    }
}

/// If more data is directed at a group than it can hold, it spills long before the last page of the group is used.
#[test]
fn writes_directed_at_a_group_spill_when_space_there_is_dear() {
    for policy in ["greedy", "fifo"] {
        for spare in [0.15, 0.3] {
            let (waf, spills) = waf(&config(policy, 2, spare), Placement(0));
            assert!(spills > 100, "{spills}");
            assert!((4.0..16.0).contains(&waf), "{policy}, {spare}: {waf}");
        }
    }
}

/// Data that fits into the named group stays there.
#[test]
fn writes_that_fit_into_their_group_do_not_spill() {
    let mut device = Device::with_observer(&config("greedy", 2, 0.2), 1, Spills::default());
    let device = device.as_mut().unwrap();
    let mut random = random(5);
    let commands: Vec<Command> = (0..8 * PAGES)
        .map(|_| Command::write(random(PAGES * 45 / 100) * 8, 8, Placement(0)))
        .collect();
    device.apply(&commands);
    assert_eq!(device.observer().0, 0);
    assert!(device.counters().relocated_pages > 0);
    let other = device.geometry().group_range(1);
    assert!(other.into_iter().all(|ru| device.valid_pages(RuId(ru)) == 0));
}

/// What the adaptive policy learns depends on the commands, not on how many of them are applied together.
#[test]
fn adaptive_devices_do_not_depend_on_batches() {
    let mut random = random(5);
    let writes = (0..4 * PAGES).map(|number| {
        // Half of the writes go to a moving twelfth of the device.
        let hot = number % 2 == 0;
        let page =
            if hot { (number / PAGES * PAGES / 12) + random(PAGES / 12) } else { random(PAGES) };
        Command::write(page * 8, 8, Placement::NONE)
    });
    let writes: Vec<Command> = writes.collect();
    let run = |batch: usize| {
        let mut device = Device::new(&config("adaptive", 2, 0.5), 1).unwrap();
        writes.chunks(batch).for_each(|batch| device.apply(batch));
        (device.counters(), device.arrangements())
    };
    let whole = run(writes.len());
    assert!(whole.1.len() > 1, "it has learned something: {:?}", whole.1);
    for batch in [1, 37, 500, 4096] {
        assert_eq!(run(batch), whole, "batches of {batch}");
    }
}

/// The handle of a placement identifier is the one whose counters its writes add to, on conventional drives too.
#[test]
fn the_handle_of_a_write_is_that_which_counts_it() {
    let list = json!([{ "size": PAGES / 2 * PAGE, "handles": [2, 0] }, { "size": PAGES / 2 * PAGE, "handles": [3] }]);
    for (groups, fdp, namespaces) in [
        (1, true, json!([])),
        (3, true, json!([])),
        (2, true, list.clone()),
        (1, false, json!([])),
        (1, false, list),
    ] {
        let config = json!({
            "capacity": PAGES * PAGE, "page": PAGE, "handles": 4, "groups": groups, "fdp": fdp,
            "overprovisioning": 0.5, "reclaim_unit": { "size": 256 * PAGE }, "namespaces": namespaces,
        });
        let config: DeviceConfig = serde_json::from_value(config).unwrap();
        let mut device = Device::new(&config, 1).unwrap();
        let bytes =
            |device: &Device| device.handle_counters().iter().map(|h| h.host_bytes).collect();
        for namespace in 0..device.geometry().namespaces.len() as u8 {
            let namespace = NsId(namespace);
            let known = [0, 1, 3, 9, 0x4001, 0x8003, 0xc000].map(Placement);
            for placement in known.into_iter().chain([Placement::NONE]) {
                let before: Vec<u64> = bytes(&device);
                device.apply(&[Command { namespace, ..Command::write(0, 8, placement) }]);
                let after: Vec<u64> = bytes(&device);
                let counted = before.iter().zip(&after).position(|(before, after)| before < after);
                let handle = device.handle(namespace, placement).map(RuhId::index);
                assert_eq!(handle, counted, "{groups} {fdp} {namespace:?} {placement:?}");
            }
        }
    }
}
