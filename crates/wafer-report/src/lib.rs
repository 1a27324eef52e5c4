//! The web front end: its files, and report pages made of them.
//!
//! # What it is
//! [`page`] makes one self-contained HTML page of result records (`wafer.result/1`): no network, no
//! other file. [`asset`] hands out the files of `web/` for a server that shows a running drive with the
//! same code.
//!
//! # Architecture
//! - `web/` is plain ES modules and uPlot, without a build step. A server serves the files as they are.
//! - `link.rs` joins the modules to one script for a report, so that the page needs no second file.
//! - `input.rs` reads and checks record files; `pack.rs` writes columns as differences and compresses
//!   the whole, so that a report is smaller than its records; `page.rs` assembles.
//!
//! # Invariants
//! - A report runs the scripts of this crate and nothing else: its content security policy lists their
//!   hashes, allows no connection, and records are compressed data that no parser of HTML sees.
//! - The same records give the same page, byte by byte.
//!
//! # Error model
//! [`ReportError`], one line with the file and the key. Nothing that a record says panics.
//!
//! # What it does not implement
//! Drawing: that is in `web/js`. Serving: that is `wafer-live`.

mod input;
mod link;
mod pack;
mod page;

pub use input::{ReportError, check, read};
pub use page::{page, policy_of_pages};

use std::borrow::Cow;

/// The files of the front end.
#[derive(rust_embed::RustEmbed)]
#[folder = "../../web/"]
#[include = "js/*.js"]
#[include = "css/*.css"]
#[include = "vendor/*/*"]
#[include = "live.html"]
struct Web;

/// A file of the front end by its path below `web/`, with its media type.
pub fn asset(path: &str) -> Option<(Cow<'static, [u8]>, &'static str)> {
    let media_type = match path.rsplit('.').next()? {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    };
    Some((Web::get(path)?.data, media_type))
}

/// The text of a file that is part of the binary.
fn text(path: &str) -> String {
    let file = Web::get(path).unwrap_or_else(|| panic!("web/{path} is part of the binary"));
    String::from_utf8_lossy(&file.data).into_owned()
}
