//! The initiator against the target.

mod commands;
mod common;
mod faults;
mod fused;
mod hostile;
mod ports;
mod tenants;
