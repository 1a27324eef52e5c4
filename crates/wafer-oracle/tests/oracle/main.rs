//! The device against the oracle, and what the device promises through its public interface.

mod agreement;
mod configs;
mod death_times;
mod destinations;
mod devices;
mod die_by_die;
mod gittins;
mod namespaces;
mod policies;
mod random_devices;
mod restored;
mod segments;
mod separation;
mod traffic;
mod witness;
