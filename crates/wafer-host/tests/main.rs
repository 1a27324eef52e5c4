//! The initiator against the target.

mod commands;
mod common;
mod hostile;
mod tenants;
