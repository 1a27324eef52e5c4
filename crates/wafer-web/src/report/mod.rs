//! Report pages, and the files of the front end.
//!
//! [`page`] turns records into one self-contained HTML page: no network, no other files. [`asset`] returns the files of
//! `web/` for a server that shows a running drive with the same code.
//!
//! - `data.rs`: the JSON of records in a page, with labels and the findings of their comparison.
//! - `thin.rs`: thins the records of a sweep.
//! - `pack.rs`: writes columns as differences and compresses everything, so that a report is smaller than its
//!   records.
//! - `link.rs`: joins the modules into one script, so that the page needs no second file.
//! - `still/`: the page for readers without JavaScript.
//! - `page.rs`: assembles shell, styles, data and scripts.

mod data;
mod link;
mod pack;
mod page;
mod still;
mod thin;

use std::borrow::Cow;

pub use data::Page;
pub(crate) use page::{Document, script};
pub use page::{ReportError, page, policy_of_pages, with_section};

/// The modules of the front end.
#[derive(rust_embed::RustEmbed)]
#[folder = "../../web/js/"]
#[prefix = "js/"]
struct Modules;

/// Its style sheets.
#[derive(rust_embed::RustEmbed)]
#[folder = "../../web/css/"]
#[prefix = "css/"]
struct Styles;

/// Third-party files that it uses.
#[derive(rust_embed::RustEmbed)]
#[folder = "../../web/vendor/"]
#[prefix = "vendor/"]
struct Vendored;

/// The live page.
const LIVE: &[u8] = include_bytes!("../../../../web/live.html");

/// Returns a file of the front end by its path below `web/`.
fn get(path: &str) -> Option<Cow<'static, [u8]>> {
    if path == "live.html" {
        return Some(LIVE.into());
    }
    if path == "css/lines.css" {
        return Some(still::styles().into_bytes().into());
    }
    let file = Modules::get(path).or_else(|| Styles::get(path)).or_else(|| Vendored::get(path));
    file.map(|file| file.data)
}

/// The introduction of [`still_page`].
#[cfg(feature = "live")]
const STILL_NOTE: &str = "This page reloads every 10 seconds. It has tables and WAF curves. The live page needs \
                          JavaScript; it has all charts, which can be read, zoomed and saved.";

/// Returns the page of a running drive for readers without JavaScript, which reloads every few seconds.
#[cfg(feature = "live")]
pub(crate) fn still_page(title: &str, page: &Page) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta http-equiv=\"refresh\" content=\"10\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n\
         <link rel=\"stylesheet\" href=\"web/css/wafer.css\">\n<link rel=\"stylesheet\" href=\"web/css/lines.css\">\n\
         </head>\n<body>\n<main class=\"still\">\n{}</main>\n</body>\n</html>\n",
        still::escape(title),
        still::page(title, STILL_NOTE, page)
    )
}

/// Returns a file of the front end by its path below `web/`, with its media type.
pub fn asset(path: &str) -> Option<(Cow<'static, [u8]>, &'static str)> {
    let media_type = match path.rsplit('.').next()? {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    };
    Some((get(path)?, media_type))
}

/// Returns the colours and dashes of series as JSON: `light`, `dark` and `dashes` in the order in which they are
/// assigned, and `gc` for relocated data. Pages use them, and figures outside a page can use the same.
pub fn palette() -> String {
    json_of("palette.js")
}

/// Returns the JSON that a module of the page exports.
fn json_of(module: &str) -> String {
    let module = text(&format!("js/{module}"));
    let (_, export) = module.split_once("export const ").unwrap_or_default();
    let (_, value) = export.split_once('=').unwrap_or_default();
    value.trim().trim_end_matches(';').to_owned()
}

/// Returns the text of an embedded file.
fn text(path: &str) -> String {
    let file = get(path).unwrap_or_else(|| panic!("web/{path} is part of the binary"));
    String::from_utf8_lossy(&file).into_owned()
}
