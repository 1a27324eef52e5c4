//! Handles Ctrl-C.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use wafer_output as output;

use crate::errors::Interrupted;

/// Set by Ctrl-C.
pub(crate) static CANCEL: AtomicBool = AtomicBool::new(false);
static TIMES: AtomicU32 = AtomicU32::new(0);

/// Makes Ctrl-C set [`CANCEL`]; the second press ends the process at once.
pub(crate) fn cancel_on_ctrl_c() -> Result<(), ctrlc::Error> {
    cancel_until(2)
}

/// Makes Ctrl-C set [`CANCEL`]; press number `last` ends the process at once.
pub(crate) fn cancel_until(last: u32) -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(move || {
        CANCEL.store(true, Ordering::Relaxed);
        if TIMES.fetch_add(1, Ordering::Relaxed) + 1 >= last {
            std::process::exit(130);
        }
    })
}

/// As [`cancel_on_ctrl_c`], for a command with steps that take long and do not check [`CANCEL`]: after `limit`, the
/// process ends.
pub(crate) fn cancel_within(limit: Duration) -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(move || {
        if CANCEL.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        std::thread::spawn(move || {
            std::thread::sleep(limit);
            output::error(&Interrupted.to_string());
            std::process::exit(130);
        });
    })
}

/// Returns how often Ctrl-C was pressed.
pub(crate) fn times_cancelled() -> u32 {
    TIMES.load(Ordering::Relaxed)
}

/// Returns whether Ctrl-C was pressed.
pub(crate) fn is_cancelled() -> bool {
    CANCEL.load(Ordering::Relaxed)
}
