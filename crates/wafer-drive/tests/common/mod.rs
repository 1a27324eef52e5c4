//! A storage and a clock for tests, which `wafer-target` uses too.

mod clock;
mod faulty;

pub(crate) use clock::ManualClock;
#[allow(unused_imports)]
pub(crate) use faulty::{FaultyStorage, Operation};

/// Counts commands as a front end does, with those that moved data.
#[allow(dead_code, reason = "not every test counts")]
pub(crate) fn count(
    drive: &wafer_drive::Drive,
    commands: &[wafer_interface::Command],
    transferred: wafer_drive::Transferred,
) {
    let mut batch = wafer_drive::Batch::default();
    for command in commands {
        let namespace = drive.namespace(u32::from(command.namespace.0) + 1);
        batch.push(&namespace.expect("the namespace exists"), *command);
    }
    batch.transferred = transferred;
    drive.apply_batch(0, &mut batch);
}
