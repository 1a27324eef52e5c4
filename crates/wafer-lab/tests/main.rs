//! Runs of several kinds of workloads: their writes, and refused input.

mod commands;
mod tenants;
