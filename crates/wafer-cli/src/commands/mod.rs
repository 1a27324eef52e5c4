//! One file per command.

pub(crate) mod advise;
pub(crate) mod cache;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod config;
#[cfg(feature = "serve")]
mod ctl_socket;
#[cfg(feature = "serve")]
mod descriptors;
pub(crate) mod devices;
#[cfg(any(feature = "serve", feature = "mount"))]
pub(crate) mod drive_files;
pub(crate) mod explain;
pub(crate) mod explore;
mod figures;
#[cfg(feature = "serve")]
pub(crate) mod live;
pub(crate) mod measure;
pub(crate) mod models;
#[cfg(feature = "mount")]
pub(crate) mod mount;
pub(crate) mod policies;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod shell;
#[cfg(feature = "serve")]
mod subsystems;
pub(crate) mod summary;
#[cfg(feature = "tui")]
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod validate;
