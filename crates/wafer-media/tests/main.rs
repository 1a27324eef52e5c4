//! The laws that any model of a drive in time must keep, and an oracle that shares no code with this one.

mod exact;
mod laws;
mod oracle;
mod requests;
