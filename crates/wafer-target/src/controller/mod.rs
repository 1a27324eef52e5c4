//! NVMe controllers: the meaning of commands, independent of the transport.
//!
//! A [`Subsystem`] has one drive and any number of [`Controller`]s, one for each association of a host
//! (dynamic controller model). `admin.rs`, `io/` and `fabrics.rs` dispatch commands to handlers, which check
//! the submission queue entry and execute it; `logs.rs` and `features.rs` dispatch to log pages and features.
//! A command that succeeds returns a [`Reply`]. One that fails returns a [`Failure`], whose status goes on the
//! wire and into the error log. `support.rs` derives from the handlers what Identify and the effects logs
//! report.

mod admin;
mod async_event;
mod connect;
mod fabrics;
mod fdp_logs;
mod features;
mod identify;
mod io;
mod limits;
mod logs;
mod namespaces;
mod reply;
mod subsystem;
mod support;

use std::sync::{Arc, Mutex};

pub use admin::admin;
pub use fabrics::fabrics;
pub use io::IoQueue;
pub use limits::{ADMIN_CAPSULE_DATA, IO_CAPSULE_DATA, MAX_IO_QUEUES, MAX_TRANSFER, MQES_Z};
pub use reply::{Failure, Reply};
pub use subsystem::{Controller, ControllerInfo, Kind, Subsystem, SubsystemOptions};
use support::Support;
use wafer_drive::Drive;

impl Subsystem {
    /// Makes a subsystem without controllers.
    pub fn new(drive: Arc<Drive>, options: SubsystemOptions) -> Arc<Self> {
        Arc::new(Subsystem { drive, options, support: support(), controllers: Mutex::default() })
    }
}

/// Returns the rows of the codes that have a handler.
fn support() -> Support {
    Support {
        admin: admin::COMMANDS.iter().filter_map(|(opcode, _)| opcode.info()).collect(),
        io: io::COMMANDS.iter().filter_map(|(opcode, _)| opcode.info()).collect(),
        fabrics: fabrics::SUPPORTED.iter().filter_map(|fctype| fctype.info()).collect(),
        log_pages: logs::PAGES.iter().filter_map(|(lid, _)| lid.info()).collect(),
        features: features::FEATURES.iter().filter_map(|(fid, _)| fid.info()).collect(),
    }
}

/// Returns Markdown tables of the commands, log pages and features of the specification, and which of them
/// the target supports.
pub fn support_matrix() -> String {
    support().matrix()
}
