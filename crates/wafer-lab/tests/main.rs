//! Runs of workloads of several kinds: what they write, and what they refuse.

mod commands;
mod tenants;
