//! Tests of the whole device that access its internals. Those of its public interface are in `tests/` and in
//! `wafer-oracle`.

mod adaptive;
mod configs;
mod death_time;
/// The types of the shared devices.
mod device {
    pub(crate) use crate::policy::POLICIES;
    pub(crate) use crate::{
        Destination, DeviceConfig, GcConfig, Isolation, NamespaceConfig, ReclaimUnitConfig,
        RelocationOrder, Separation,
    };
}
mod devices;
mod exchange;
mod midas;
mod random;
mod two_handles;
