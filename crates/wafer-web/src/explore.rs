//! The page that runs the device in the browser: the module of `crates/wafer-explore`, a worker for it, and the
//! controls.
//!
//! `scripts/build-wasm` builds the module, which is kept in `module/` of this crate so that building the crate needs no
//! WebAssembly target. `provenance.json` next to it records its origin; tests compare its results with the binary's.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;

use crate::report::{Document, ReportError, script};

/// The module, gzip-compressed.
const MODULE: &[u8] = include_bytes!("../module/wafer.wasm.gz");

/// The origin of the module as JSON: version, compiler, SHA-256 and size.
pub const PROVENANCE: &str = include_str!("../module/provenance.json");

/// The initial content of a page that runs the device.
#[derive(Debug, Serialize)]
pub struct Explore {
    /// Title of the page.
    pub title: String,
    /// A sentence or two below the title.
    pub text: String,
    /// Settings in the format of `wafer-explore`.
    pub settings: Value,
    /// Examples to choose from.
    pub presets: Vec<Preset>,
}

/// An example.
#[derive(Debug, Serialize)]
pub struct Preset {
    /// Its name.
    pub title: String,
    /// What it shows.
    pub text: String,
    /// Its settings.
    pub settings: Value,
}

/// Returns a page that contains the device.
///
/// # Errors
/// [`ReportError`].
pub fn page(explore: &Explore) -> Result<String, ReportError> {
    let worker = script("explore_worker.js")?;
    Document {
        title: &explore.title,
        entry: "explore.js",
        styles: String::new(),
        still: "<p>This page runs a drive in the browser, which needs JavaScript.</p>\n".to_owned(),
        data: serde_json::to_value(explore).map_err(std::io::Error::from)?,
        blocks: vec![("module", STANDARD.encode(MODULE)), ("worker", worker)],
        // The worker is created by the page and inherits its policy.
        scripts: " 'wasm-unsafe-eval' blob:",
        policy: "; worker-src blob:",
    }
    .page()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use serde_json::json;
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn explore(title: &str) -> Explore {
        let text = || "t".to_owned();
        let preset = Preset { title: title.to_owned(), text: text(), settings: json!({}) };
        Explore {
            title: title.to_owned(),
            text: text(),
            settings: json!({}),
            presets: vec![preset],
        }
    }

    #[test]
    fn the_module_is_that_of_its_provenance_and_of_this_version() {
        let mut module = Vec::new();
        flate2::read::GzDecoder::new(MODULE).read_to_end(&mut module).unwrap();
        let provenance: Value = serde_json::from_str(PROVENANCE).unwrap();
        let digest: String = Sha256::digest(&module).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(provenance["sha256"], digest.as_str());
        assert_eq!(provenance["bytes"], module.len());
        // After a version change, run scripts/build-wasm.
        assert_eq!(provenance["version"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn a_page_is_whole_and_small_and_the_same_every_time() {
        let one = page(&explore("a")).unwrap();
        assert_eq!(one, page(&explore("a")).unwrap());
        assert!(
            one.contains("modules[\"explore.js\"]")
                && one.contains("modules[\"explore_worker.js\"]")
        );
        for outside in [" src=", "@import", "url(http", "<link rel=\"stylesheet\""] {
            assert!(!one.contains(outside), "{outside}");
        }
        assert!(one.len() < 1_750_000, "{}", one.len());
    }

    #[test]
    fn hostile_titles_stay_data() {
        let page = page(&explore("</script><script>alert(1)</script><img src=x>")).unwrap();
        assert!(!page.contains("<script>alert") && !page.contains("<img"));
        // Data, module, worker, uPlot, and the page's own script.
        assert_eq!(page.matches("</script>").count(), 5);
    }
}
