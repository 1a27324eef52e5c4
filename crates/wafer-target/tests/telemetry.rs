//! Telemetry: the log that hosts request, and the one that the drive creates when it begins to fail.

use std::sync::Arc;

use wafer_controller::{Controller, Subsystem, admin};
use wafer_drive::Environment;
use wafer_faults::{FaultyStorage, ManualClock, Operation};
use wafer_interface::{Command, Placement};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{set, sqe};

/// Reads the header of a log and the text of its data areas.
fn telemetry(controller: &Controller, lid: Lid, lsp: u8, retain: bool) -> (TelemetryLog, String) {
    let page = GetLogCdw10::new().with_lid(lid.0).with_lsp(lsp).with_rae(retain);
    let cdw10 = page.with_numdl_z(0x7fff).into_bits();
    let data = admin(controller, &sqe(AdminOpcode::GET_LOG_PAGE, cdw10, 0), &[]).unwrap().data;
    let (head, areas) = TelemetryLog::read_from_prefix(&data).unwrap();
    let end = usize::from(head.last_blocks[2].get()) * 512;
    (head, String::from_utf8(areas[..end].to_vec()).unwrap())
}

/// Returns the data areas of a log as JSON.
fn parts(head: &TelemetryLog, text: &str) -> [serde_json::Value; 2] {
    let (first, second) = text.split_at(usize::from(head.last_blocks[0].get()) * 512);
    [first, second].map(|part| serde_json::from_str(part).unwrap())
}

#[test]
fn a_host_has_the_state_of_the_drive_captured() {
    let subsystem = fuzzing::subsystem_on(DataSpec::Memory, Environment::default());
    let controller = fuzzing::connect(&subsystem);
    let read = |lsp| telemetry(&controller, Lid::TELEMETRY_HOST, lsp, false);
    let (head, text) = read(0);
    assert_eq!((head.lid, head.ieee, head.host_generation), (7, [0x46, 0x57, 2], 0));
    assert!(text.is_empty(), "nothing was captured yet");
    subsystem.drive.apply(0, &[Command::write(0, 8, Placement::NONE)]).unwrap();
    let (head, text) = read(1);
    assert_eq!((head.host_generation, head.scope, head.available), (1, 2, 0));
    let [state, units] = parts(&head, &text);
    assert_eq!(state["drive"]["counters"]["host_bytes"], 4096);
    assert_eq!(state["health"], "Saved");
    assert!(units["reclaim_units"].is_object(), "{units}");
    // The capture remains until a host requests another.
    subsystem.drive.apply(0, &[Command::write(8, 8, Placement::NONE)]).unwrap();
    assert_eq!(read(0).1, text);
    let (head, text) = read(1);
    assert_eq!(head.host_generation, 2);
    assert_eq!(parts(&head, &text)[0]["drive"]["counters"]["host_bytes"], 8192);
}

#[test]
fn a_drive_that_begins_to_fail_captures_its_state() {
    let storage = FaultyStorage::default();
    let environment = Environment {
        storage: Arc::new(storage.clone()),
        clock: Arc::<ManualClock>::default(),
        ..Environment::default()
    };
    let subsystem: Arc<Subsystem> =
        fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
    let controller = fuzzing::connect(&subsystem);
    let read = |retain| telemetry(&controller, Lid::TELEMETRY_CONTROLLER, 0, retain);
    let notices = AsyncEventConfig::new().with_telemetry(true).into_bits();
    set(&controller, Fid::ASYNC_EVENT, notices).unwrap();
    admin(&controller, &sqe(AdminOpcode::ASYNC_EVENT_REQUEST, 0, 0), &[]).unwrap();
    assert!(controller.due_events().is_empty());
    assert_eq!((read(true).0.available, read(true).0.controller_generation), (0, 0));
    storage.fail(|_, _, operation| {
        matches!(operation, Operation::Sync).then(|| std::io::Error::other("no sync"))
    });
    subsystem.drive.save().unwrap_err();
    let events = controller.due_events();
    let event = AsyncEvent::from_bits(events[0].dw0.get());
    assert_eq!((event.event_type(), event.information(), event.log_page()), (2, 2, 8));
    let (head, text) = read(true);
    assert_eq!((head.lid, head.available, head.controller_generation), (8, 1, 1));
    assert!(head.reason.starts_with(b"the drive cannot be saved "));
    let health = parts(&head, &text)[0]["health"].to_string();
    assert!(health.contains("no sync"), "{health}");
    // Available until it is read without Retain Asynchronous Event.
    assert_eq!((read(true).0.available, read(false).0.available), (1, 1));
    assert_eq!(read(true).0.available, 0);
    assert_eq!(read(true).1, text);
}

#[test]
fn telemetry_is_read_in_whole_blocks() {
    let controller = fuzzing::connect(&crate::common::subsystem());
    for lid in [Lid::TELEMETRY_HOST, Lid::TELEMETRY_CONTROLLER] {
        let read = |dwords: u16, offset: u32| {
            let cdw10 = GetLogCdw10::new().with_lid(lid.0).with_numdl_z(dwords - 1).with_lsp(1);
            let command = Sqe {
                cdw12: offset.into(),
                ..crate::common::sqe(AdminOpcode::GET_LOG_PAGE, cdw10.into_bits(), 0)
            };
            admin(&controller, &command, &[]).map(|_| ())
        };
        assert_eq!([read(128, 0), read(256, 0)], [Ok(()); 2]);
        let length = GetLogCdw10::new().with_numdl_z(1).location();
        assert_eq!([read(16, 0), read(129, 0)], [Err(length.into()); 2]);
        assert_eq!(read(128, 4), Err(location!(cdw12).into()));
    }
}
