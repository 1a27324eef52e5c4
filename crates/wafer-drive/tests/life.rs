//! What hosts have read stays true across restarts: counters, events, learned policies.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use wafer_device::policy::POLICIES;
use wafer_drive::{Drive, DriveOptions, EventClass, Transferred};
use wafer_interface::{Command, NsId, Placement, RuhId};
use wafer_storage::DataSpec;

use crate::count;
use crate::{DATA, commands, config, on, options, with};
use wafer_faults::{FaultyStorage, ManualClock};

#[test]
fn counters_of_smart_survive_a_kill() {
    let (storage, clock) = (FaultyStorage::default(), Arc::<ManualClock>::default());
    let open = |clock: &Arc<ManualClock>| {
        with(&storage.copy(), options(DataSpec::File(DATA.into())), clock).unwrap()
    };
    let drive = with(&storage, options(DataSpec::File(DATA.into())), &clock).unwrap();
    let mut told = drive.counters();
    for round in 1..200u64 {
        count(&drive, &commands(20, round), Transferred { reads: round, writes: 20 }).unwrap();
        count(&drive, &[], Transferred { reads: 1, writes: 0 }).unwrap();
        if round % 7 == 0 {
            drive.count_error(false);
        }
        clock.advance(Duration::from_secs(1000));
        if round % 31 == 0 {
            drive.save().unwrap();
        }
        told = drive.counters();
        if round % 20 == 0 {
            let killed = open(&Arc::default()).counters();
            assert_eq!(killed.lifetime, told.lifetime, "round {round}");
            let mut expected = told.life;
            expected.power_cycles += 1;
            expected.unsafe_shutdowns += 1;
            assert_eq!(killed.life, expected, "round {round}");
        }
    }
    assert_eq!(told.life.read_commands, 199 * 200 / 2 + 199);
    assert_eq!(told.life.error_entries, 28);
    assert_eq!(told.life.power_on_seconds / 3600, 199_000 / 3600);
    drive.close().unwrap();
    let ended = open(&Arc::default()).counters().life;
    assert_eq!((ended.unsafe_shutdowns, ended.power_cycles), (0, 2));
    assert_eq!(ended.power_on_seconds, 199_000);
}

#[test]
fn media_errors_survive_a_kill_until_they_are_written() {
    let storage = FaultyStorage::default();
    let clock = Arc::<ManualClock>::default();
    let drive = with(&storage, options(DataSpec::File(DATA.into())), &clock).unwrap();
    let namespace = drive.namespace(1).unwrap();
    drive.set_media_error(&namespace, 8192, 16384, true).unwrap();
    drive.set_media_error(&namespace, 12288, 4096, false).unwrap();
    // The count is in the journal once a host may have read it.
    drive.count_error(true);
    assert_eq!(drive.counters().life.media_errors, 1);
    let ranges = |drive: &Drive| {
        let namespace = drive.namespace(1).unwrap();
        (namespace.media_error_ranges(9), namespace.uncorrectable_ranges(0, 1 << 20, 9))
    };
    let both = vec![(8192, 12288), (16384, 24576)];
    drive.mark_uncorrectable(&namespace, 12288, 8192).unwrap();
    let expected = (both, vec![(8192, 24576)]);
    assert_eq!(ranges(&drive), expected);
    for save in [false, true] {
        if save {
            drive.save().unwrap();
        }
        let killed = on(&storage.copy()).unwrap();
        assert_eq!(killed.counters().life.media_errors, 1, "{save}");
        assert_eq!(ranges(&killed), expected, "{save}");
        killed.apply(0, &[Command::write(16, 8, Placement::NONE)]).unwrap();
        let again = on(&storage.copy()).unwrap();
        assert_eq!(ranges(&again), expected, "{save}");
        assert_eq!(ranges(&killed).0, vec![(16384, 24576)], "{save}");
    }
    // The medium fails regardless of what hosts may do to it.
    drive.protect(0, 1, wafer_drive::Protection::Protected).unwrap();
    drive.set_media_error(&namespace, 0, 4096, true).unwrap();
}

#[test]
fn a_minute_in_operation_is_kept_although_nobody_asks() {
    let (storage, clock) = (FaultyStorage::default(), Arc::<ManualClock>::default());
    let drive = with(&storage, options(DataSpec::File(DATA.into())), &clock).unwrap();
    drive.count_error(false);
    for _ in 0..70 {
        clock.advance(Duration::from_secs(1));
        drive.maintain().unwrap();
    }
    let life = on(&storage.copy()).unwrap().counters().life;
    assert_eq!((life.error_entries, life.power_on_seconds), (1, 61));
}

#[test]
fn events_and_their_masks_survive_a_kill() {
    let storage = FaultyStorage::default();
    let clock = Arc::<ManualClock>::default();
    let drive = with(&storage, options(DataSpec::File(DATA.into())), &clock).unwrap();
    for handle in 0..4 {
        let types: Vec<u8> = drive.supported_events(RuhId(handle)).iter().map(|t| t.0).collect();
        drive.enable_events(RuhId(handle), &types, true).unwrap();
    }
    let namespace = drive.namespace(1).unwrap();
    for round in 0..40 {
        clock.advance(Duration::from_secs(3));
        drive.apply(0, &commands(1500, round)).unwrap();
        drive.update(0, &namespace, Placement(round as u16 % 4)).unwrap();
        drive.invalid_placement(&namespace, Placement(77));
        // In the journal, in a checkpoint, and across both.
        if round % 13 == 5 {
            drive.save().unwrap();
        }
        let killed = on(&storage.copy()).unwrap();
        for class in [EventClass::Host, EventClass::Controller] {
            assert_eq!(killed.events(class), drive.events(class), "round {round}");
        }
        let counts = |drive: &Drive| drive.snapshot().live.event_counts.clone();
        assert_eq!(counts(&killed), counts(&drive), "round {round}");
        assert_eq!(killed.supported_events(RuhId(2)), drive.supported_events(RuhId(2)));
    }
    assert_eq!(drive.events(EventClass::Host).len(), 63);
    assert!(!drive.events(EventClass::Controller).is_empty());
}

/// Returns every policy, and the separation rules that learn.
fn kinds() -> Vec<(String, Option<&'static str>)> {
    let policies = POLICIES.iter().map(|policy| (policy.name.to_string(), None));
    let rules = ["sepbit", "midas", "multilog", "deathtime"];
    policies.chain(rules.map(|rule| ("greedy".to_owned(), Some(rule)))).collect()
}

fn kind(policy: &str, separation: Option<&str>) -> Option<DriveOptions> {
    let mut device = serde_json::to_value(config()).unwrap();
    device["capacity"] = "16MiB".into();
    device["handles"] = 2.into();
    device["overprovisioning"] = 1.5.into();
    device["gc"]["policy"] = policy.into();
    if let Some(separation) = separation {
        device["gc"]["separation"] = separation.into();
    }
    let device = serde_json::from_value(device).ok()?;
    Some(DriveOptions { device, ..options(DataSpec::File(DATA.into())) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A drive that is killed and reopened at any time behaves like one that is not.
    #[test]
    fn a_restart_changes_nothing(
        kind in proptest::sample::select(kinds()),
        steps in prop::collection::vec((1..3000u64, any::<u64>(), 0..4u8), 1..14),
    ) {
        let (policy, separation) = kind;
        let options = self::kind(&policy, separation).expect("a configuration");
        let storage = FaultyStorage::default();
        let clock = Arc::default();
        let straight =
            Drive::new(DriveOptions { data: DataSpec::None, ..options.clone() }).unwrap();
        let mut drive = with(&storage, options.clone(), &clock).unwrap();
        for (count, seed, then) in steps {
            let mut batch = commands(count, seed);
            for command in &mut batch {
                command.lba %= 4096 * 8;
                command.placement = Placement(command.placement.0 % 2);
            }
            batch.push(Command::deallocate(seed % 30_000, 999));
            batch.push(Command::update(NsId(0), Placement((seed % 2) as u16)));
            for part in batch.chunks(1 + (seed % 700) as usize) {
                straight.apply(0, part).unwrap();
                drive.apply(0, part).unwrap();
            }
            match then {
                0 => drive.save().unwrap(),
                1 => {
                    drop(drive);
                    drive = with(&storage, options.clone(), &clock).unwrap();
                }
                2 => {
                    drive.close().unwrap();
                    drop(drive);
                    drive = with(&storage, options.clone(), &clock).unwrap();
                }
                _ => {}
            }
            let (ours, theirs) = (drive.snapshot(), straight.snapshot());
            prop_assert_eq!(ours.counters, theirs.counters, "{} {:?}", policy, separation);
            prop_assert_eq!(ours.handles, theirs.handles);
        }
        prop_assert_eq!(drive.check_invariants(), Ok(()));
    }
}
