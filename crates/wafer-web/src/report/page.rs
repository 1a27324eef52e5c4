//! The report page: shell, styles, data, scripts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use wafer_record::Record;

use crate::report::link::link;
use crate::report::pack::pack;
use crate::report::still::escape;
use crate::report::{Page, still, text};

/// The introduction of a report without JavaScript.
const STILL_NOTE: &str = "Without JavaScript, this report has tables and WAF curves. With JavaScript, it has all \
                          charts, which can be read, zoomed and saved.";

/// Returns the content security policy of served pages, which allows only scripts and styles of the server.
pub fn policy_of_pages() -> &'static str {
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

/// An error while creating a page, always a defect of wafer.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The scripts cannot be joined.
    #[error("the page's scripts: {0}")]
    Link(String),
    /// The records cannot be packed.
    #[error("the page's data")]
    Pack(#[from] std::io::Error),
}

/// Returns a page of these records. The default title is the names of the runs.
///
/// # Errors
/// [`ReportError`].
pub fn page(title: Option<&str>, records: Vec<Record>) -> Result<String, ReportError> {
    let title = &title.map_or_else(|| title_of(&records), str::to_owned);
    let records = Page::new(records);
    let still = still::page(title, STILL_NOTE, &records);
    Document {
        title,
        entry: "report.js",
        styles: still::styles(),
        still,
        data: serde_json::to_value(records).map_err(std::io::Error::from)?,
        blocks: Vec::new(),
        scripts: "",
        policy: "",
    }
    .page()
}

/// Returns a page with a further section behind its heading, for readers with and without JavaScript.
pub fn with_section(page: &str, section: &str) -> String {
    // The heading and the sections stand in a `noscript` element, which ends before the new section and goes on
    // after it.
    page.replacen("<section>\n", &format!("</noscript>\n{section}<noscript>\n<section>\n"), 1)
}

/// Returns the names of the runs; of more than three names, the first one and the number of other runs.
fn title_of(records: &[Record]) -> String {
    let mut names: Vec<&str> = records.iter().map(|r| r.name.as_str()).collect();
    names.dedup();
    match names.as_slice() {
        [] => "wafer".to_owned(),
        few if few.len() <= 3 => few.join(", "),
        // Several runs may share a name, so the runs are counted.
        many => format!("{} and {} more", many[0], records.len() - 1),
    }
}

/// A self-contained page: shell, styles, data, scripts.
pub(crate) struct Document<'a> {
    pub(crate) title: &'a str,
    /// The module of `web/js` that builds the page.
    pub(crate) entry: &'a str,
    /// Styles in addition to those of all pages.
    pub(crate) styles: String,
    /// The page without JavaScript, as HTML.
    pub(crate) still: String,
    /// The data of the page.
    pub(crate) data: serde_json::Value,
    /// Further data, by identifier, none of which may end an element.
    pub(crate) blocks: Vec<(&'static str, String)>,
    /// Script sources in addition to the page's own, and further directives of the content security policy.
    pub(crate) scripts: &'a str,
    pub(crate) policy: &'a str,
}

impl Document<'_> {
    /// Returns the page.
    pub(crate) fn page(self) -> Result<String, ReportError> {
        let app = script(self.entry)?;
        let styles = text("vendor/uplot/uPlot.min.css") + &text("css/wafer.css") + &self.styles;
        let chart = text("vendor/uplot/uPlot.iife.min.js");
        let licence = text("vendor/uplot/LICENSE");
        let data = pack(self.data)?;
        let title = escape(self.title);
        let policy = format!(
            "default-src 'none'; script-src {} {}{}; style-src {}; img-src data: blob:; base-uri 'none'; \
             form-action 'none'{}",
            hash(&chart),
            hash(&app),
            self.scripts,
            hash(&styles),
            self.policy
        );
        let block = |(id, text): &(&str, String)| {
            format!("<script type=\"application/octet-stream\" id=\"{id}\">{text}</script>\n")
        };
        let blocks: String = self.blocks.iter().map(block).collect();
        Ok(format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta name=\"generator\" content=\"wafer {version}\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>{styles}</style>\n</head>\n<body>\n\
             <main id=\"app\" data-title=\"{title}\"><noscript>\n{still}</noscript></main>\n\
             <script type=\"application/octet-stream\" id=\"data\">{data}</script>\n{blocks}\
             <!-- uPlot, {licence} -->\n\
             <script>{chart}</script>\n<script>{app}</script>\n</body>\n</html>\n",
            version = env!("CARGO_PKG_VERSION"),
            licence = licence.replace("--", "-").trim(),
            still = self.still,
        ))
    }
}

/// Returns a module of `web/js` and its imports as one script.
pub(crate) fn script(entry: &str) -> Result<String, ReportError> {
    let module = |name: &str| {
        crate::report::asset(&format!("js/{name}")).map(|_| text(&format!("js/{name}")))
    };
    link(entry, &module).map_err(ReportError::Link)
}

/// Returns the source expression of an inline script or style.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(name: &str) -> Record {
        let record = json!({
            "schema": "wafer.result/1", "name": name, "provenance": {},
            "summary": { "host_bytes": 20, "media_bytes": 40, "erased_bytes": 0, "waf": 2.0 },
            "timeline": { "host_bytes": [10, 20], "media_bytes": [10, 40], "handles": {} },
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn a_page_links_all_modules_and_is_the_same_every_time() {
        let one = page(Some("t"), vec![record("a")]).unwrap();
        assert_eq!(one, page(Some("t"), vec![record("a")]).unwrap());
        assert!(one.contains("modules[\"report.js\"]"));
        assert!(one.len() < 400_000, "{}", one.len());
    }

    #[test]
    fn the_palette_is_json_with_as_many_colours_for_light_as_for_dark() {
        let palette: serde_json::Value = serde_json::from_str(&crate::report::palette()).unwrap();
        let colours = |theme: &str| palette[theme].as_array().unwrap().len();
        assert!(colours("light") >= 8);
        assert_eq!(colours("light"), colours("dark"));
        assert_eq!(palette["gc"]["dark"].as_str().unwrap().len(), 7);
    }

    #[test]
    fn a_default_title_counts_runs_and_not_names() {
        let of = |names: &[&str]| title_of(&names.iter().map(|n| record(n)).collect::<Vec<_>>());
        assert_eq!(of(&["a", "a", "b", "c"]), "a, b, c");
        assert_eq!(of(&["a", "b", "b", "c", "d", "d"]), "a and 5 more");
    }

    #[test]
    fn a_section_stands_in_main_behind_the_heading() {
        let plain = page(Some("t"), vec![record("a")]).unwrap();
        let page = with_section(&plain, "<section class=\"x\"></section>\n");
        let at = |text: &str| page.find(text).unwrap();
        assert!(at("<main id=\"app\"") < at("<h1>") && at("<h1>") < at("<section class=\"x\">"));
        assert!(
            at("<section class=\"x\">") < at("<h2>Runs</h2>")
                && at("<h2>Runs</h2>") < at("</main>")
        );
        assert_eq!(page.matches("<noscript>").count(), page.matches("</noscript>").count());
        assert_eq!(page.matches("<section class=\"x\">").count(), 1);
        let noscript = page[..at("<section class=\"x\">")].rfind("noscript>").unwrap();
        assert!(page[..noscript].ends_with("</"), "readers with and without JavaScript see it");
    }

    #[test]
    fn no_page_refers_to_anything_outside() {
        let page = page(Some("t"), vec![record("a")]).unwrap();
        for outside in [" src=", "@import", "url(http", "<link rel=\"stylesheet\""] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn hostile_names_stay_data() {
        let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
        let page = page(Some(hostile), vec![record(hostile)]).unwrap();
        assert!(!page.contains("<script>alert") && !page.contains("<img"));
        // The shell has three script elements: data, uPlot and the page's own.
        assert_eq!(page.matches("</script>").count(), 3);
        assert!(page.contains("&lt;/script&gt;"));
    }

    #[test]
    fn scripts_do_not_end_their_element() {
        assert!(!text("vendor/uplot/uPlot.iife.min.js").contains("</script"));
        let module = |name: &str| Some(text(&format!("js/{name}")));
        assert!(!link("report.js", &module).unwrap().contains("</script"));
        assert!(link("live.js", &module).is_ok());
    }
}
