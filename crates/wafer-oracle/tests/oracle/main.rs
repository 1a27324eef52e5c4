//! The device against the oracle, and the device's promises through its public interface.

mod agreement;
mod configs;
mod death_times;
mod destinations;
/// Names that the shared devices use.
mod device {
    pub(crate) use wafer_device::policy::POLICIES;
    pub(crate) use wafer_device::{
        Destination, DeviceConfig, GcConfig, Isolation, NamespaceConfig, ReclaimUnitConfig,
        RelocationOrder, Separation,
    };
}
#[path = "../../../wafer-device/tests/unit/devices.rs"]
mod devices;
mod die_by_die;
mod gittins;
#[path = "../../../wafer-device/tests/unit/hot_and_cold.rs"]
mod hot_and_cold;
mod namespaces;
mod policies;
#[path = "../../../wafer-device/tests/unit/random.rs"]
mod random;
mod random_devices;
mod restored;
mod segments;
mod separation;
mod traffic;
#[path = "../../../wafer-device/tests/unit/two_handles.rs"]
mod two_handles;
mod witness;
