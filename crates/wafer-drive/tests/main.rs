//! A drive with files: what survives kills, power losses, and failing storage.

mod atomic;
mod faults;
mod files;
mod full;
mod life;
mod namespaces;
mod resume;

use std::path::Path;
use std::sync::Arc;

use wafer_device::DeviceConfig;
use wafer_drive::{Batch, Drive, DriveError, DriveOptions, Environment, Transferred};
use wafer_faults::{FaultyStorage, ManualClock};
use wafer_interface::{Command, Placement};
use wafer_nvme::Status;
use wafer_storage::DataSpec;

/// The drive's data file.
const DATA: &str = "drive.img";

fn config() -> DeviceConfig {
    serde_json::from_value(serde_json::json!({
        "capacity": "32MiB", "reclaim_unit": { "size": "1MiB" }, "overprovisioning": 0.6,
        "handles": 4,
    }))
    .unwrap()
}

fn options(data: DataSpec) -> DriveOptions {
    DriveOptions {
        device: config(),
        seed: 3,
        data,
        lba_bytes: 4096,
        events_enabled: false,
        given: Default::default(),
    }
}

/// Opens a drive in the file system.
fn open(path: &Path) -> Result<Drive, DriveError> {
    Drive::new(options(DataSpec::File(path.to_owned())))
}

/// Opens a drive on storage that fails on demand.
fn on(storage: &FaultyStorage) -> Result<Drive, DriveError> {
    with(storage, options(DataSpec::File(DATA.into())), &Arc::default())
}

fn with(
    storage: &FaultyStorage,
    options: DriveOptions,
    clock: &Arc<ManualClock>,
) -> Result<Drive, DriveError> {
    let clock = Arc::clone(clock);
    Drive::with(
        options,
        Environment { storage: Arc::new(storage.clone()), clock, ..Environment::default() },
    )
}

/// Returns random page writes, enough of them to cause garbage collection.
fn commands(count: u64, seed: u64) -> Vec<Command> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let placement = Placement((state >> 60) as u16 % 4);
            Command::write((state >> 33) % 8192 * 8, 8, placement)
        })
        .collect()
}

/// Counts commands as a front end does, including the data transfer commands.
fn count(drive: &Drive, commands: &[Command], transferred: Transferred) -> Result<(), Status> {
    let mut batch = Batch::default();
    for command in commands {
        let namespace = drive.namespace(u32::from(command.namespace.0) + 1);
        batch.push(&namespace.expect("the namespace exists"), *command);
    }
    batch.transferred = transferred;
    drive.apply_batch(0, &mut batch)
}
