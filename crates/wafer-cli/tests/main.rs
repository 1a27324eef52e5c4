//! The `wafer` command as a program.

mod cache;
mod calibrate;
mod ctl;
mod explain;
mod fuzz;
mod measure;
mod memory;
mod mount;
mod outputs;
mod run;
mod schema;
mod serve;
mod serve_time;
mod sessions;
mod terminals;
mod validate;
