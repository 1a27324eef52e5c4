//! Log pages and features of the OCP Datacenter NVMe SSD specification.

use std::sync::Arc;
use std::time::Duration;

use wafer_controller::{Controller, admin};
use wafer_drive::Environment;
use wafer_faults::{FaultyStorage, ManualClock};
use wafer_interface::{Command, Op, Placement};
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
    // Half a page costs a page, which is read first; and a host reads 12 KiB.
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
    // Erasures of all reclaim units together are between the least and the greatest times their number.
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
    // From the journal, and then from the checkpoint that opening the drive writes.
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
