//! A saved device under arbitrary bytes. Shared by the target of cargo-fuzz and by
//! `crates/wafer-device/tests/fuzz.rs`.

use wafer_device::{Device, DeviceConfig, DeviceState, StateError};
use wafer_interface::{Command, NsId, Placement};

/// Policies, and rules of separation, of the devices that states are read for.
const KINDS: [(&str, Option<&str>); 9] = [
    ("greedy", None),
    ("greedy", Some("sepbit")),
    ("windowed-greedy", Some("midas")),
    ("d-choices", Some("multilog")),
    ("greedy", Some("deathtime")),
    ("gittins", Some("deathtime")),
    ("quota-marginal", None),
    ("hazard", None),
    ("cost-benefit", Some("dac")),
];

/// Bytes of a page, its blocks, and pages of the device.
const PAGE: u64 = 65536;
const BLOCKS: u64 = PAGE / 512;
const PAGES: u64 = 12 * 16;

/// What a device does with an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It is no state.
    Unread,
    /// It is one that no device can have.
    Refused,
    /// It is one, and the device worked on.
    Accepted,
}

/// The kinds of devices; the first byte of an input chooses one.
pub(crate) fn kinds() -> u8 {
    KINDS.len() as u8
}

/// The device of a kind.
pub(crate) fn config(kind: u8) -> DeviceConfig {
    let (policy, separation) = KINDS[usize::from(kind) % KINDS.len()];
    let mut config = serde_json::json!({
        "capacity": PAGES * PAGE, "page": PAGE, "handles": 2,
        "reclaim_unit": { "size": 16 * PAGE, "count": 1 },
        "gc": { "policy": policy, "background_free": 0.4, "background_max_valid": 0.5 },
    });
    if let Some(separation) = separation {
        config["gc"]["separation"] = separation.into();
    }
    let mut config: DeviceConfig = serde_json::from_value(config).expect("a configuration");
    // As few reclaim units as can work, which the message ends with, and one more.
    let message = config.resolve().expect_err("too few").message;
    let smallest = message.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
    config.reclaim_unit.count = smallest.map(|count| count + 1);
    config
}

/// Writes of one page each, sequential through handle 0 and scattered through handle 1, with partial
/// writes, deallocations and updates between.
pub(crate) fn traffic(count: u64) -> Vec<Command> {
    let command = |at: u64| {
        let page = at * 7919 % PAGES;
        let scattered = Command::write(page * BLOCKS, BLOCKS as u32, Placement(1));
        match at % 64 {
            5 => Command::deallocate(page * BLOCKS, 9 * BLOCKS as u32),
            17 => Command::update(NsId(0), Placement(u16::from(at % 128 < 64))),
            29 => Command::write(page * BLOCKS + 3, 2 * BLOCKS as u32, Placement::NONE),
            n if n % 3 == 0 => scattered,
            _ => Command::write(at % PAGES * BLOCKS, BLOCKS as u32, Placement(0)),
        }
    };
    (0..count).map(command).collect()
}

/// Packs a device as an input.
pub(crate) fn pack(kind: u8, device: &Device) -> Vec<u8> {
    let state = postcard::to_allocvec(&device.state()).expect("a state");
    let mut input = vec![kind];
    input.extend((state.len() as u32).to_le_bytes());
    input.extend(state);
    input.extend(device.map_bytes());
    input
}

/// Restores a device from an input: kind, length of the state, state, map. What is accepted must work, keep
/// its invariants, and be accepted again.
pub(crate) fn state(input: &[u8]) -> Outcome {
    let Some((head, rest)) = input.split_first_chunk::<5>() else { return Outcome::Unread };
    let config = config(head[0]);
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let (saved, map) = rest.split_at(length.min(rest.len()));
    let Ok(saved) = postcard::from_bytes::<DeviceState>(saved) else { return Outcome::Unread };
    let mut device = match restore(&config, saved, map) {
        Ok(device) => device,
        Err(error) => {
            let message = error.to_string();
            assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
            return Outcome::Refused;
        }
    };
    for batch in traffic(if cfg!(miri) { 100 } else { 600 }).chunks(50) {
        device.apply(batch);
    }
    device.check_invariants().expect("a device that was accepted keeps its invariants");
    let map = device.map_bytes().to_vec();
    restore(&config, device.state(), &map).expect("its state is accepted");
    Outcome::Accepted
}

fn restore(config: &DeviceConfig, state: DeviceState, map: &[u8]) -> Result<Device, StateError> {
    Device::restore(config, (), state, |target| {
        let map = map.get(..target.len()).ok_or("shorter than the capacity")?;
        target.copy_from_slice(map);
        Ok(())
    })
}
