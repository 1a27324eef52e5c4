//! Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C.
pub(crate) static CANCEL: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C set [`CANCEL`]; the second one does not wait for the runs to stop.
pub(crate) fn cancel_on_ctrl_c() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        if CANCEL.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
}

/// Reports whether Ctrl-C was pressed.
pub(crate) fn is_cancelled() -> bool {
    CANCEL.load(Ordering::Relaxed)
}
