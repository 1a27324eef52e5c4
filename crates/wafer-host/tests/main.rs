//! The initiator against the target.

mod commands;
mod common;
mod faults;
mod hostile;
mod tenants;
