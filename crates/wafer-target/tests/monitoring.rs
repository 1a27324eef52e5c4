//! What monitors read: identity, health, wear, and how a reset and a shutdown affect them.

use std::sync::Arc;

use wafer_controller::{Controller, SubsystemOptions, admin};
use wafer_drive::{Drive, DriveOptions, Environment};
use wafer_faults::{FaultyStorage, ManualClock, Operation};
use wafer_interface::{Command, Placement};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{configure, get, identify, log, set, smart, sqe, subsystem};

/// Sets the upper limit of the composite temperature.
fn limit(controller: &Controller, kelvin: u16) {
    let value = TemperatureThreshold::new().with_tmpth(kelvin).into_bits();
    set(controller, Fid::TEMPERATURE_THRESHOLD, value).unwrap();
}

#[test]
fn a_temperature_beyond_its_threshold_is_a_warning_and_an_event() {
    let controller = fuzzing::connect(&subsystem());
    let warning = || CriticalWarning::from_bits(smart(&controller).critical_warning);
    let hot = CriticalWarning::new().with_temperature(true);
    set(&controller, Fid::ASYNC_EVENT, hot.into_bits().into()).unwrap();
    let request = sqe(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0);
    admin(&controller, &request, &[]).unwrap();
    assert_eq!((warning(), controller.due_events().len()), (CriticalWarning::new(), 0));
    limit(&controller, 300);
    let events = controller.due_events();
    let event = AsyncEvent::from_bits(events[0].dw0.get());
    assert_eq!((event.event_type(), event.information(), event.log_page()), (1, 1, Lid::SMART.0));
    assert_eq!(warning(), hot);
    // The warning ends when the limit is higher, and returns below the lower limit.
    limit(&controller, 320);
    assert_eq!(warning(), CriticalWarning::new());
    let under = TemperatureThreshold::new().with_tmpth(310).with_thsel(1).into_bits();
    set(&controller, Fid::TEMPERATURE_THRESHOLD, under).unwrap();
    assert_eq!(warning(), hot);
    let asked = TemperatureThreshold::new().with_thsel(1).into_bits();
    assert_eq!(get(&controller, Fid::TEMPERATURE_THRESHOLD, asked), 310);
    assert_eq!(get(&controller, Fid::TEMPERATURE_THRESHOLD, 0), 320);
    // There are no sensors.
    let sensor = TemperatureThreshold::new().with_tmpsel(1);
    assert!(set(&controller, Fid::TEMPERATURE_THRESHOLD, sensor.into_bits()).is_err());
}

#[test]
fn the_health_of_a_namespace_is_that_of_the_controller() {
    let controller = fuzzing::connect(&subsystem());
    assert!(Lpa::from_bits(identify(&controller).lpa).smart_per_namespace());
    let read = |nsid: u32| {
        let dwords = GetLogCdw10::new().with_lid(Lid::SMART.0).with_numdl_z(127).into_bits();
        let command = Sqe { nsid: nsid.into(), ..sqe(AdminOpcode::GET_LOG_PAGE, dwords, 0) };
        admin(&controller, &command, &[]).map(|reply| reply.data).map_err(|failure| failure.status)
    };
    let whole = read(u32::MAX);
    assert!(whole.is_ok());
    assert_eq!((read(0), read(1)), (whole.clone(), whole));
    assert_eq!(read(2), Err(Status::INVALID_FIELD), "not attached");
    assert_eq!(read(u32::MAX - 1), Err(Status::INVALID_NAMESPACE));
}

#[test]
fn a_temperature_event_that_is_not_enabled_is_not_sent() {
    let controller = fuzzing::connect(&subsystem());
    admin(&controller, &sqe(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0), &[]).unwrap();
    limit(&controller, 300);
    assert!(controller.due_events().is_empty());
}

#[test]
fn percentage_used_follows_the_media() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let group = || {
        let page = log::<128>(&controller, Lid::ENDURANCE_GROUP, 1 << 16);
        EnduranceGroupLog::read_from_bytes(&page).unwrap()
    };
    assert_eq!(smart(&controller).percentage_used, 0);
    // One drive write per day for five years at a WAF of 3: 5479 capacities of 4 MiB.
    assert_eq!(group().endurance_estimate.get(), (4 << 20) * 5479 / 1_000_000_000 + 1);
    let whole: Vec<Command> =
        (0..1024).map(|page| Command::write(page * 8, 8, Placement::NONE)).collect();
    for _ in 0..600 {
        subsystem.drive.apply(0, &whole).unwrap();
    }
    let media = subsystem.drive.counters().lifetime.media_bytes;
    let expected = media as f64 / (5478.75 * f64::from(4 << 20)) * 100.0;
    assert!((10.0..20.0).contains(&expected), "{expected}");
    assert_eq!(smart(&controller).percentage_used, expected as u8);
    assert_eq!(group().percentage_used, expected as u8);
    let wear = subsystem.drive.wear();
    assert!(wear.least_erases <= wear.mean_erases && wear.mean_erases <= wear.most_erases);
    let erased = subsystem.drive.counters().lifetime.erased_bytes;
    assert_eq!(wear.mean_erases, erased / (14 << 20));
    assert!(wear.mean_erases > 100);
}

#[test]
fn drives_have_identities_of_their_own_and_keep_them() {
    let storage = FaultyStorage::default();
    let open = |data: DataSpec| {
        let device = serde_json::json!({
            "capacity": "4MiB", "reclaim_unit": { "size": "1MiB", "count": 14 }, "handles": 2,
        });
        let options = DriveOptions {
            device: serde_json::from_value(device).unwrap(),
            seed: 0,
            data,
            lba_bytes: 4096,
            events_enabled: false,
            given: Default::default(),
        };
        let environment = Environment {
            storage: Arc::new(storage.clone()),
            clock: Arc::<ManualClock>::default(),
            ..Environment::default()
        };
        Drive::with(options, environment).unwrap()
    };
    let of = |drive: &Drive| SubsystemOptions::of_drive(drive, "/home/me/my dri\u{e9}ve.toml");
    let first = of(&open(DataSpec::None));
    let second = of(&open(DataSpec::None));
    assert_ne!(first.nqn, second.nqn);
    assert_ne!(first.serial, second.serial);
    assert_eq!(first.model, "wafer my dri_ve");
    assert_eq!(first.serial.len(), 20);
    assert!(first.nqn.starts_with("nqn.2014-08.org.nvmexpress:uuid:"), "{}", first.nqn);
    let kept = || {
        let drive = open(DataSpec::File("drive.img".into()));
        let options = of(&drive);
        drive.close().unwrap();
        (options.nqn, options.serial)
    };
    assert_eq!(kept(), kept());
}

#[test]
fn identify_names_a_vendor() {
    let controller = fuzzing::connect(&subsystem());
    let identify = sqe(AdminOpcode::IDENTIFY, Cns::CONTROLLER.0.into(), 0);
    let data = admin(&controller, &identify, &[]).unwrap().data;
    let id = IdentifyController::read_from_bytes(&data).unwrap();
    assert_eq!((id.vid.get(), id.ssvid.get(), id.ieee), (0x4657, 0x4657, [0x46, 0x57, 0x02]));
}

#[test]
fn a_reset_restores_the_defaults_of_features_and_clears_the_error_log() {
    let controller = fuzzing::connect(&subsystem());
    let failed = sqe(AdminOpcode::IDENTIFY, 0, 0);
    controller.fail(0, &failed, &Status::INVALID_FIELD.into());
    let errors = || log::<16>(&controller, Lid::ERROR, 0);
    assert_eq!(errors()[0], 1);
    set(&controller, Fid::VOLATILE_WRITE_CACHE, 0).unwrap();
    limit(&controller, 300);
    let behavior = HostBehavior { acre: 1, ..Default::default() };
    let fid = u32::from(Fid::HOST_BEHAVIOR.0);
    admin(&controller, &sqe(AdminOpcode::SET_FEATURES, fid, 0), behavior.as_bytes()).unwrap();
    configure(&controller, Cc::new()).unwrap();
    configure(&controller, Cc::new().with_en(true)).unwrap();
    assert_eq!(get(&controller, Fid::VOLATILE_WRITE_CACHE, 0), 1);
    assert_eq!(get(&controller, Fid::TEMPERATURE_THRESHOLD, 0), 343);
    let data = admin(&controller, &sqe(AdminOpcode::GET_FEATURES, fid, 0), &[]).unwrap().data;
    assert_eq!(data, HostBehavior::default().as_bytes());
    assert_eq!(errors(), [0; 64]);
    controller.fail(0, &failed, &Status::INVALID_FIELD.into());
    assert_eq!(errors()[0], 2, "entries are numbered over the life of the drive");
}

#[test]
fn a_shutdown_is_complete_once_the_drive_is_flushed() {
    let storage = FaultyStorage::default();
    let environment = Environment {
        storage: Arc::new(storage.clone()),
        clock: Arc::<ManualClock>::default(),
        ..Environment::default()
    };
    let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
    let controller = fuzzing::connect(&subsystem);
    let shutdown = Cc::new().with_en(true).with_shn(1);
    storage.fail(|_, _, operation| {
        matches!(operation, Operation::Sync).then(|| std::io::Error::other("no sync"))
    });
    assert_eq!(configure(&controller, shutdown).err().unwrap().status, Status::INTERNAL_ERROR);
    assert!(controller.is_ready(), "no shutdown is reported");
    let (storage, clock) = (FaultyStorage::default(), Arc::<ManualClock>::default());
    let environment =
        Environment { storage: Arc::new(storage.clone()), clock, ..Environment::default() };
    let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
    let controller = fuzzing::connect(&subsystem);
    subsystem.drive.apply(0, &[Command::write(0, 8, Placement::NONE)]).unwrap();
    configure(&controller, shutdown).unwrap();
    assert!(!controller.is_ready());
    let after = storage.copy();
    after.lose_power(|_, _| false);
    let environment = Environment { storage: Arc::new(after), ..Environment::default() };
    let again = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
    assert_eq!(again.drive.counters().counters.host_bytes, 4096);
}

#[test]
fn pages_of_the_controller_have_no_namespace() {
    let controller = fuzzing::connect(&subsystem());
    let read = |lid: Lid, nsid: u32| {
        let dwords = GetLogCdw10::new().with_lid(lid.0).with_numdl_z(127).into_bits();
        let command = Sqe { nsid: nsid.into(), ..sqe(AdminOpcode::GET_LOG_PAGE, dwords, 1 << 16) };
        admin(&controller, &command, &[]).map(|_| ()).map_err(|failure| failure.status)
    };
    for lid in [Lid::SUPPORTED, Lid::ERROR, Lid::FIRMWARE, Lid::EFFECTS, Lid::SELF_TEST, Lid::ANA] {
        assert_eq!([read(lid, 0), read(lid, u32::MAX)], [Ok(()); 2], "{lid:?}");
        assert_eq!(read(lid, 1), Err(Status::INVALID_FIELD), "{lid:?}");
    }
    // Tools pass an NSID for these, and in pages of the endurance group the field is reserved.
    for lid in [Lid::SANITIZE_STATUS, Lid::OCP_SMART, Lid::WAFER_HANDLES, Lid::FDP_CONFIGURATIONS] {
        assert_eq!(read(lid, 1), Ok(()), "{lid:?}");
    }
}

#[test]
fn features_that_a_uuid_may_select_say_so() {
    let controller = fuzzing::connect(&subsystem());
    let page = log::<256>(&controller, Lid::FEATURE_EFFECTS, 0);
    let effects = FeatureEffectsLog::read_from_bytes(&page).unwrap();
    let by_uuid = |fid: Fid| effects.features[usize::from(fid.0)].get() >> 19 & 1 == 1;
    assert!(by_uuid(Fid::OCP_FAILURE_MODE) && by_uuid(Fid::OCP_ERROR_INJECTION));
    assert!(!by_uuid(Fid::FDP) && !by_uuid(Fid::WRITE_PROTECTION) && !by_uuid(Fid::OCP_IEEE1667));
    // No reserved bit of the endurance group's features is set.
    let page = log_of_group(&controller);
    assert_eq!(page.egfeat, 0);
    let configurations = log::<16>(&controller, Lid::FDP_CONFIGURATIONS, 1 << 16);
    assert!(Fdpa::from_bits(configurations[18]).fdpvwc(), "there is a volatile write cache");
}

fn log_of_group(controller: &Controller) -> EnduranceGroupLog {
    let page = log::<128>(controller, Lid::ENDURANCE_GROUP, 1 << 16);
    EnduranceGroupLog::read_from_bytes(&page).unwrap()
}
