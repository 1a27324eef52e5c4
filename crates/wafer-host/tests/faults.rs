//! Completions of a drive whose files fail.

use std::io;
use std::sync::Arc;

use wafer_drive::Environment;
use wafer_faults::{FaultyStorage, Operation};
use wafer_host::{Host, HostOptions, Io, QueueOptions};
use wafer_nvme::{DsmRange, Status, zerocopy::IntoBytes as _};
use wafer_storage::DataSpec;
use wafer_target::fuzzing;
use wafer_target::transport::ServerOptions;

use crate::common::Target;

#[test]
fn commands_that_the_journal_misses_fail() {
    let storage = FaultyStorage::default();
    let environment = Environment { storage: Arc::new(storage.clone()), ..Environment::default() };
    let subsystem = fuzzing::subsystem_on(DataSpec::File("drive.img".into()), environment);
    let target = Target::of(subsystem, ServerOptions::default());
    for digests in [false, true] {
        let queue = QueueOptions {
            header_digest: digests,
            data_digest: digests,
            ..QueueOptions::default()
        };
        let options = HostOptions { queue, ..HostOptions::new(fuzzing::NQN, "host") };
        let host = Host::connect(target.address, options).unwrap();
        let mut queue = host.io_queue(1).unwrap();
        let io = Io { nsid: 1 };
        assert!(queue.execute(io.write(0, 1, None), &[1; 512], 0).unwrap().status.is_success());
        storage.fail(|_, path, operation| {
            let journal = path.ends_with("drive.img.journal");
            let fails = journal && matches!(operation, Operation::Write(..));
            fails.then(|| io::Error::from_raw_os_error(28))
        });
        // They arrive together, so the failure occurs when the completions of all are ready.
        let range = DsmRange { slba: 8.into(), length: 8.into(), ..Default::default() };
        let writes = [
            queue.submit(io.write(0, 1, None), &[2; 512], 0),
            queue.submit(io.deallocate(1), range.as_bytes(), 0),
            queue.submit(io.write_zeroes(16, 8, false), &[], 0),
        ];
        let read = queue.submit(io.read(0, 1), &[], 512);
        for _ in 0..4 {
            let done = queue.complete().unwrap();
            if done.cid == read {
                assert_eq!(done.status, Status::SUCCESS);
            } else {
                assert!(writes.contains(&done.cid));
                assert_eq!(done.status, Status::WRITE_FAULT);
            }
        }
        storage.heal();
        target.drive.save().unwrap();
    }
    target.stop();
}
