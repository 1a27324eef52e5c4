//! Deallocated or Unwritten Logical Block Error (feature 05h).

use std::sync::Arc;

use wafer_controller::{Controller, admin};
use wafer_drive::Environment;
use wafer_io::IoQueue;
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{configure, sqe};

struct Bench {
    controller: Arc<Controller>,
    queue: IoQueue,
}

const REFUSED: Status = Status::DEALLOCATED_BLOCK;

impl Bench {
    fn new() -> Self {
        let subsystem = fuzzing::subsystem_on(DataSpec::Memory, Environment::default());
        let controller = fuzzing::connect(&subsystem);
        Bench { queue: IoQueue::new(Arc::clone(&controller)), controller }
    }

    fn feature(&self, opcode: AdminOpcode, nsid: u32, value: ErrorRecovery) -> ErrorRecovery {
        let sqe = sqe(opcode, Fid::ERROR_RECOVERY.0.into(), value.into_bits());
        let reply = admin(&self.controller, &Sqe { nsid: nsid.into(), ..sqe }, &[]);
        ErrorRecovery::from_bits(reply.unwrap().dw0)
    }

    fn enable(&self, nsid: u32, dulbe: bool) {
        let value = ErrorRecovery::new().with_tler(7).with_dulbe(dulbe);
        self.feature(AdminOpcode::SET_FEATURES, nsid, value);
        let found = self.feature(AdminOpcode::GET_FEATURES, 1, ErrorRecovery::new());
        assert_eq!((found.tler(), found.dulbe()), (7, dulbe));
    }

    /// Executes a command of 8 blocks of 512 bytes, which is a page. A failure is a status and a block.
    fn io(&mut self, opcode: NvmOpcode, lba: u32, data: &[u8]) -> Result<(), (Status, u64)> {
        let cdw12 = if opcode == NvmOpcode::COPY { 0 } else { 7 };
        let ad = u32::from(opcode == NvmOpcode::DATASET_MANAGEMENT) * 4;
        let sqe = Sqe {
            opcode: opcode.0,
            nsid: 1.into(),
            cdw10: (if ad == 0 { lba } else { 0 }).into(),
            cdw11: ad.into(),
            cdw12: cdw12.into(),
            ..Default::default()
        };
        let done = self.queue.execute(&sqe, data, &mut Vec::new());
        done.map_err(|failure| (failure.status, failure.lba))
    }

    fn read(&mut self, lba: u32) -> Result<(), (Status, u64)> {
        self.io(NvmOpcode::READ, lba, &[])
    }

    fn write(&mut self, lba: u32) {
        self.io(NvmOpcode::WRITE, lba, &[7; 4096]).unwrap();
    }

    fn deallocate(&mut self, lba: u64) {
        let range = DsmRange { length: 8.into(), slba: lba.into(), ..Default::default() };
        self.io(NvmOpcode::DATASET_MANAGEMENT, 0, range.as_bytes()).unwrap();
    }
}

#[test]
fn reading_a_deallocated_block_is_an_error_while_a_host_wants_that() {
    let mut bench = Bench::new();
    let identify = Sqe { nsid: 1.into(), ..sqe(AdminOpcode::IDENTIFY, 0, 0) };
    let id = admin(&bench.controller, &identify, &[]).unwrap().data;
    let id = IdentifyNamespace::read_from_bytes(&id).unwrap();
    assert!(Nsfeat::from_bits(id.nsfeat).dae());
    bench.read(0).unwrap();
    bench.enable(1, true);
    // All within one batch: earlier writes and deallocations of the queue count.
    assert_eq!(bench.read(8), Err((REFUSED, 8)));
    bench.write(8);
    bench.read(8).unwrap();
    assert_eq!(bench.read(12), Err((REFUSED, 16)), "the second half");
    assert_eq!(bench.read(4), Err((REFUSED, 4)), "the first half");
    for opcode in [NvmOpcode::VERIFY, NvmOpcode::COMPARE] {
        bench.io(opcode, 8, &[7; 4096]).unwrap();
        assert_eq!(bench.io(opcode, 16, &[0; 4096]), Err((REFUSED, 16)), "{opcode:?}");
    }
    let source = |slba: u64| CopyRange { slba: slba.into(), nlb_z: 7.into(), ..Default::default() };
    bench.io(NvmOpcode::COPY, 64, source(8).as_bytes()).unwrap();
    assert_eq!(bench.io(NvmOpcode::COPY, 72, source(16).as_bytes()), Err((REFUSED, 16)));
    bench.read(64).unwrap();
    assert_eq!(bench.read(72), Err((REFUSED, 72)));
    bench.deallocate(8);
    assert_eq!(bench.read(8), Err((REFUSED, 8)));
    bench.enable(1, false);
    bench.read(8).unwrap();
}

#[test]
fn the_error_is_enabled_for_all_namespaces_and_until_a_reset() {
    let mut bench = Bench::new();
    bench.enable(0xffff_ffff, true);
    assert_eq!(bench.read(0), Err((REFUSED, 0)));
    // Another host has not enabled the error.
    let subsystem = Arc::clone(&bench.controller.subsystem);
    let mut other = IoQueue::new(fuzzing::connect(&subsystem));
    let read = Sqe { opcode: NvmOpcode::READ.0, nsid: 1.into(), ..Default::default() };
    other.execute(&read, &[], &mut Vec::new()).unwrap();
    configure(&bench.controller, Cc::new()).unwrap();
    configure(&bench.controller, Cc::new().with_en(true)).unwrap();
    bench.read(0).unwrap();
}
