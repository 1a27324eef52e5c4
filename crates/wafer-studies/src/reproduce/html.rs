//! The table as HTML, for the page of a reproduction.

use std::fmt::Write as _;

use super::markdown::{COLUMNS, cells};
use super::table::Reproduction;

impl Reproduction {
    /// Returns a section with the table and the known reasons for misses. Every text from outside is
    /// escaped.
    pub fn html(&self) -> String {
        // Writing to a string does not fail.
        let mut html =
            String::from("<section class=\"reproduction\">\n<h2>Published figures and ours</h2>\n");
        let _ = writeln!(
            html,
            "<p class=\"note\">{}. Misses are shown with their known reasons.</p>",
            escape(&self.verdict())
        );
        for study in &self.studies {
            let _ = writeln!(
                html,
                "<h2>{}: {}</h2>\n<p class=\"note\">{}</p>\n<table>\n<thead><tr>",
                escape(&study.name),
                escape(&study.title),
                escape(&study.source)
            );
            for column in COLUMNS {
                let _ = write!(html, "<th>{}</th>", column.name);
            }
            html.push_str("</tr></thead>\n<tbody>\n");
            for row in self.rows_of(&study.name) {
                let mut cells = cells(row.id_in_study(), row);
                if let Some(reason) = row.failure.as_ref().or(row.reason.as_ref())
                    && !row.within
                {
                    let _ = write!(cells[8], ": {reason}");
                }
                let cells = cells.map(|cell| format!("<td>{}</td>", escape(&cell)));
                let _ = writeln!(html, "<tr>{}</tr>", cells.concat());
            }
            html.push_str("</tbody>\n</table>\n");
        }
        html.push_str("</section>\n");
        html
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
