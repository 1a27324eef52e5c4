//! A drive whose media run in real time: completions come when the media work is done, and not before.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use wafer_controller::{Controller, Subsystem};
use wafer_drive::Environment;
use wafer_emulation::{Time, Wake};
use wafer_faults::{FaultyStorage, Operation};
use wafer_interface::{Command, Placement};
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_record::time::Requests;
use wafer_storage::DataSpec;
use wafer_target::fuzzing::{self, capsule, opening};
use wafer_target::transport::{Connection, Over};

use crate::common::{configure, log, smart};
use crate::medium::FRAMES;

/// How long the cells take to read a page.
const CELLS: Duration = Duration::from_millis(40);
/// Longer than any machine takes to send a completion that is due.
const LONG: Duration = Duration::from_secs(60);

/// A subsystem whose drive takes 40 ms to read and 1 ms to program, and has a buffer of one program,
/// which a loss of power empties.
fn subsystem(data: DataSpec, environment: Environment) -> Arc<Subsystem> {
    with_timing(serde_json::json!({}), data, environment)
}

/// As [`subsystem`], with these keys of the timing too.
fn with_timing(
    more: serde_json::Value,
    data: DataSpec,
    environment: Environment,
) -> Arc<Subsystem> {
    // Room for commands of several turns.
    let mut keys = serde_json::json!({ "capacity": "48MiB", "reclaim_unit": { "size": "1MiB", "count": 80 }, "timing": {
        "dies": 4, "plane_page": "16KiB", "read_us": 40_000, "program_us": 1000, "channels": 4, "link_read": "3GB",
        "link_write": "3GB", "read_overhead_us": 10, "write_overhead_us": 5, "write_buffer": "96KiB", "slice_us": 100,
        "buffer_protected": false,
    } });
    keys["timing"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let subsystem = fuzzing::subsystem_of(keys, data, environment);
    subsystem.drive.emulate().unwrap();
    subsystem
}

/// A host with an I/O queue.
struct Host {
    admin: Connection,
    queue: Connection,
    controller: Arc<Controller>,
    /// What has arrived and was not looked at.
    arrived: Vec<u8>,
}

impl Host {
    fn new(subsystem: &Arc<Subsystem>) -> Self {
        let connect = |qid, cntlid| {
            let (local, pool) = ("127.0.0.1:4420".to_owned(), Arc::default());
            let mut connection = Connection::new(Arc::clone(subsystem), local, pool);
            connection.receive(&opening(qid, cntlid), &mut Vec::new()).unwrap();
            connection
        };
        let admin = connect(0, 0xffff);
        let controller = Arc::clone(admin.queue().unwrap().0);
        let queue = connect(1, controller.cntlid);
        Host { admin, queue, controller, arrived: Vec::new() }
    }

    fn send(&mut self, sqe: Sqe, data: &[u8]) -> Result<(), Over> {
        let sqe = Sqe { nsid: 1.into(), flags: sqe.flags | 0x40, ..sqe };
        self.queue.receive(&capsule(&sqe, data), &mut self.arrived).map(|_| ())
    }

    /// Lets the queue do what is due, and returns the PDUs that have arrived: command, status, and data.
    fn poll(&mut self) -> Vec<(u16, u16, Vec<u8>)> {
        self.queue.receive(&[], &mut self.arrived).unwrap();
        let (mut rest, mut pdus) = (&self.arrived[..], Vec::new());
        while !rest.is_empty() {
            let (header, _) = PduHeader::read_from_prefix(rest).unwrap();
            let (pdu, after) = rest.split_at(header.plen.get() as usize);
            pdus.push(match PduType(header.pdu_type) {
                PduType::C2H_DATA => {
                    let (data, _) = DataPdu::read_from_prefix(pdu).unwrap();
                    (data.cccid.get(), 0, pdu[usize::from(header.pdo)..].to_vec())
                }
                PduType::CAPSULE_RESP => {
                    let cqe = CapsuleResp::read_from_prefix(pdu).unwrap().0.cqe;
                    let status = StatusField::from_bits(cqe.status.get()).status();
                    (cqe.cid.get(), status, Vec::new())
                }
                other => panic!("{other:?}"),
            });
            rest = after;
        }
        self.arrived.clear();
        pdus
    }

    /// Waits for the next PDUs.
    fn wait(&mut self) -> Vec<(u16, u16, Vec<u8>)> {
        let since = Instant::now();
        loop {
            let pdus = self.poll();
            if !pdus.is_empty() {
                return pdus;
            }
            assert!(since.elapsed() < LONG, "no completion");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

fn command(opcode: NvmOpcode, cid: u16, lba: u32, blocks: u32) -> Sqe {
    let sgl = match opcode {
        NvmOpcode::READ => Sgl::transport(blocks * 512),
        _ => Sgl::default(),
    };
    Sqe {
        opcode: opcode.0,
        cid: cid.into(),
        cdw10: lba.into(),
        cdw12: RwCdw12::new().with_nlb_z((blocks - 1) as u16).into_bits().into(),
        sgl,
        ..Default::default()
    }
}

/// Writes page 0 as the host, and then enough to push it out of the buffer.
fn fill(host: &mut Host, subsystem: &Subsystem) {
    host.send(command(NvmOpcode::WRITE, 1, 0, 8), &[7; 4096]).unwrap();
    assert_eq!(host.wait(), [(1, 0, Vec::new())]);
    let rest =
        [Command::write(2048, 2048, Placement::NONE), Command::write(4096, 4096, Placement::NONE)];
    subsystem.drive.apply(0, &rest).unwrap();
    std::thread::sleep(Duration::from_millis(60));
}

#[test]
fn a_read_takes_the_time_of_its_cells_and_a_write_beside_it_does_not() {
    let subsystem = subsystem(DataSpec::Memory, Environment::default());
    let mut host = Host::new(&subsystem);
    fill(&mut host, &subsystem);
    let began = Instant::now();
    host.send(command(NvmOpcode::READ, 2, 0, 8), &[]).unwrap();
    assert!(host.arrived.is_empty(), "before its time");
    // Its identifier stays in use.
    host.send(command(NvmOpcode::READ, 2, 64, 8), &[]).unwrap();
    assert_eq!(host.poll(), [(2, Status::ID_CONFLICT.0, Vec::new())]);
    host.send(command(NvmOpcode::WRITE, 3, 8, 8), &[8; 4096]).unwrap();
    assert_eq!(host.wait(), [(3, 0, Vec::new())], "a write overtakes it");
    let read = host.wait();
    assert!(began.elapsed() >= CELLS);
    assert_eq!(read, [(2, 0, vec![7; 4096])]);
    // An error is reported immediately.
    host.send(command(NvmOpcode::READ, 4, 1 << 24, 8), &[]).unwrap();
    assert_eq!(host.poll(), [(4, Status::LBA_OUT_OF_RANGE.0, Vec::new())]);
    // Each command counts once, alongside the two writes that filled the buffer.
    let log = smart(&host.controller);
    assert_eq!((log.host_reads.get(), log.host_writes.get()), (1, 2 + 2));
}

/// Four reads of one connection do not all go before that of another.
#[test]
fn connections_have_turns() {
    // The controller works on one command, and takes them from the queues in turn.
    let one = serde_json::json!({ "command_slots": 1, "arbitration_burst": 1 });
    let subsystem = with_timing(one, DataSpec::Memory, Environment::default());
    let (mut busy, mut quiet) = (Host::new(&subsystem), Host::new(&subsystem));
    fill(&mut busy, &subsystem);
    let began = Instant::now();
    for cid in 10..14 {
        let lba = 2048 + 256 * u32::from(cid);
        busy.send(command(NvmOpcode::READ, cid, lba, 8), &[]).unwrap();
    }
    quiet.send(command(NvmOpcode::READ, 2, 2048, 8), &[]).unwrap();
    assert_eq!(quiet.wait().len(), 1);
    assert!(began.elapsed() >= 3 * CELLS, "two are before it");
    assert!(busy.poll().len() < 4, "and two after it");
}

#[test]
fn a_compare_waits_for_its_cells_and_so_does_a_fused_write() {
    let subsystem = subsystem(DataSpec::Memory, Environment::default());
    let mut host = Host::new(&subsystem);
    fill(&mut host, &subsystem);
    let began = Instant::now();
    host.send(command(NvmOpcode::COMPARE, 2, 0, 8), &[1; 4096]).unwrap();
    let fused = |flags, sqe| Sqe { flags, ..sqe };
    host.send(fused(1, command(NvmOpcode::COMPARE, 3, 0, 8)), &[7; 4096]).unwrap();
    host.send(fused(2, command(NvmOpcode::WRITE, 4, 0, 8)), &[9; 4096]).unwrap();
    let mut pdus = host.wait();
    while pdus.len() < 3 {
        pdus.extend(host.wait());
    }
    assert!(began.elapsed() >= CELLS);
    pdus.sort();
    let failed = (2, Status::COMPARE_FAILURE.0, Vec::new());
    assert_eq!(pdus, [failed, (3, 0, Vec::new()), (4, 0, Vec::new())]);
}

#[test]
fn no_more_commands_are_held_than_the_queue_has_entries() {
    let subsystem = subsystem(DataSpec::Memory, Environment::default());
    let mut host = Host::new(&subsystem);
    fill(&mut host, &subsystem);
    for cid in 10..42 {
        host.send(command(NvmOpcode::READ, cid, 0, 8), &[]).unwrap();
    }
    let over = host.send(command(NvmOpcode::READ, 42, 0, 8), &[]).unwrap_err();
    assert_eq!(over, Over::Fault(FatalError::SEQUENCE));
}

#[test]
fn a_reset_of_the_controller_ends_held_commands_without_completions() {
    let subsystem = subsystem(DataSpec::Memory, Environment::default());
    let mut host = Host::new(&subsystem);
    fill(&mut host, &subsystem);
    host.send(command(NvmOpcode::READ, 2, 0, 8), &[]).unwrap();
    configure(&host.controller, Cc::new()).unwrap();
    std::thread::sleep(2 * CELLS);
    assert_eq!(host.poll(), []);
    // A connection may end with a command in flight.
    let mut other = Host::new(&subsystem);
    other.send(command(NvmOpcode::READ, 2, 0, 8), &[]).unwrap();
    drop(other);
    std::thread::sleep(2 * CELLS);
    let mut third = Host::new(&subsystem);
    third.send(command(NvmOpcode::READ, 2, 0, 8), &[]).unwrap();
    assert_eq!(third.wait().len(), 1);
    let _ = &host.admin;
}

#[test]
fn a_write_that_the_drive_cannot_record_fails_at_its_time() {
    let storage = FaultyStorage::default();
    let environment = Environment { storage: Arc::new(storage.clone()), ..Environment::default() };
    let subsystem = subsystem(DataSpec::File("drive.img".into()), environment);
    let mut host = Host::new(&subsystem);
    host.send(command(NvmOpcode::WRITE, 1, 0, 8), &[7; 4096]).unwrap();
    assert_eq!(host.wait(), [(1, 0, Vec::new())]);
    // The write log in front of the frames still works, so only counting the command fails.
    storage.fail(|_, path, operation| {
        let is_frame = matches!(operation, Operation::Write(at, _) if at == 0 || at >= FRAMES);
        let fails = is_frame && path.ends_with("drive.img.journal");
        fails.then(|| std::io::Error::from_raw_os_error(28))
    });
    host.send(command(NvmOpcode::WRITE, 2, 0, 8), &[7; 4096]).unwrap();
    // That it could be recorded by now does not help.
    storage.heal();
    assert_eq!(host.wait(), [(2, Status::WRITE_FAULT.0, Vec::new())]);
}

#[test]
fn the_latency_monitor_sees_the_time_of_the_media() {
    let subsystem = subsystem(DataSpec::Memory, Environment::default());
    let mut host = Host::new(&subsystem);
    fill(&mut host, &subsystem);
    let settings = OcpLatencyMonitor {
        bucket_timer_threshold: 60.into(),
        thresholds_z: [0, 1, 5, 255],
        configuration: 0xfff.into(),
        minimum_window: 1,
        enable: 1,
        ..Default::default()
    };
    let cdw10 = SetFeaturesCdw10::new().with_fid(Fid::OCP_LATENCY_MONITOR.0).into_bits();
    let set = crate::common::sqe(AdminOpcode::SET_FEATURES, cdw10, 0);
    wafer_controller::admin(&host.controller, &set, settings.as_bytes()).unwrap();
    host.send(command(NvmOpcode::READ, 2, 0, 8), &[]).unwrap();
    assert_eq!(host.wait().len(), 1);
    let page = log::<128>(&host.controller, Lid::OCP_LATENCY_MONITOR, 0);
    let counters = OcpLatencyLog::read_from_bytes(&page).unwrap().active.counters;
    let reads: u32 = counters[2..].iter().map(|bucket| bucket[3].get()).sum();
    assert_eq!(reads, 1, "one read of at least 30 ms: {counters:?}");
}

/// Write Zeroes, Verify and Copy move no data to or from the host, and a write with Force Unit Access is one write.
#[test]
fn data_that_stays_on_the_drive_takes_no_time_of_the_link() {
    let subsystem = subsystem(DataSpec::Memory, Environment::default());
    let mut host = Host::new(&subsystem);
    let source = CopyRange { slba: 0.into(), nlb_z: 7.into(), ..Default::default() };
    let mut copy = command(NvmOpcode::COPY, 3, 64, 1);
    copy.cdw12 = 0.into();
    let commands = [
        (command(NvmOpcode::WRITE_ZEROES, 1, 0, 8), &[][..]),
        (command(NvmOpcode::VERIFY, 2, 0, 8), &[]),
        (copy, source.as_bytes()),
    ];
    for (sqe, data) in commands {
        host.send(sqe, data).unwrap();
        assert_eq!(host.wait(), [(sqe.cid.get(), 0, Vec::new())]);
    }
    let link = |requests: &Requests| requests.bands.iter().any(|b| b.parts_us.contains_key("link"));
    let time = subsystem.drive.snapshot().time.unwrap();
    let (read, write) = (time.read.unwrap(), time.write.unwrap());
    assert_eq!((read.count, read.bytes, link(&read)), (1, 4096, false));
    assert_eq!((write.count, write.bytes, link(&write)), (2, 8192, false));
    let plain = command(NvmOpcode::WRITE, 4, 0, 8);
    let durable = RwCdw12::new().with_nlb_z(7).with_fua(true).into_bits();
    for sqe in [plain, Sqe { cid: 5.into(), cdw12: durable.into(), ..plain }] {
        host.send(sqe, &[7; 4096]).unwrap();
        assert_eq!(host.wait(), [(sqe.cid.get(), 0, Vec::new())]);
    }
    let time = subsystem.drive.snapshot().time.unwrap();
    let write = time.write.unwrap();
    assert_eq!((write.count, write.bytes, link(&write)), (4, 4 * 4096, true));
    assert!(time.flush.is_none() && write.max_us >= 1000.0, "it waits for its program: {write:?}");
}

/// The controller takes it once, however many ranges it has.
#[test]
fn a_deallocation_of_many_ranges_is_one_command() {
    let slow = serde_json::json!({ "write_iops": 20 });
    let subsystem = with_timing(slow, DataSpec::Memory, Environment::default());
    let mut host = Host::new(&subsystem);
    let ranges: Vec<DsmRange> = (0..256u64)
        .map(|i| DsmRange { length: 8.into(), slba: (16 * i).into(), ..Default::default() })
        .collect();
    let mut deallocate = command(NvmOpcode::DATASET_MANAGEMENT, 1, 0, 1);
    (deallocate.cdw10, deallocate.cdw11, deallocate.cdw12) = (255.into(), 4.into(), 0.into());
    host.send(deallocate, ranges.as_bytes()).unwrap();
    assert_eq!(host.wait(), [(1, 0, Vec::new())]);
    let trim = subsystem.drive.snapshot().time.unwrap().trim.unwrap();
    assert_eq!((trim.count, trim.bytes), (1, 256 * 4096));
    assert!((50_000.0..100_000.0).contains(&trim.max_us), "twenty commands a second: {trim:?}");
}

struct Nobody;

impl Wake for Nobody {
    fn wake(&self, _: u64, _: Time) {}
}

/// However large it is, and whatever else is in the buffer.
#[test]
fn a_durable_write_waits_for_its_own_programs() {
    let subsystem = subsystem(DataSpec::Memory, Environment::default());
    let host = Host::new(&subsystem);
    let emulation = subsystem.drive.emulation().unwrap();
    let mut io = IoQueue::new(Arc::clone(&host.controller));
    for (count, blocks) in (1..).zip([8, 128, 512, 8]) {
        io.set_ticket(emulation.ticket(0));
        let mut sqe = command(NvmOpcode::WRITE, 1, 1024 * count as u32, blocks);
        sqe.nsid = 1.into();
        let nlb = (blocks - 1) as u16;
        sqe.cdw12 = RwCdw12::new().with_nlb_z(nlb).with_fua(true).into_bits().into();
        io.execute(&sqe, &vec![1; 512 * blocks as usize], &mut Vec::new()).unwrap();
        io.end_batch().unwrap();
        assert!(emulation.hold(io.ticket(), Weak::<Nobody>::new()));
        let began = Instant::now();
        let write = loop {
            let time = subsystem.drive.snapshot().time.unwrap();
            match time.write.filter(|write| write.count == count) {
                Some(write) => break write,
                None => assert!(began.elapsed() < LONG, "{count}"),
            }
        };
        assert!(write.min_us >= 990.0, "{blocks} blocks: {write:?}");
    }
}

#[test]
fn a_command_of_many_turns_does_not_delay_what_is_due() {
    let subsystem = subsystem(DataSpec::Memory, Environment::default());
    let mut host = Host::new(&subsystem);
    fill(&mut host, &subsystem);
    host.send(command(NvmOpcode::READ, 2, 0, 8), &[]).unwrap();
    // Two turns of 16 MiB.
    host.send(command(NvmOpcode::WRITE_ZEROES, 3, 16_384, 1 << 16), &[]).unwrap();
    std::thread::sleep(CELLS + CELLS / 2);
    let read: Vec<u16> = host.poll().into_iter().map(|(cid, ..)| cid).collect();
    assert_eq!(read, [2], "it comes with the next turn");
    assert_eq!(host.wait(), [(3, 0, Vec::new())]);
}
