//! One file per command.

pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod devices;
pub(crate) mod explain;
pub(crate) mod live;
pub(crate) mod live_drive;
mod live_events;
pub(crate) mod measure;
pub(crate) mod models;
pub(crate) mod mount;
pub(crate) mod policies;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod summary;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod validate;
