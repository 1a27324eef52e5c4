//! The persistent event log: its events, how hosts read it, and what survives a restart.

use std::sync::Arc;
use std::time::Duration;

use wafer_controller::{Controller, Subsystem, admin};
use wafer_drive::{Environment, MAX_PERSISTENT_LOG};
use wafer_faults::{FaultyStorage, ManualClock, Operation};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::control::{Response, execute};
use wafer_target::fuzzing;

use crate::common::{configure, identify, set, sqe, subsystem};
use crate::firmware;

const READ: u8 = 0;
const ESTABLISH: u8 = 1;
const RELEASE: u8 = 2;
const HEADER: u8 = 3;

/// Returns bytes of the log page.
fn get(controller: &Controller, action: u8, offset: u32, bytes: u32) -> Result<Vec<u8>, Status> {
    let z = bytes / 4 - 1;
    let cdw10 = GetLogCdw10::new()
        .with_lid(Lid::PERSISTENT_EVENT.0)
        .with_lsp(action)
        .with_numdl_z(z as u16);
    let sqe =
        Sqe { cdw12: offset.into(), ..sqe(AdminOpcode::GET_LOG_PAGE, cdw10.into_bits(), z >> 16) };
    admin(controller, &sqe, &[]).map(|reply| reply.data).map_err(|failure| failure.status)
}

fn header(page: &[u8]) -> PersistentEventLog {
    PersistentEventLog::read_from_prefix(page).unwrap().0
}

/// Returns the header, and the events with their data, newest first.
fn read(controller: &Controller) -> (PersistentEventLog, Vec<(PersistentEventHead, Vec<u8>)>) {
    let page = get(controller, ESTABLISH, 0, MAX_PERSISTENT_LOG as u32).unwrap();
    get(controller, RELEASE, 0, 4).unwrap();
    let header = header(&page);
    assert_eq!(header.lid, Lid::PERSISTENT_EVENT.0);
    let mut rest = &page[usize::from(header.lhl.get()) + 20..header.tll.get() as usize];
    let mut events = Vec::new();
    while !rest.is_empty() {
        let (head, after) = PersistentEventHead::read_from_prefix(rest).unwrap();
        let revision =
            if head.event_type == PersistentEventType::CHANGE_NAMESPACE.0 { 2 } else { 1 };
        assert_eq!((usize::from(head.ehl) + 3, head.revision), (size_of_val(&head), revision));
        let (data, next) = after.split_at(head.el.get().into());
        events.push((head, data.to_vec()));
        rest = next;
    }
    assert_eq!(header.tnev.get() as usize, events.len());
    (header, events)
}

/// Returns the newest event of a type.
fn newest(controller: &Controller, kind: PersistentEventType) -> (PersistentEventHead, Vec<u8>) {
    let (_, events) = read(controller);
    let kinds: Vec<u8> = events.iter().map(|(head, _)| head.event_type).collect();
    let found = events.into_iter().find(|(head, _)| head.event_type == kind.0);
    found.unwrap_or_else(|| panic!("no {kind:?} in {kinds:x?}"))
}

fn event<T: zerocopy::FromBytes>(controller: &Controller, kind: PersistentEventType) -> T {
    T::read_from_prefix(&newest(controller, kind).1).unwrap().0
}

fn done(controller: &Controller, sqe: &Sqe, data: &[u8]) {
    admin(controller, sqe, data).unwrap();
}

#[test]
fn a_context_holds_the_log_still() {
    let subsystem = subsystem();
    let (a, b) = (fuzzing::connect(&subsystem), fuzzing::connect(&subsystem));
    let id = identify(&a);
    assert!(Lpa::from_bits(id.lpa).persistent_event());
    assert_eq!(id.pels.get() as usize * (64 << 10), MAX_PERSISTENT_LOG);
    let supported = GetLogCdw10::new().with_numdl_z(255).into_bits();
    let pages = admin(&a, &sqe(AdminOpcode::GET_LOG_PAGE, supported, 0), &[]).unwrap().data;
    let pages = SupportedLogs::read_from_bytes(&pages).unwrap();
    assert_eq!(pages.pages[0x0d].get(), 1 << 16 | 1);
    assert_eq!(get(&a, READ, 0, 512), Err(Status::SEQUENCE_ERROR));
    get(&a, RELEASE, 0, 512).unwrap();
    let first = header(&get(&a, ESTABLISH, 0, 512).unwrap());
    assert_eq!((first.revision, first.rci.get(), first.power_cycles.get()), (3, 0, 1));
    assert_eq!(first.supported[..2], [0xfe, 0x3f]);
    assert_eq!(nqn(&first.subnqn), Some(fuzzing::NQN));
    assert_eq!(get(&a, ESTABLISH, 0, 512), Err(Status::SEQUENCE_ERROR));
    // Later events are not in it; another controller has its own context.
    subsystem.drive.log_persistent(PersistentEventType::SANITIZE_START, 1, &[0; 12]);
    let again = header(&get(&a, READ, 0, 512).unwrap());
    assert_eq!((again.tnev, again.generation), (first.tnev, first.generation));
    // A context exists, established through the first port of the subsystem.
    assert_eq!(again.rci.get(), 1 << 18 | 1 << 16 | 1);
    let whole = get(&a, READ, 0, first.tll.get() as u32).unwrap();
    let part = get(&a, READ, 512, first.tll.get() as u32 - 512).unwrap();
    assert_eq!(whole[512..], part);
    let other = header(&get(&b, HEADER, 0, 1024).unwrap());
    assert_eq!(other.tnev.get(), first.tnev.get() + 1);
    assert_ne!(other.generation, first.generation);
    assert_eq!(header(&get(&b, HEADER, 0, 512).unwrap()).rci, again.rci);
    // A reset ends the context.
    configure(&a, Cc::new()).unwrap();
    configure(&a, Cc::new().with_en(true)).unwrap();
    assert_eq!(get(&a, READ, 0, 512), Err(Status::SEQUENCE_ERROR));
    let reset: PowerOnEvent = event(&a, PersistentEventType::POWER_ON_OR_RESET);
    assert!(reset.revision.starts_with(env!("CARGO_PKG_VERSION").as_bytes()));
    assert_eq!(newest(&a, PersistentEventType::POWER_ON_OR_RESET).0.cntlid.get(), a.cntlid);
}

#[test]
fn what_happens_to_the_drive_is_logged() {
    use PersistentEventType as E;
    let clock = Arc::<ManualClock>::default();
    let environment =
        Environment { clock: Arc::<ManualClock>::clone(&clock), ..Environment::default() };
    let subsystem = fuzzing::subsystem_on(DataSpec::Memory, environment);
    let c = fuzzing::connect(&subsystem);
    let smart: SmartLog = event(&c, E::SMART_SNAPSHOT);
    assert_eq!(smart.power_cycles.get(), 1);
    // Another one after a day.
    let snapshots = || {
        let (_, events) = read(&c);
        events.iter().filter(|(head, _)| head.event_type == E::SMART_SNAPSHOT.0).count()
    };
    let before = snapshots();
    clock.advance(Duration::from_secs(23 * 3600));
    subsystem.drive.maintain().unwrap();
    assert_eq!(snapshots(), before);
    clock.advance(Duration::from_secs(2 * 3600));
    subsystem.drive.maintain().unwrap();
    subsystem.drive.maintain().unwrap();
    assert_eq!(snapshots(), before + 1);
    // Timestamp, and a feature that outlives the controller, but not one that each host sets.
    let timestamp = Timestamp::new(1_000_000, 0);
    let fid = u32::from(Fid::TIMESTAMP.0);
    done(&c, &sqe(AdminOpcode::SET_FEATURES, fid, 0), timestamp.as_bytes());
    let changed: TimestampChangeEvent = event(&c, E::TIMESTAMP_CHANGE);
    assert_eq!(changed.since_reset.get(), 25 * 3600 * 1000);
    set(&c, Fid::VOLATILE_WRITE_CACHE, 0).unwrap();
    assert!(!read(&c).1.iter().any(|(head, _)| head.event_type == E::SET_FEATURE.0));
    let protect =
        Sqe { nsid: 1.into(), ..sqe(AdminOpcode::SET_FEATURES, Fid::WRITE_PROTECTION.0.into(), 0) };
    done(&c, &protect, &[]);
    let (_, data) = newest(&c, E::SET_FEATURE);
    assert_eq!((data.len(), data[0], data[4]), (4 + 24, 6, Fid::WRITE_PROTECTION.0));
    // Format, delete, create.
    let format = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::FORMAT_NVM, 1, 0) };
    done(&c, &format, &[]);
    let start: FormatStartEvent = event(&c, E::FORMAT_START);
    assert_eq!((start.nsid.get(), start.cdw10.get()), (1, 1));
    let completion: FormatCompletionEvent = event(&c, E::FORMAT_COMPLETION);
    assert_eq!((completion.nsid.get(), completion.status), (1, 0));
    let delete = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 1, 0) };
    done(&c, &delete, &[]);
    let deleted: ChangeNamespaceEvent = event(&c, E::CHANGE_NAMESPACE);
    assert_eq!((deleted.cdw10.get(), deleted.nsid.get(), deleted.nsze.get()), (1, 1, 1024));
    let what =
        |event: ChangeNamespaceEvent| (event.flbas, event.anagrpid.get(), event.endgid.get());
    assert_eq!((what(deleted), deleted.ncap, deleted.nmic), ((1, 1, 1), deleted.nsze, 1));
    let create = NamespaceCreate { nsze: 64.into(), ncap: 64.into(), ..Default::default() };
    done(&c, &sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0), create.as_bytes());
    let created: ChangeNamespaceEvent = event(&c, E::CHANGE_NAMESPACE);
    assert_eq!((created.cdw10.get(), created.nsid.get(), created.nsze.get()), (0, 1, 64));
    assert_eq!(what(created), (0, 1, 1));
    // Deleting all is one event without further fields.
    let all = Sqe { nsid: u32::MAX.into(), ..delete };
    done(&c, &all, &[]);
    let deleted: ChangeNamespaceEvent = event(&c, E::CHANGE_NAMESPACE);
    assert_eq!((deleted.cdw10.get(), deleted.nsid.get(), deleted.nsze.get()), (1, u32::MAX, 0));
    done(&c, &sqe(AdminOpcode::NAMESPACE_MANAGEMENT, 0, 0), create.as_bytes());
    // Sanitize.
    done(&c, &sqe(AdminOpcode::SANITIZE, 2, 0), &[]);
    (0..3).for_each(|_| subsystem.drive.maintain().unwrap());
    let start: SanitizeStartEvent = event(&c, E::SANITIZE_START);
    assert_eq!((start.sanicap, start.cdw10.get()), (identify(&c).sanicap, 2));
    let end: SanitizeCompletionEvent = event(&c, E::SANITIZE_COMPLETION);
    assert_eq!(SanitizeStatusField::from_bits(end.status.get()).status(), 1);
    // Telemetry.
    let page = GetLogCdw10::new().with_lid(Lid::TELEMETRY_HOST.0).with_lsp(1).with_numdl_z(127);
    done(&c, &sqe(AdminOpcode::GET_LOG_PAGE, page.into_bits(), 0), &[]);
    let telemetry: TelemetryLog = event(&c, E::TELEMETRY_CREATED);
    assert_eq!((telemetry.lid, telemetry.host_generation), (Lid::TELEMETRY_HOST.0, 1));
    // Firmware.
    let before = identify(&c).fr;
    firmware::download(&c, &firmware::image(b"1.1     ", 5000));
    assert_eq!(firmware::commit(&c, 0, CommitAction::ACTIVATE_NOW), Status::SUCCESS);
    let commit: FirmwareCommitEvent = event(&c, E::FIRMWARE_COMMIT);
    assert_eq!((commit.old_revision, &commit.new_revision), (before, b"1.1     "));
    assert_eq!((commit.action, commit.slot, commit.sct, commit.sc), (3, 2, 0, 0));
    assert_eq!(firmware::commit(&c, 3, CommitAction::ACTIVATE), Status::INVALID_FIRMWARE_IMAGE);
    let refused: FirmwareCommitEvent = event(&c, E::FIRMWARE_COMMIT);
    assert_eq!((refused.slot, refused.sct, refused.sc), (3, 1, 7));
}

fn inject(subsystem: &Subsystem, request: serde_json::Value) {
    let done = execute(subsystem, serde_json::from_value(request).unwrap());
    assert!(matches!(done, Response::Done(_)), "{done:?}");
}

#[test]
fn injected_faults_are_logged() {
    use PersistentEventType as E;
    let subsystem = subsystem();
    let c = fuzzing::connect(&subsystem);
    let hot = |temperature: u16| {
        inject(&subsystem, serde_json::json!({ "command": "health", "temperature": temperature }));
        let event: ThermalExcursionEvent = event(&c, E::THERMAL_EXCURSION);
        (event.over_temperature, event.threshold)
    };
    assert_eq!([hot(350), hot(380), hot(300)], [(7, 1), (7, 2), (43, 0x88)]);
    inject(&subsystem, serde_json::json!({ "command": "health", "available_spare": 1 }));
    let warning = hardware_error(&c);
    assert_eq!(warning, (HardwareErrorCode::CRITICAL_WARNING.0, vec![1]));
    inject(
        &subsystem,
        serde_json::json!({
            "command": "media-error", "namespace": 1, "lba": 0, "blocks": 1,
        }),
    );
    let mut queue = wafer_io::IoQueue::new(Arc::clone(&c));
    let read = Sqe { opcode: NvmOpcode::READ.0, cid: 77.into(), nsid: 1.into(), ..Sqe::default() };
    let failure = queue.execute(&read, &[], &mut Vec::new()).unwrap_err();
    c.fail(3, &read, &failure);
    let (code, data) = hardware_error(&c);
    assert_eq!(code, HardwareErrorCode::MEDIA_AND_DATA_INTEGRITY.0);
    let cqe = Cqe::read_from_bytes(&data).unwrap();
    assert_eq!((cqe.sqid.get(), cqe.cid.get()), (3, 77));
    // Hosts retry repeatedly, which is logged once a minute.
    let events = read_count(&c);
    c.fail(3, &read, &failure);
    assert_eq!(read_count(&c), events);
}

fn read_count(controller: &Controller) -> usize {
    read(controller).1.len()
}

/// Returns the code and additional information of the newest hardware error.
fn hardware_error(controller: &Controller) -> (u16, Vec<u8>) {
    let (_, data) = newest(controller, PersistentEventType::HARDWARE_ERROR);
    let (event, information) = HardwareErrorEvent::read_from_prefix(&data).unwrap();
    (event.code.get(), information.to_vec())
}

#[test]
fn the_log_survives_restarts_and_kills_and_stays_bounded() {
    let storage = FaultyStorage::default();
    let open = |storage: &FaultyStorage| {
        let environment =
            Environment { storage: Arc::new(storage.clone()), ..Environment::default() };
        fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment)
    };
    let first = open(&storage);
    let kind = PersistentEventType::SANITIZE_START;
    first.drive.log_persistent(kind, 5, b"hello");
    let killed = open(&storage.copy());
    let c = fuzzing::connect(&killed);
    let (_, events) = read(&c);
    assert_eq!(events.iter().filter(|(head, _)| head.event_type == kind.0).count(), 1);
    assert_eq!(newest(&c, kind).1, b"hello");
    assert_eq!(hardware_error(&c).0, HardwareErrorCode::UNSAFE_SHUTDOWN.0);
    // The oldest are dropped first. Some are in checkpoints, others in the journal.
    for number in 0..3000u32 {
        first.drive.log_persistent(kind, 5, &number.to_le_bytes());
    }
    let held = |subsystem: &Arc<Subsystem>| {
        let (header, events) = read(&fuzzing::connect(subsystem));
        assert!(header.tll.get() as usize <= MAX_PERSISTENT_LOG);
        let own = events.into_iter().filter(|(head, _)| head.event_type == kind.0);
        own.map(|(_, data)| u32::from_le_bytes(data.try_into().unwrap())).collect::<Vec<_>>()
    };
    let numbers = held(&first);
    let room = (MAX_PERSISTENT_LOG - 512) / 28;
    assert_eq!(numbers, (0..3000).rev().take(room).collect::<Vec<_>>());
    let expected = &numbers[..room - 100];
    assert_eq!(&held(&open(&storage.copy()))[..expected.len()], expected);
    first.drive.close().unwrap();
    let storage = storage.copy();
    let again = open(&storage);
    assert_eq!(&held(&again)[..expected.len()], expected);
    // A drive that cannot be saved logs that once it can.
    storage.fail(|_, _, operation| {
        matches!(operation, Operation::Sync).then(|| std::io::Error::other("no sync"))
    });
    again.drive.save().unwrap_err();
    storage.heal();
    let error = hardware_error(&fuzzing::connect(&again));
    assert_eq!(error, (HardwareErrorCode::CRITICAL_WARNING.0, vec![0b1100]));
}
