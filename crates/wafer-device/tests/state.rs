//! Saved devices: a restored device equals an uninterrupted one for every policy, and crafted states are refused with
//! the name of the field.

use serde_json::{Value, json};
use wafer_device::{Device, DeviceConfig, DeviceState, StateError};
use wafer_interface::{Command, NsId, Placement, RuId, RuhId};

use crate::devices::{PAGE, PAGES, RUS, all, config, random, traffic};

fn restore(config: &DeviceConfig, state: DeviceState, map: &[u8]) -> Result<Device, StateError> {
    Device::restore(config, (), state, |target| {
        target.copy_from_slice(map);
        Ok(())
    })
}

#[test]
fn restored_equals_uninterrupted_for_every_policy_and_destination() {
    for (at, config) in (0..).zip(all()) {
        let commands = traffic(6000, at);
        let mut device = Device::new(&config, at).unwrap();
        let mut saved = Device::new(&config, at).unwrap();
        // The device is restored twice, the first time right after the fill.
        for batch in commands.chunks(2800) {
            device.apply(batch);
            saved.apply(batch);
            let bytes = postcard::to_allocvec(&saved.state()).unwrap();
            let map = saved.map_bytes().to_vec();
            saved = restore(&config, postcard::from_bytes(&bytes).unwrap(), &map).unwrap();
        }
        assert!(device.counters().relocated_pages > 0, "{:?}", config.gc);
        assert_eq!(saved.counters(), device.counters(), "{:?}", config.gc);
        assert_eq!(saved.handle_counters(), device.handle_counters());
        assert_eq!(saved.map_bytes(), device.map_bytes());
        let bytes = |device: &Device| postcard::to_allocvec(&device.state()).unwrap();
        assert!(bytes(&saved) == bytes(&device), "{:?}", config.gc);
        assert_eq!(saved.check_invariants(), Ok(()));
        for ru in (0..device.geometry().ru_count).map(RuId) {
            assert_eq!(saved.erase_count(ru), device.erase_count(ru));
        }
    }
}

/// Gaps, reused numbers and moved namespaces survive: a device that is restored after every creation and deletion
/// continues like one that is not.
#[test]
fn restored_equals_uninterrupted_while_namespaces_come_and_go() {
    let all_pages = RUS * PAGES;
    for (at, config) in (0..).zip(all()).step_by(7) {
        let mut random = random(at);
        let mut device = Device::new(&config, at).unwrap();
        let mut saved = Device::new(&config, at).unwrap();
        let (mut created, mut refused, mut deleted) = (0, 0, 0);
        for round in 0..60 {
            // The namespace of the whole capacity is deleted first.
            let number = NsId(if round == 0 { 0 } else { random(5) as u8 });
            if round == 0 || random(2) == 0 {
                let gone = device.delete_namespace(number);
                assert_eq!(gone, saved.delete_namespace(number));
                deleted += u32::from(gone);
            }
            let handles: Vec<RuhId> = (0..random(4) as u16).map(RuhId).collect();
            let pages = 1 + random(all_pages / 3);
            let made = device.create_namespace(pages, &handles);
            assert_eq!(made, saved.create_namespace(pages, &handles));
            *(if made.is_ok() { &mut created } else { &mut refused }) += 1;
            let state = postcard::to_allocvec(&saved.state()).unwrap();
            let map = saved.map_bytes().to_vec();
            saved = restore(&config, postcard::from_bytes(&state).unwrap(), &map).unwrap();
            let (ours, theirs) = (device.geometry(), saved.geometry());
            assert_eq!(ours.namespaces, theirs.namespaces);
            assert_eq!(ours.namespace_handles, theirs.namespace_handles);
            assert_eq!(device.unallocated_pages(), saved.unallocated_pages());
            let commands: Vec<Command> = (0..120)
                .map(|_| {
                    let (page, blocks) = (random(all_pages / 3), 1 + random(400) as u32);
                    let placement = Placement(random(4) as u16);
                    let command = match random(8) {
                        0 => Command::deallocate(page * PAGE / 512, blocks),
                        _ => Command::write(page * PAGE / 512, blocks, placement),
                    };
                    command.on(NsId(random(5) as u8))
                })
                .collect();
            device.apply(&commands);
            saved.apply(&commands);
        }
        assert!(created > 5 && refused > 5 && deleted > 5, "{created} {refused} {deleted}");
        assert_eq!(saved.counters(), device.counters(), "{:?}", config.gc);
        assert_eq!(saved.map_bytes(), device.map_bytes());
        let bytes = |device: &Device| postcard::to_allocvec(&device.state()).unwrap();
        assert!(bytes(&saved) == bytes(&device), "{:?}", config.gc);
        assert_eq!(saved.check_invariants(), Ok(()));
    }
}

/// Returns a used device as JSON, and its map.
fn worked(config: &DeviceConfig) -> (Value, Vec<u8>) {
    let mut device = Device::new(config, 1).unwrap();
    device.apply(&traffic(4000, 1));
    (serde_json::to_value(device.state()).unwrap(), device.map_bytes().to_vec())
}

/// Returns the error of restoring a changed state.
fn refused(config: &DeviceConfig, change: impl FnOnce(&mut Value, &mut [u8])) -> String {
    let (mut state, mut map) = worked(config);
    change(&mut state, &mut map);
    match restore(config, serde_json::from_value(state).unwrap(), &map) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

type Change = Box<dyn FnOnce(&mut Value)>;

fn shorten(at: &'static str) -> Change {
    Box::new(move |state| _ = state.pointer_mut(at).unwrap().as_array_mut().unwrap().pop())
}

fn set(at: &'static str, value: impl Into<Value>) -> Change {
    let value = value.into();
    Box::new(move |state| *state.pointer_mut(at).unwrap() = value)
}

#[test]
fn crafted_states_are_refused_with_the_name_of_the_field() {
    let none = u32::MAX;
    let huge = u64::MAX;
    let cases: Vec<(&str, Change)> = vec![
        ("segments.labels", shorten("/segments/hot")),
        ("segments.hot", set("/segments/hot", json!([]))),
        ("segments.labels", shorten("/segments/labels")),
        ("segments.origins", shorten("/segments/origins")),
        ("segments.origins", set("/segments/origins/1", 3)),
        ("segments.born", set("/segments/born", json!([1, 2]))),
        ("segments.death_times", set("/segments/death_times", json!([1]))),
        ("segments.hot", set("/segments/hot/0/ru", 0)),
        ("rus.units.segments", set("/segments/labels/1", none)),
        ("segments.free", set("/segments/free", json!([0]))),
        ("segments.free", set("/segments/free", json!([none]))),
        ("segments.divisions", set("/segments/divisions", json!([[none]]))),
        ("segments.divisions", set("/segments/divisions", json!([[1, 2]]))),
        ("segments.divisions", set("/segments/free_divisions", json!([4_000_000]))),
        ("rus.valid", shorten("/rus/valid")),
        ("rus.valid", set("/rus/valid/3", 17)),
        ("rus.opened_at", shorten("/rus/opened_at")),
        ("rus.opened_at", set("/rus/opened_at/0", huge)),
        ("rus.closed_at", shorten("/rus/closed_at")),
        ("rus.closed_at", set("/rus/closed_at/0", huge)),
        ("rus.closed_order", shorten("/rus/closed_order")),
        ("rus.closed_order", set("/rus/closed_order/0", huge)),
        ("rus.units.segments", set("/rus/units/0/segments", json!([none]))),
        ("rus.units.segments", set("/rus/units/0/segments", json!([0]))),
        ("rus.units", set("/rus/units/0/owner", json!({ "Handle": 3 }))),
        ("rus.units", set("/rus/units/0/origins", json!([1.0, 2.0]))),
        ("rus.units", set("/rus/units/0/erases", none)),
        ("rus.units", set("/rus/units/0/class", 1)),
        ("rus.units", set("/rus/units/0/generation", 200)),
        ("rus.free", shorten("/rus/free")),
        ("rus.free", set("/rus/free/0", json!([]))),
        ("rus.free", set("/rus/free/0/0", none)),
        ("rus.seen", set("/rus/seen", json!([{ "order": 1, "valid": 2, "at": 3 }]))),
        ("slots", set("/slots/0/ru", 5000)),
        ("slots", set("/slots/0/ru", none)),
        ("slots", set("/slots/0/segment", 1_000_000)),
        ("slots", set("/slots/0/room", 17)),
        ("slots", set("/slots/0/segment_room", 17)),
        ("chosen_groups", shorten("/chosen_groups")),
        ("chosen_groups", set("/chosen_groups/2", 1)),
        ("floors", set("/floors/0", huge)),
        ("handles", shorten("/handles")),
        ("counters", set("/counters/media_bytes", huge)),
        ("counters", set("/counters/host_bytes", 1)),
        ("counters", set("/counters/rejected", 1_000_000)),
        ("clock", set("/clock", huge)),
        ("clock", set("/granted", huge)),
        ("clock", set("/rus/next_order", huge)),
        ("rus.closed_at", set("/clock", 100)),
        ("writers", set("/writers", json!({ "counts": [1, 2, 3], "total": 6 }))),
        ("namespaces", set("/namespaces/0/0/end", huge)),
        ("namespaces", set("/namespaces/0/0", json!({ "start": 9, "end": 8 }))),
        ("namespaces", set("/namespaces/0/1", json!([]))),
        ("separation", set("/separation", json!({ "MultiLog": {} }))),
        ("learned", set("/learned", json!([1, 2, 3]))),
        ("read_only", set("/read_only", true)),
        (
            "translated",
            set(
                "/translated",
                json!({ "cached": [], "region": {
            "pages": 1, "flash": [none, none, none, none], "open": 0, "written": 0, "free": [1, 2, 3],
        } }),
            ),
        ),
    ];
    let config = config("greedy");
    assert_eq!(refused(&config, |_, _| ()), "accepted");
    let mut wrong = Vec::new();
    for (number, (field, change)) in cases.into_iter().enumerate() {
        let error = refused(&config, |state, _| change(state));
        // Sizes that follow from the configuration have their own message.
        let named = error.starts_with(&format!("damaged: `{field}"))
            || error.starts_with("the state is of a device with");
        if !named {
            wrong.push(format!("case {number}: {error}, not about {field}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_map_that_contradicts_the_state_is_refused() {
    let config = config("greedy");
    for label in [u32::MAX, 1_000_000, 0] {
        let error = refused(&config, |_, map| map[..4].copy_from_slice(&label.to_ne_bytes()));
        assert!(error.starts_with("the map: label "), "{label}: {error}");
    }
}

#[test]
fn a_policy_that_learns_refuses_to_forget_and_what_it_cannot_have_learned() {
    for policy in ["gittins", "look-ahead", "hazard", "quota-sqrt"] {
        let config = config(policy);
        // Lifetimes that were never estimated are infinite, which JSON lacks.
        let learned = |change: fn(&mut Vec<u8>)| {
            let mut device = Device::new(&config, 1).unwrap();
            device.apply(&traffic(4000, 1));
            let mut state = serde_json::to_value(device.state()).unwrap();
            let bytes: Vec<u8> = serde_json::from_value(state["learned"].clone()).unwrap();
            let mut changed = bytes;
            change(&mut changed);
            state["learned"] = changed.into();
            let map = device.map_bytes().to_vec();
            restore(&config, serde_json::from_value(state).unwrap(), &map).map(|_| ())
        };
        assert!(learned(|_| ()).is_ok(), "{policy}");
        let changes: [fn(&mut Vec<u8>); 2] = [|bytes| bytes.truncate(20), |bytes| bytes.clear()];
        for change in changes {
            let error = learned(change).unwrap_err().to_string();
            assert!(error.starts_with("damaged: `learned`"), "{policy}: {error}");
        }
        let error = refused(&config, |state, _| state["learned"] = Value::Null);
        assert_eq!(error, "damaged: `learned`: what the policy had learned is missing");
    }
}

#[test]
fn a_state_of_other_sizes_is_refused() {
    let (ours, mut other) = (config("greedy"), config("greedy"));
    let count = ours.reclaim_unit.count.unwrap();
    other.reclaim_unit.count = Some(count + 1);
    let state = Device::new(&ours, 0).unwrap().state();
    let refused = Device::restore(&other, (), state, |_| Ok(())).err().unwrap().to_string();
    let expected =
        format!("the state is of a device with {count} reclaim units, not {}", count + 1);
    assert_eq!(refused, expected);
}
