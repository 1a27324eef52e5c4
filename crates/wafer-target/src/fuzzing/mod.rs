//! Fuzz entry points: functions that take arbitrary bytes and panic if the target is at fault. `fuzz/` runs them with
//! cargo-fuzz, `tests/fuzz.rs` for a bounded time.

mod command;
mod pdu;
mod session;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use command::{command, entry};
pub use pdu::pdu;
pub use session::{capsule, opening, piece, session};
use wafer_device::DeviceConfig;
use wafer_drive::{Drive, DriveOptions, Environment};
use wafer_nvme::zerocopy::{FromBytes as _, IntoBytes as _};
use wafer_nvme::*;
use wafer_storage::DataSpec;

use wafer_controller::{Controller, Subsystem, SubsystemOptions};

/// NQN of the subsystem under test.
pub const NQN: &str = "nqn.2026-11.io.wafer:fuzz";

/// A coarse summary of the effects of an input: inputs with different signatures reached different code.
pub type Signature = BTreeSet<(u8, u16, u16)>;

fn subsystem() -> Arc<Subsystem> {
    subsystem_on(DataSpec::Memory, Environment::default())
}

/// Creates a subsystem with a small drive.
pub fn subsystem_on(data: DataSpec, environment: Environment) -> Arc<Subsystem> {
    subsystem_of(serde_json::json!({}), data, environment)
}

/// Like [`subsystem_on`], with other keys of the device.
pub fn subsystem_of(
    keys: serde_json::Value,
    data: DataSpec,
    environment: Environment,
) -> Arc<Subsystem> {
    let mut device = serde_json::json!({
        "capacity": "4MiB", "reclaim_unit": { "size": "1MiB", "count": 14 }, "handles": 2, "groups": 1,
    });
    for (key, value) in keys.as_object().into_iter().flatten() {
        device[key] = value.clone();
    }
    let device: DeviceConfig = serde_json::from_value(device).expect("a configuration");
    let options = DriveOptions {
        device,
        seed: 0,
        data,
        lba_bytes: 512,
        events_enabled: true,
        given: Default::default(),
    };
    let drive = Drive::with(options, environment).expect("a device that works");
    Subsystem::new(
        Arc::new(drive),
        wafer_io::SUPPORTED,
        SubsystemOptions {
            nqn: NQN.to_owned(),
            serial: "F".to_owned(),
            model: "F".to_owned(),
            refuse_invalid_placement: false,
            advertise: Vec::new(),
        },
    )
}

/// Connects a host to a subsystem and enables its controller.
pub fn connect(subsystem: &Arc<Subsystem>) -> Arc<Controller> {
    let connect = ConnectCommand { sqsize_z: 31.into(), ..Default::default() };
    let data = ConnectData {
        cntlid: 0xffff.into(),
        subnqn: nqn_field(NQN),
        hostnqn: nqn_field("nqn.2026-11.io.wafer:host"),
        ..Default::default()
    };
    let local = "127.0.0.1:4420".to_owned();
    let controller = subsystem.connect_admin(&connect, &data, local).expect("a controller");
    wafer_controller::fabrics(&controller, 0, &enable()).expect("it is enabled");
    controller
}

/// Builds the Property Set that enables a controller.
fn enable() -> Sqe {
    let enable = PropertyCommand {
        opcode: AdminOpcode::FABRICS.0,
        fctype: FabricsType::PROPERTY_SET.0,
        offset: Property::CC.0.into(),
        value: u64::from(Cc::new().with_en(true).into_bits()).into(),
        ..Default::default()
    };
    Sqe::read_from_bytes(enable.as_bytes()).expect("64 bytes")
}
