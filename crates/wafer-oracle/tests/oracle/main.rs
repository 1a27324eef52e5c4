//! The device against the oracle, and what the device promises through its public interface.

mod adaptive;
mod agreement;
mod configs;
mod death_times;
mod destinations;
mod devices;
mod die_by_die;
mod namespaces;
mod policies;
mod random_devices;
mod restored;
mod segments;
mod separation;
mod traffic;
mod witness;
