//! The web pages: reports of records, and the live page of a running simulation or drive.
//!
//! # What it is
//! - [`report`]: turns [`Record`](wafer_record::Record)s into one self-contained HTML page.
//! - [`explore`]: creates one self-contained HTML page that contains the device.
//! - [`live`] (feature `live`): serves the same page over HTTP for a device in use, with Prometheus metrics.
//!
//! # Architecture
//! `web/` is plain ES modules and uPlot, without a build step. The page draws the contents of a record: WAF, findings
//! and statistics are computed by `wafer-record` when the record is created. Only [`report::Page`] writes records into
//! pages; a server sends the same JSON that a report embeds.
//!
//! # Invariants
//! - The same records yield the same report, byte for byte.
//! - Records are data: no HTML or JavaScript parser sees them, and the content security policy allows only the page's
//!   own scripts, and the module in the page of [`explore`].
//! - Viewers change nothing. Only requests of operators do, which need their own token.
//!
//! # Error model
//! [`report::ReportError`] and [`live::LiveError`], one line each. HTTP requests get a status and one line of text.
//!
//! # What it does not implement
//! Reading files (`wafer_record::read_records` does), analysis, TLS.

pub mod explore;
#[cfg(feature = "live")]
pub mod live;
pub mod report;
