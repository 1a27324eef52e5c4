//! What fuzzers run: functions that take any bytes and panic where the target is at fault. `fuzz/` calls them
//! with cargo-fuzz, `tests/fuzz.rs` for a bounded time.

mod command;
mod pdu;
mod session;

use std::collections::BTreeSet;
use std::sync::Arc;

use wafer_core::DeviceConfig;

use crate::backend::DataSpec;
use crate::controller::{Subsystem, SubsystemOptions};
use crate::drive::{Drive, DriveOptions};

pub use command::{command, entry};
pub use pdu::pdu;
pub use session::{capsule, opening, piece, session};

/// NQN of the subsystem that fuzzers talk to.
pub const NQN: &str = "nqn.2026-11.io.wafer:fuzz";

/// What an input brought about, coarsely: two inputs that differ in it reached different code.
pub type Signature = BTreeSet<(u8, u16, u16)>;

fn subsystem() -> Arc<Subsystem> {
    let device: DeviceConfig = serde_json::from_value(serde_json::json!({
        "capacity": "4MiB", "reclaim_unit": { "size": "1MiB", "count": 14 }, "handles": 2, "groups": 1,
    }))
    .expect("a configuration");
    let options = DriveOptions {
        device,
        seed: 0,
        data: DataSpec::Memory,
        lba_bytes: 512,
        events_enabled: true,
    };
    let drive = Drive::new(options).expect("a device that works");
    Subsystem::new(
        Arc::new(drive),
        SubsystemOptions {
            nqn: NQN.to_owned(),
            serial: "F".to_owned(),
            model: "F".to_owned(),
            refuse_invalid_placement: false,
            advertise: None,
        },
    )
}
