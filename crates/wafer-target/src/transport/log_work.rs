//! Background work on the write log of a drive.

use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use wafer_drive::Drive;
use wafer_storage::LogWork;

/// Starts the work of a drive, with a task for each kind, until the set is dropped.
pub(super) fn start(drive: &Arc<Drive>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let [apply, release] = [LogWork::Apply, LogWork::Release].map(|work| {
        let due = Arc::new(Notify::new());
        tasks.spawn(run(Arc::clone(drive), work, Arc::clone(&due)));
        due
    });
    drive.on_log_work(move |work| match work {
        LogWork::Apply => apply.notify_one(),
        LogWork::Release => release.notify_one(),
    });
    tasks
}

async fn run(drive: Arc<Drive>, work: LogWork, due: Arc<Notify>) {
    // A single-threaded runtime has no other thread to hand its tasks to.
    let threads = Handle::current().runtime_flavor() != RuntimeFlavor::CurrentThread;
    loop {
        due.notified().await;
        if threads {
            tokio::task::block_in_place(|| drive.log_work(work));
        } else {
            drive.log_work(work);
        }
    }
}
