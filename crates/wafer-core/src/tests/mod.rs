//! Property tests of the whole device.

mod configs;
mod exchange;
mod namespaces;
mod oracle;
