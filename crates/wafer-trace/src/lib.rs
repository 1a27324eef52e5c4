//! Traces: requests recorded elsewhere.
//!
//! # What it is
//! A [`TraceReader`] reads the [`Request`]s of a file in any of the [`FORMATS`], compressed or not. A
//! [`Trace`] is a file with [`TraceOptions`] that has been scanned once, and a [`TraceStream`] turns
//! one or several of them into commands on a device.
//!
//! # Architecture
//! - `format/` has one file for each format: line formats implement `LineFormat`, binary ones `Decoder`
//!   (`decode.rs`); its `mod.rs` lists them and detects which one a file has;
//! - `objects.rs` places the objects of key-value traces;
//! - `input.rs` removes compression, `per_cpu.rs` joins blktrace's files; `reader.rs` cuts the input into pieces of bounded size;
//! - `scan.rs` goes over a trace once: sizes, times, volumes, processes, damage;
//! - `remap.rs` maps addresses to the device, `rules.rs` reads placement rules and `placing.rs` follows them;
//! - `stream.rs` merges traces by time and repeats them;
//! - the format that wafer itself records is `wafer_record::capture`.
//!
//! # Invariants
//! Memory is bounded whatever a trace contains: names, objects and touched granules each have a limit. A file that
//! unpacks to more than 200 times its size is refused beyond 1 GiB. No content causes a panic. A damaged record is
//! counted, reported with file and line, and skipped; with `strict` it is refused before anything runs.

mod convert;
mod decode;
mod error;
mod fields;
mod format;
mod granules;
mod input;
mod objects;
mod options;
mod pages;
mod per_cpu;
mod place_map;
mod placing;
mod reader;
mod remap;
mod request;
mod rules;
mod scan;
mod stream;
#[cfg(test)]
mod tests;

pub use convert::{lost_in_capture, write_capture};
pub use decode::Faults;
pub use error::TraceError;
pub use format::{FORMATS, Format, format};
pub use granules::{GRANULE, Granules};
pub use options::{Duration, Map, Repeat, TraceOptions, Volumes};
pub use pages::{PAGE, Pages};
pub use place_map::PlaceMap;
pub use reader::TraceReader;
pub use remap::{Area, Fit, with_gaps};
pub use request::{NO_PROCESS, Names, Request};
pub use rules::PlacementRules;
pub use scan::{Amount, Scan, VolumeScan};
pub use stream::{Trace, TraceStream, TraceTarget};
