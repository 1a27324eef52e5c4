//! Tests of the whole device that look inside it. Those of its public interface are in `wafer-oracle`.

mod adaptive;
mod configs;
mod death_time;
/// What the shared devices are made of.
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
