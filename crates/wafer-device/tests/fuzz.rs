//! Damaged states: always the same mutations of used devices. `WAFER_FUZZ_SAVE=1` writes the devices as seeds for
//! cargo-fuzz; see `fuzz/README.md`.

use std::path::Path;

use wafer_device::Device;

use crate::devices::random;

#[path = "../../../fuzz/state.rs"]
#[allow(clippy::duplicate_mod)]
pub(crate) mod target;

use target::Outcome;

/// Returns devices of every kind, fresh and used.
fn inputs() -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    for kind in 0..target::kinds() {
        let mut device = Device::new(&target::config(kind), 5).unwrap();
        inputs.push(target::pack(kind, &device));
        device.apply(&target::traffic(3000));
        assert!(device.counters().erased_bytes > 0, "kind {kind}");
        inputs.push(target::pack(kind, &device));
    }
    inputs
}

#[test]
fn saved_devices_are_accepted_and_damaged_ones_do_no_harm() {
    let inputs = inputs();
    if std::env::var_os("WAFER_FUZZ_SAVE").is_some() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/state");
        std::fs::create_dir_all(&folder).unwrap();
        for (number, input) in inputs.iter().enumerate().filter(|(_, input)| input.len() < 10_000) {
            std::fs::write(folder.join(format!("{number:04}")), input).unwrap();
        }
    }
    let mut random = random(1);
    let (mut refused, mut accepted) = (0, 0);
    for input in &inputs {
        assert_eq!(target::state(input), Outcome::Accepted);
        // The tables are at the head of a state; the learned state of a policy is long and repetitive.
        let head = input.len().min(6000) as u64;
        for _ in 0..if cfg!(miri) { 5 } else { 400 } {
            let mut damaged = input.clone();
            for _ in 0..=random(3) {
                let reach = if random(4) == 0 { input.len() as u64 } else { head };
                let at = random(reach.min(damaged.len() as u64)) as usize;
                match random(8) {
                    0 => damaged.truncate(at.max(6)),
                    1 => damaged[at] = random(256) as u8,
                    2 => damaged[at] = [0, 1, 2, 0x7f, 0x80, 0xff][random(6) as usize],
                    3 => {
                        let number = [0, 1, 0xffff, 0x7fff_ffff, u32::MAX][random(5) as usize];
                        if let Some(place) = damaged.get_mut(at..at + 4) {
                            place.copy_from_slice(&u32::to_le_bytes(number));
                        }
                    }
                    4 => {
                        let other = random(damaged.len() as u64) as usize;
                        damaged.swap(at, other);
                    }
                    _ => damaged[at] ^= 1 << random(8),
                }
            }
            match target::state(&damaged) {
                Outcome::Unread => {}
                Outcome::Refused => refused += 1,
                Outcome::Accepted => accepted += 1,
            }
        }
    }
    assert!(refused > 20 && accepted > 5, "{refused} refused, {accepted} accepted");
}
