//! The initiator against the target.

mod authentication;
mod commands;
mod common;
mod control;
mod faults;
mod fused;
mod hostile;
mod namespaces;
mod ports;
mod quick;
mod subsystems;
mod tenants;
