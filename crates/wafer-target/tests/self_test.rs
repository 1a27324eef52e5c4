//! Device Self-test: what it reads, how it ends, and what is kept.

use std::sync::Arc;

use wafer_controller::{Controller, Subsystem, admin};
use wafer_drive::Environment;
use wafer_faults::{FaultyStorage, ManualClock, Operation};
use wafer_nvme::zerocopy::FromBytes as _;
use wafer_nvme::*;
use wafer_storage::DataSpec;
use wafer_target::fuzzing;

use crate::common::{configure, log, sqe};

const BROADCAST: u32 = u32::MAX;

struct Bench {
    storage: FaultyStorage,
    subsystem: Arc<Subsystem>,
    controller: Arc<Controller>,
}

impl Bench {
    fn on(storage: FaultyStorage) -> Self {
        let environment = Environment {
            storage: Arc::new(storage.clone()),
            clock: Arc::<ManualClock>::default(),
            ..Environment::default()
        };
        let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
        let controller = fuzzing::connect(&subsystem);
        Bench { storage, subsystem, controller }
    }

    fn new() -> Self {
        Self::on(FaultyStorage::default())
    }

    /// Returns the drive as the next server finds it after a kill.
    fn killed(&self) -> Self {
        Self::on(self.storage.copy())
    }

    fn test(&self, code: SelfTestCode, nsid: u32) -> Result<(), Status> {
        let cdw10 = SelfTestCdw10::new().with_stc(code.0).into_bits();
        let sqe = Sqe { nsid: nsid.into(), ..sqe(AdminOpcode::SELF_TEST, cdw10, 0) };
        admin(&self.controller, &sqe, &[]).map(|_| ()).map_err(|failure| failure.status)
    }

    fn log(&self) -> SelfTestLog {
        SelfTestLog::read_from_bytes(&log::<141>(&self.controller, Lid::SELF_TEST, 0)).unwrap()
    }

    /// Returns code and outcome of the newest results, up to the first unused entry.
    fn results(&self) -> Vec<(SelfTestCode, SelfTestOutcome)> {
        let results = self.log().results;
        let of = |e: &SelfTestEntry| (SelfTestCode(e.status >> 4), SelfTestOutcome(e.status & 0xf));
        results.iter().map(of).take_while(|(_, o)| *o != SelfTestOutcome::UNUSED).collect()
    }

    fn maintain(&self) {
        let _ = self.subsystem.drive.maintain();
    }

    /// Fails reads of data at or beyond an offset.
    fn fail_reads(&self, beyond: u64) {
        self.storage.fail(move |_, path, operation| match operation {
            Operation::Read(offset, _) if path.ends_with("drive.img") && offset >= beyond => {
                Some(std::io::Error::other("no read"))
            }
            _ => None,
        });
    }
}

#[test]
fn tests_pass_on_a_drive_that_works() {
    let bench = Bench::new();
    let identify = sqe(AdminOpcode::IDENTIFY, Cns::CONTROLLER.0.into(), 0);
    let id = admin(&bench.controller, &identify, &[]).unwrap().data;
    let id = IdentifyController::read_from_bytes(&id).unwrap();
    assert!(Oacs::from_bits(id.oacs.get()).self_test());
    assert_eq!((id.edstt.get(), id.dsto), (1, 1));
    assert_eq!((bench.log().current, bench.results()), (0, Vec::new()));
    let (short, extended) = (SelfTestCode::SHORT, SelfTestCode::EXTENDED);
    for (code, nsid) in [(short, BROADCAST), (extended, 1), (short, 0)] {
        bench.test(code, nsid).unwrap();
        assert_eq!((bench.log().current, bench.log().completion), (code.0, 0));
        assert_eq!(bench.test(short, 0), Err(Status::SELF_TEST_IN_PROGRESS));
        bench.maintain();
        assert_eq!(bench.log().current, 0);
    }
    let passed = |code| (code, SelfTestOutcome::PASSED);
    assert_eq!(bench.results(), [passed(short), passed(extended), passed(short)]);
    assert_eq!(bench.test(SelfTestCode(5), 0), Err(Status::INVALID_FIELD));
    assert_eq!(bench.test(short, 7), Err(Status::INVALID_FIELD));
}

#[test]
fn what_cannot_be_read_fails_the_test_that_reads_it() {
    let bench = Bench::new();
    // The third of four MiB, which a short test does not read.
    bench.storage.fail(|_, path, operation| match operation {
        Operation::Read(offset, _) if path.ends_with("drive.img") && offset == 2 << 20 => {
            Some(std::io::Error::other("no read"))
        }
        _ => None,
    });
    bench.test(SelfTestCode::SHORT, BROADCAST).unwrap();
    bench.maintain();
    bench.test(SelfTestCode::EXTENDED, BROADCAST).unwrap();
    bench.maintain();
    let failed = bench.log().results[0];
    assert_eq!(failed.status, 2 << 4 | SelfTestOutcome::FAILED_SEGMENT.0);
    assert_eq!((failed.segment, failed.valid, failed.nsid.get()), (2, 0b1111, 1));
    assert_eq!((failed.lba.get(), failed.sct, failed.sc), (4096, 2, 0x81));
    assert_eq!(bench.results()[1], (SelfTestCode::SHORT, SelfTestOutcome::PASSED));
    bench.fail_reads(3 << 20);
    bench.test(SelfTestCode::SHORT, 1).unwrap();
    bench.maintain();
    assert_eq!(bench.log().results[0].lba.get(), (3 << 20) / 512);
    // Without a namespace, nothing is read.
    bench.test(SelfTestCode::EXTENDED, 0).unwrap();
    bench.maintain();
    assert_eq!(bench.results()[0], (SelfTestCode::EXTENDED, SelfTestOutcome::PASSED));
}

#[test]
fn a_drive_that_cannot_be_saved_fails_its_test() {
    let bench = Bench::new();
    bench.storage.fail(|_, _, operation| {
        matches!(operation, Operation::Sync).then(|| std::io::Error::other("no sync"))
    });
    bench.subsystem.drive.save().unwrap_err();
    bench.test(SelfTestCode::SHORT, 0).unwrap();
    bench.maintain();
    let failed = bench.log().results[0];
    assert_eq!(failed.status, 1 << 4 | SelfTestOutcome::FAILED_SEGMENT.0);
    assert_eq!((failed.segment, failed.valid), (1, 0));
}

#[test]
fn commands_end_a_test() {
    let bench = Bench::new();
    let drive = &bench.subsystem.drive;
    let expect = |expected: SelfTestOutcome| {
        bench.maintain();
        assert_eq!((bench.log().current, bench.results()[0].1), (0, expected));
    };
    bench.test(SelfTestCode::ABORT, 0).unwrap();
    assert!(bench.results().is_empty(), "there was none to abort");
    bench.test(SelfTestCode::EXTENDED, 1).unwrap();
    bench.test(SelfTestCode::ABORT, 0).unwrap();
    expect(SelfTestOutcome::ABORTED_BY_COMMAND);
    bench.test(SelfTestCode::EXTENDED, 1).unwrap();
    drive.begin_sanitize(SanitizeCdw10::new().with_sanact(2).into_bits()).unwrap();
    expect(SelfTestOutcome::ABORTED_BY_SANITIZE);
    bench.test(SelfTestCode::EXTENDED, 1).unwrap();
    let removal = drive.begin_format(0, 1, 512).unwrap();
    expect(SelfTestOutcome::ABORTED_BY_FORMAT);
    let mut rest = Some(removal);
    while let Some(removal) = rest {
        rest = drive.remove_slice(removal).unwrap();
    }
    bench.test(SelfTestCode::EXTENDED, 1).unwrap();
    drive.delete_namespace(1).unwrap();
    expect(SelfTestOutcome::ABORTED_BY_NAMESPACE_REMOVAL);
}

#[test]
fn a_reset_ends_the_short_test_of_its_controller() {
    let bench = Bench::new();
    let other = fuzzing::connect(&bench.subsystem);
    let reset = |controller: &Controller| {
        configure(controller, Cc::new()).unwrap();
        configure(controller, Cc::new().with_en(true)).unwrap();
    };
    bench.test(SelfTestCode::SHORT, 1).unwrap();
    reset(&other);
    assert_eq!(bench.log().current, 1);
    reset(&bench.controller);
    assert_eq!(bench.results()[0].1, SelfTestOutcome::ABORTED_BY_RESET);
    bench.test(SelfTestCode::EXTENDED, 1).unwrap();
    reset(&bench.controller);
    assert_eq!(bench.log().current, 2);
}

#[test]
fn results_and_extended_tests_survive_a_kill() {
    let bench = Bench::new();
    for _ in 0..25 {
        bench.test(SelfTestCode::SHORT, 1).unwrap();
        bench.maintain();
    }
    assert_eq!(bench.results().len(), 20);
    bench.test(SelfTestCode::SHORT, 1).unwrap();
    let again = bench.killed();
    let aborted = (SelfTestCode::SHORT, SelfTestOutcome::ABORTED_BY_RESET);
    assert_eq!((again.results().len(), again.results()[0]), (20, aborted));
    again.test(SelfTestCode::EXTENDED, 1).unwrap();
    // From the journal, and then from the checkpoint written when the drive is opened.
    let again = again.killed().killed();
    assert_eq!((again.log().current, again.results()[0]), (2, aborted));
    again.maintain();
    assert_eq!(again.results()[0], (SelfTestCode::EXTENDED, SelfTestOutcome::PASSED));
}

#[test]
fn a_media_error_fails_the_test() {
    let bench = Bench::new();
    let namespace = bench.subsystem.drive.namespace(1).unwrap();
    bench.subsystem.drive.set_media_error(&namespace, 3 * 512, 512, true).unwrap();
    bench.subsystem.drive.begin_self_test(SelfTestCode::SHORT, vec![1], 1).unwrap();
    for _ in 0..100 {
        bench.subsystem.drive.maintain().unwrap();
    }
    let result = bench.subsystem.drive.self_test_results()[0].clone();
    assert_eq!(
        (result.outcome, result.unreadable),
        (SelfTestOutcome::FAILED_SEGMENT.0, Some((1, 3)))
    );
}

#[test]
fn a_namespace_removed_between_two_turns_ends_its_test() {
    for (delete, outcome) in [
        (false, SelfTestOutcome::ABORTED_BY_FORMAT),
        (true, SelfTestOutcome::ABORTED_BY_NAMESPACE_REMOVAL),
    ] {
        let bench = Bench::new();
        let drive = &bench.subsystem.drive;
        bench.test(SelfTestCode::EXTENDED, 1).unwrap();
        if delete {
            drive.delete_namespace(1).unwrap();
        } else {
            drive.format_namespace(0, 1, 512).unwrap();
        }
        bench.maintain();
        assert_eq!(bench.log().current, 0);
        assert_eq!(bench.results(), [(SelfTestCode::EXTENDED, outcome)]);
    }
}
