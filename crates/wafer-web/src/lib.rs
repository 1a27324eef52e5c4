//! The web pages: reports of records, and the live page of a running simulation or drive.
//!
//! # What it is
//! - [`report`]: makes one self-contained HTML page of [`Record`](wafer_record::Record)s.
//! - [`explore`]: makes one self-contained HTML page with the device inside.
//! - [`live`] (feature `live`): serves the same page over HTTP for a device in use, with Prometheus
//!   metrics.
//!
//! # Architecture
//! `web/` is plain ES modules and uPlot, without a build step. The page draws what a record holds: WAF,
//! findings and statistics are computed by `wafer-record` when the record is made. [`report::Page`] is
//! the only writer of records into pages; a server sends the same JSON that a report embeds.
//!
//! # Invariants
//! - The same records give the same report, byte by byte.
//! - Records are data: no parser of HTML or JavaScript sees them, and the content security policy allows
//!   the page's own scripts only, and in the page of [`explore`] its module.
//! - Viewers change nothing: no request does.
//!
//! # Error model
//! [`report::ReportError`] and [`live::LiveError`], one line each. HTTP requests get a status and one line
//! of text.
//!
//! # What it does not implement
//! Reading files (`wafer_record::read_records` does), analysis, TLS.

pub mod explore;
#[cfg(feature = "live")]
pub mod live;
pub mod report;
