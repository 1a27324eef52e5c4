//! Log pages and features of the OCP Datacenter NVMe SSD specification.

use std::sync::Arc;
use std::time::Duration;

use wafer_controller::{Controller, admin};
use wafer_drive::Environment;
use wafer_faults::{FaultyStorage, ManualClock};
use wafer_interface::{Command, Op, Placement};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing::{self, capsule, opening};
use wafer_target::transport::Connection;

use crate::common::{identify, log, smart, sqe, subsystem};

fn latencies(controller: &Controller) -> OcpLatencyLog {
    let page = log::<128>(controller, Lid::OCP_LATENCY_MONITOR, 0);
    OcpLatencyLog::read_from_bytes(&page).unwrap()
}

fn settings() -> OcpLatencyMonitor {
    OcpLatencyMonitor {
        bucket_timer_threshold: 2.into(),
        thresholds_z: [0, 100, 200, 255],
        configuration: 0xfff.into(),
        minimum_window: 1,
        enable: 1,
        ..Default::default()
    }
}

fn set(controller: &Controller, settings: &OcpLatencyMonitor) -> Result<(), Status> {
    set_and(controller, settings, false)
}

fn set_and(
    controller: &Controller,
    settings: &OcpLatencyMonitor,
    save: bool,
) -> Result<(), Status> {
    let cdw10 = SetFeaturesCdw10::new().with_fid(Fid::OCP_LATENCY_MONITOR.0).with_sv(save);
    let fid = cdw10.into_bits();
    let set = admin(controller, &sqe(AdminOpcode::SET_FEATURES, fid, 0), settings.as_bytes());
    set.map(|_| ()).map_err(|failure| failure.status)
}

#[test]
fn the_extended_log_agrees_with_smart_and_fdp() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let mut page = 1u64;
    let random: Vec<Command> = (0..20_000)
        .map(|_| {
            page = page.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            Command::write((page >> 33) % 1024 * 8, 8, Placement::NONE)
        })
        .collect();
    subsystem.drive.apply(0, &random).unwrap();
    // Half a page costs a whole page, which is read first; and a host reads 12 KiB.
    subsystem.drive.apply(0, &[Command::write(4, 4, Placement::NONE)]).unwrap();
    let read = Command { op: Op::Read, ..Command::write(0, 24, Placement::NONE) };
    subsystem.drive.apply(0, &[read]).unwrap();
    let log = |lid, cdw11| log::<128>(&controller, lid, cdw11);
    let ocp = OcpSmartLog::read_from_bytes(&log(Lid::OCP_SMART, 0)).unwrap();
    let fdp = FdpStatistics::read_from_prefix(&log(Lid::FDP_STATISTICS, 1 << 16)).unwrap().0;
    let group = EnduranceGroupLog::read_from_bytes(&log(Lid::ENDURANCE_GROUP, 1 << 16)).unwrap();
    let smart = smart(&controller);
    assert_eq!(ocp.guid[..4], [0xc5, 0xaf, 0x10, 0x28]);
    assert_eq!((ocp.version.get(), ocp.dssd_version), (3, [0, 0, 0, 0, 0, 2]));
    assert_eq!(ocp.media_written, fdp.mbmw);
    assert!(ocp.media_written.get() > fdp.hbmw.get());
    let relocated = subsystem.drive.counters().counters.relocated_pages;
    assert!(relocated > 0, "garbage was collected");
    assert_eq!(ocp.media_read.get(), 24 * 512 + 4096 * (u128::from(relocated) + 1));
    assert_eq!(ocp.unaligned_io.get(), 1);
    // The sum of all erase counts is between the minimum and the maximum, times the number of reclaim units.
    let erased = fdp.mbe.get() >> 20;
    let (least, most) = (ocp.least_erases.get(), ocp.most_erases.get());
    assert!(most > 0 && u128::from(least) * 14 <= erased && erased <= u128::from(most) * 14);
    assert_eq!(u128::from(ocp.incomplete_shutdowns.get()), smart.unsafe_shutdowns.get());
    assert_eq!(u128::from(ocp.uncorrectable_reads.get()), smart.media_errors.get());
    let billions = ocp.endurance_estimate.get().div_ceil(1_000_000_000);
    assert_eq!(billions, group.endurance_estimate.get());
    assert_eq!(ocp.total_nuse.get(), (4 << 20) / 512);
    assert!((1..100).contains(&ocp.free_blocks), "{}", ocp.free_blocks);
}

#[test]
fn there_is_no_panic_to_recover_from() {
    let controller = fuzzing::connect(&subsystem());
    let page = log::<128>(&controller, Lid::OCP_ERROR_RECOVERY, 0);
    let log = OcpErrorRecoveryLog::read_from_bytes(&page).unwrap();
    assert_eq!((log.version.get(), log.guid), (2, ERROR_RECOVERY_GUID));
    assert_eq!((log.panic_id.get(), log.panic_count), (0, 0));
}

#[test]
fn the_latency_monitor_keeps_its_settings() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    assert_eq!(latencies(&controller).status, 0, "it is off at first");
    set(&controller, &settings()).unwrap();
    let log = latencies(&fuzzing::connect(&subsystem));
    assert_eq!((log.status, log.thresholds_z, log.minimum_window), (1, [0, 100, 200, 255], 1));
    assert_eq!((log.bucket_timer_threshold.get(), log.configuration.get()), (2, 0xfff));
    assert_eq!((log.version.get(), log.guid), (1, LATENCY_MONITOR_GUID));
    let fid = u32::from(Fid::OCP_LATENCY_MONITOR.0);
    let get = sqe(AdminOpcode::GET_FEATURES, fid, 0);
    assert_eq!(admin(&controller, &get, &[]).unwrap().data, settings().as_bytes());
    let default = sqe(AdminOpcode::GET_FEATURES, fid | 1 << 8, 0);
    let default = admin(&controller, &default, &[]).unwrap().data;
    let default = OcpLatencyMonitor::read_from_bytes(&default).unwrap();
    assert_eq!((default.thresholds_z, default.enable), ([5, 0x13, 0x1e, 0x2e], 0));
    let wrong = [
        OcpLatencyMonitor { thresholds_z: [5, 5, 6, 7], ..settings() },
        OcpLatencyMonitor { debug_trigger: 1.into(), ..settings() },
    ];
    for wrong in wrong {
        assert_eq!(set(&controller, &wrong), Err(Status::INVALID_FIELD));
    }
    assert_eq!(latencies(&controller).status, 1);
}

#[test]
fn saved_settings_are_in_effect_after_a_kill() {
    let storage = FaultyStorage::default();
    let serve = |storage: &FaultyStorage| {
        let environment = Environment {
            storage: Arc::new(storage.clone()),
            clock: Arc::<ManualClock>::default(),
            ..Environment::default()
        };
        fuzzing::connect(&fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment))
    };
    let saved = |controller: &Controller| {
        let cdw10 = u32::from(Fid::OCP_LATENCY_MONITOR.0) | 2 << 8;
        let data = admin(controller, &sqe(AdminOpcode::GET_FEATURES, cdw10, 0), &[]).unwrap().data;
        OcpLatencyMonitor::read_from_bytes(&data).unwrap()
    };
    let controller = serve(&storage);
    assert_eq!(saved(&controller).enable, 0, "the default");
    set_and(&controller, &settings(), true).unwrap();
    set(&controller, &OcpLatencyMonitor { minimum_window: 7, ..settings() }).unwrap();
    assert_eq!(saved(&controller), settings());
    // From the journal, and then from the checkpoint written when the drive is opened.
    let again = storage.copy();
    assert_eq!(latencies(&serve(&again)).minimum_window, 1);
    let controller = serve(&again.copy());
    assert_eq!((latencies(&controller).minimum_window, latencies(&controller).status), (1, 1));
    assert_eq!(saved(&controller), settings());
}

#[test]
fn a_write_is_as_slow_as_the_host_that_sends_its_data() {
    let subsystem = subsystem();
    let pool = Arc::default();
    let connect = |qid, cntlid| {
        let local = "127.0.0.1:4420".to_owned();
        let mut connection = Connection::new(Arc::clone(&subsystem), local, Arc::clone(&pool));
        let mut out = Vec::new();
        connection.receive(&opening(qid, cntlid), &mut out).unwrap();
        connection
    };
    let admin_queue = connect(0, 0xffff);
    let controller = Arc::clone(admin_queue.queue().unwrap().0);
    let mut queue = connect(1, controller.cntlid);
    let write = Sqe {
        opcode: NvmOpcode::WRITE.0,
        flags: 0x40,
        cid: 7.into(),
        nsid: 1.into(),
        cdw12: 63.into(),
        sgl: Sgl::transport(32 << 10),
        ..Default::default()
    };
    let mut run = || {
        let mut out = Vec::new();
        queue.receive(&capsule(&write, &[]), &mut out).unwrap();
        let (r2t, _) = R2t::read_from_prefix(&out).unwrap();
        std::thread::sleep(Duration::from_millis(6));
        let header = DataPdu {
            header: PduHeader {
                pdu_type: PduType::H2C_DATA.0,
                flags: PduFlags::new().with_last(true).into_bits(),
                hlen: size_of::<DataPdu>() as u8,
                pdo: size_of::<DataPdu>() as u8,
                plen: (size_of::<DataPdu>() as u32 + (32 << 10)).into(),
            },
            cccid: 7.into(),
            ttag: r2t.ttag,
            datal: (32 << 10).into(),
            ..Default::default()
        };
        out.clear();
        queue.receive(&[header.as_bytes(), &[1; 32 << 10]].concat(), &mut out).unwrap();
        let (response, _) = CapsuleResp::read_from_prefix(&out).unwrap();
        assert_eq!(response.cqe.status.get(), 0);
    };
    run();
    set(&controller, &settings()).unwrap();
    assert_eq!(latencies(&controller).active.counters, <[[U32; 4]; 4]>::default());
    run();
    let active = latencies(&controller).active;
    let slow: u32 = active.counters.iter().map(|bucket| bucket[2].get()).sum();
    assert_eq!(slow, 1, "one write of at least 6 ms: {active:?}");
    let others = active.counters.iter().flat_map(|b| [b[0], b[1], b[3]]).map(|c| c.get());
    assert_eq!(others.sum::<u32>(), 0);
    let (latency, stamp) = (0..4)
        .map(|bucket| (active.latencies[bucket][1].get(), active.stamps[bucket][1].get()))
        .find(|(latency, _)| *latency > 0)
        .unwrap();
    assert!(latency >= 6 && stamp != u64::MAX, "{latency} ms at {stamp}");
}

#[test]
fn device_capabilities_are_those_of_identify() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let page = log::<1024>(&controller, Lid::OCP_DEVICE_CAPABILITIES, 0);
    let log = OcpDeviceCapabilitiesLog::read_from_bytes(&page).unwrap();
    assert_eq!((log.version.get(), log.guid), (1, DEVICE_CAPABILITIES_GUID));
    let identify = identify(&controller);
    assert_eq!(log.fused, identify.fuses);
    assert_eq!(u32::from(log.sanitize.get() >> 1) & 7, identify.sanicap.get() & 7);
    let oncs = Oncs::from_bits(identify.oncs.get());
    assert_eq!(log.write_zeroes.get() & 1 == 1, oncs.write_zeroes());
    assert_eq!(log.dataset_management.get() & 1 == 1, oncs.dsm());
    assert_eq!(log.write_uncorrectable.get() & 1 == 1, oncs.write_uncorrectable());
    assert_eq!(log.write_zeroes.get(), 0b111);
}

fn feature(fid: Fid, value: u32, save: bool) -> Sqe {
    let cdw10 = SetFeaturesCdw10::new().with_fid(fid.0).with_sv(save).into_bits();
    sqe(AdminOpcode::SET_FEATURES, cdw10, value)
}

fn set_value(controller: &Controller, fid: Fid, value: u32, save: bool) -> Status {
    let done = admin(controller, &feature(fid, value, save), &[]);
    done.map_or_else(|failure| failure.status, |_| Status::SUCCESS)
}

/// Returns the current, the default and the saved value of a feature.
fn values(controller: &Controller, fid: Fid) -> [u32; 3] {
    [0, 1, 2].map(|select| {
        let cdw10 = GetFeaturesCdw10::new().with_fid(fid.0).with_sel(select).into_bits();
        admin(controller, &sqe(AdminOpcode::GET_FEATURES, cdw10, 0), &[]).unwrap().dw0
    })
}

#[test]
fn features_of_one_number_are_checked_and_saved() {
    let storage = FaultyStorage::default();
    let open = |storage: FaultyStorage| {
        let environment = Environment { storage: Arc::new(storage), ..Environment::default() };
        fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment)
    };
    let subsystem = open(storage.clone());
    let controller = fuzzing::connect(&subsystem);
    assert_eq!(values(&controller, Fid::OCP_FAILURE_MODE), [3, 3, 3]);
    assert_eq!(set_value(&controller, Fid::OCP_FAILURE_MODE, 1 << 30, false), Status::SUCCESS);
    assert_eq!(set_value(&controller, Fid::OCP_FAILURE_MODE, 0, false), Status::INVALID_FIELD);
    assert_eq!(values(&controller, Fid::OCP_FAILURE_MODE), [1, 3, 3]);
    assert_eq!(set_value(&controller, Fid::OCP_HEALTH_CHECK, 7 << 16, true), Status::SUCCESS);
    assert_eq!(values(&controller, Fid::OCP_HEALTH_CHECK), [7, 15, 7]);
    let page = log::<1024>(&controller, Lid::OCP_DEVICE_CAPABILITIES, 0);
    let power = OcpDeviceCapabilitiesLog::read_from_bytes(&page).unwrap();
    let watts = power.least_power_state.get();
    let valid = |watts: u16| power.power_states[usize::from(watts)] == 0x80;
    assert!(valid(watts) && !valid(watts + 1));
    assert_eq!(set_value(&controller, Fid::OCP_POWER_STATE, watts.into(), false), Status::SUCCESS);
    let other = u32::from(watts) + 1;
    assert_eq!(set_value(&controller, Fid::OCP_POWER_STATE, other, false), Status::INVALID_FIELD);
    // As after a kill, because the first drive is not closed.
    let controller = fuzzing::connect(&open(storage.copy()));
    assert_eq!(values(&controller, Fid::OCP_FAILURE_MODE)[0], 3);
    assert_eq!(values(&controller, Fid::OCP_HEALTH_CHECK), [7, 15, 7]);
}

/// Injects an error through the feature.
fn inject(controller: &Controller, kind: u16, flags: u8) -> Status {
    let entry = OcpErrorInjection { flags, kind: kind.into(), ..Default::default() };
    let command = feature(Fid::OCP_ERROR_INJECTION, 1, false);
    let done = admin(controller, &command, entry.as_bytes());
    done.map_or_else(|failure| failure.status, |_| Status::SUCCESS)
}

#[test]
fn without_spares_the_drive_does_what_its_failure_mode_says() {
    let subsystem = fuzzing::subsystem_on(DataSpec::Memory, Environment::default());
    let controller = fuzzing::connect(&subsystem);
    let mut queue = IoQueue::new(Arc::clone(&controller));
    let mut write = || {
        let sqe = Sqe { opcode: NvmOpcode::WRITE.0, nsid: 1.into(), ..Default::default() };
        queue.begin_batch();
        let done = queue.execute(&sqe, &[1; 512], &mut Vec::new());
        queue.end_batch().unwrap();
        done.map_or_else(|failure| failure.status, |()| Status::SUCCESS)
    };
    let warning = || CriticalWarning::from(smart(&controller).critical_warning);
    assert_eq!(set_value(&controller, Fid::OCP_FAILURE_MODE, 1 << 30, false), Status::SUCCESS);
    assert_eq!((write(), warning()), (Status::SUCCESS, CriticalWarning::new()));
    // Panics cannot be injected.
    assert_eq!(inject(&controller, 1, 1), Status::INVALID_FIELD);
    assert_eq!(inject(&controller, OcpErrorType::NO_MORE_SPARES.0, 1), Status::SUCCESS);
    let spare = CriticalWarning::new().with_spare(true);
    assert_eq!(warning(), spare.with_read_only(true));
    assert_eq!(write(), Status::NAMESPACE_WRITE_PROTECTED);
    let get = sqe(AdminOpcode::GET_FEATURES, Fid::OCP_ERROR_INJECTION.0.into(), 0);
    let injected = admin(&controller, &get, &[]).unwrap();
    assert_eq!((injected.dw0, injected.data.len()), (1, 4096));
    assert_eq!(injected.data[..4], [1, 0, 10, 0]);
    assert_eq!(set_value(&controller, Fid::OCP_FAILURE_MODE, 2 << 30, false), Status::SUCCESS);
    assert_eq!((write(), warning()), (Status::SUCCESS, spare));
    assert_eq!(set_value(&controller, Fid::OCP_FAILURE_MODE, 1 << 30, false), Status::SUCCESS);
    assert_eq!(inject(&controller, OcpErrorType::NO_MORE_SPARES.0, 0), Status::SUCCESS);
    assert_eq!((write(), warning()), (Status::SUCCESS, CriticalWarning::new()));
    assert_eq!(admin(&controller, &get, &[]).unwrap().dw0, 0);
}

#[test]
fn write_through_makes_each_write_durable() {
    let storage = FaultyStorage::default();
    let environment = Environment { storage: Arc::new(storage.clone()), ..Environment::default() };
    let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
    let controller = fuzzing::connect(&subsystem);
    let mut queue = IoQueue::new(Arc::clone(&controller));
    assert_eq!(set_value(&controller, Fid::OCP_FAILURE_MODE, 2 << 30, false), Status::SUCCESS);
    assert_eq!(inject(&controller, OcpErrorType::NO_MORE_SPARES.0, 1), Status::SUCCESS);
    // When syncs fail, only writes that must be durable fail.
    storage.fail_syncs(true);
    let sqe = Sqe { opcode: NvmOpcode::WRITE.0, nsid: 1.into(), ..Default::default() };
    queue.begin_batch();
    let done = queue.execute(&sqe, &[1; 512], &mut Vec::new());
    assert_eq!(done.unwrap_err().status, Status::WRITE_FAULT);
}

#[test]
fn the_firmware_history_has_activations_since_it_was_cleared() {
    let subsystem = subsystem();
    let controller = fuzzing::connect(&subsystem);
    let history = || {
        let page = log::<1024>(&controller, Lid::OCP_FIRMWARE_HISTORY, 0);
        OcpFirmwareHistoryLog::read_from_bytes(&page).unwrap()
    };
    let commit = |action: u8, slot: u8| {
        let cdw10 = FirmwareCommitCdw10::new().with_action(action).with_slot(slot).into_bits();
        admin(&controller, &sqe(AdminOpcode::FIRMWARE_COMMIT, cdw10, 0), &[])
            .map_or_else(|failure| failure.status, |_| Status::SUCCESS)
    };
    assert_eq!((history().valid.get(), history().guid), (0, FIRMWARE_HISTORY_GUID));
    for _ in 0..21 {
        assert_eq!(commit(3, 1), Status::SUCCESS);
    }
    assert_eq!(commit(2, 7), Status::INVALID_FIRMWARE_SLOT);
    let now = history();
    let (first, last) = (now.entries[0], now.entries[19]);
    assert_eq!((now.valid.get(), first.count.get(), last.count.get()), (20, 3, 22));
    assert_eq!((first.slot, first.action, first.result.get()), (1, 3, 0));
    assert_eq!((last.slot, last.action, last.result.get()), (7, 2, 0x106));
    let running = subsystem.drive.firmware().running();
    assert_eq!((first.old_revision, first.new_revision), (running, running));
    assert_eq!(first.power_cycles.get(), 1);
    let clear = Fid::OCP_CLEAR_FIRMWARE_HISTORY;
    assert_eq!(set_value(&controller, clear, 1, false), Status::INVALID_FIELD);
    assert_eq!(history().valid.get(), 20);
    assert_eq!(set_value(&controller, clear, 1 << 31, false), Status::SUCCESS);
    assert_eq!(history().valid.get(), 0);
    assert_eq!(commit(3, 1), Status::SUCCESS);
    assert_eq!((history().valid.get(), history().entries[0].count.get()), (1, 1));
}

#[test]
fn the_uuid_list_names_ocp() {
    let controller = fuzzing::connect(&subsystem());
    assert!(Ctratt::from(identify(&controller).ctratt.get()).ulist());
    let list = sqe(AdminOpcode::IDENTIFY, Cns::UUID_LIST.0.into(), 0);
    let data = admin(&controller, &list, &[]).unwrap().data;
    // c194d55b-e094-4794-a21d-29998f56be6f, the only entry.
    assert_eq!(data[48..52], [0xc1, 0x94, 0xd5, 0x5b]);
    assert_eq!(
        (data.len(), data[63], data[64..].iter().any(|byte| *byte != 0)),
        (4096, 0x6f, false)
    );
    let get = |index: u8| {
        let get = sqe(AdminOpcode::GET_FEATURES, Fid::OCP_POWER_STATE.0.into(), 0);
        let page = GetLogCdw10::new().with_lid(Lid::OCP_SMART.0).with_numdl_z(127).into_bits();
        [get, sqe(AdminOpcode::GET_LOG_PAGE, page, 0)].map(|command| {
            let uuid = GetLogCdw14::new().with_uuid_index(index).into_bits();
            let command = Sqe { cdw14: uuid.into(), ..command };
            admin(&controller, &command, &[])
                .map_or_else(|failure| failure.status, |_| Status::SUCCESS)
        })
    };
    assert_eq!(get(0), [Status::SUCCESS; 2]);
    assert_eq!(get(1), [Status::SUCCESS; 2]);
    assert_eq!(get(2), [Status::INVALID_FIELD; 2]);
}
