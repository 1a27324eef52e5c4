//! Property tests of the whole device.

mod configs;
mod exchange;
mod features;
mod namespaces;
mod oracle;
mod policies;
