//! Traces: requests that were recorded elsewhere.
//!
//! # What it is
//! A [`TraceReader`] gives the [`Request`]s of a file of any of the [`FORMATS`], compressed or not; a
//! [`Trace`] is a file with [`TraceOptions`] that has been scanned once, and a [`TraceStream`] the
//! commands of one or several of them on a device.
//!
//! # Architecture
//! - one file per format: lines implement `LineFormat`, binary records `Decoder` (`decode.rs`);
//!   `format.rs` lists them and tells them apart;
//! - `input.rs` removes compression, `per_cpu.rs` joins blktrace's files; `reader.rs` cuts the input into pieces of bounded size;
//! - `scan.rs` goes over a trace once: sizes, times, volumes, processes, damage;
//! - `remap.rs` brings addresses onto the device, `placing.rs` chooses placement identifiers;
//! - `stream.rs` merges traces by time and repeats them;
//! - `capture` is the format that wafer itself records.
//!
//! # Invariants
//! Memory is bounded by names and touched granules, not by the length of a trace. Nothing that a file
//! holds panics; a damaged record is counted, told with file and line, and left out, or with `strict`
//! refused before anything runs.

mod alibaba;
mod blkparse;
mod blktrace;
pub mod capture;
mod convert;
mod decode;
mod disksim;
mod error;
mod fields;
mod fio_iolog;
mod format;
mod input;
mod msr;
mod options;
mod per_cpu;
mod place_map;
mod placing;
mod reader;
mod records;
mod remap;
mod request;
mod scan;
mod spc;
mod stream;
mod tencent;
#[cfg(test)]
mod tests;
mod vscsi;

pub use convert::write_capture;
pub use decode::Faults;
pub use error::TraceError;
pub use format::{FORMATS, Format, format};
pub use options::{Duration, Map, Repeat, TraceOptions, Volumes};
pub use place_map::PlaceMap;
pub use placing::PlacementRules;
pub use reader::TraceReader;
pub use remap::{Area, Fit};
pub use request::{Kind, NO_PROCESS, Names, Request};
pub use scan::{Amount, GRANULE, Scan, VolumeScan};
pub use stream::{Trace, TraceStream, TraceTarget};
