//! Property tests of the whole device.

mod adaptive;
mod configs;
mod death_time;
mod destinations;
mod die_by_die;
mod exchange;
mod features;
mod namespaces;
mod oracle;
pub(crate) mod policies;
mod state;
