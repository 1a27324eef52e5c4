//! Renders the table as HTML, for the page of a reproduction.

use std::fmt::Write as _;

use super::markdown::{COLUMNS, Column, cells};
use super::table::{ReproducedRow, Reproduction};

/// Positions of columns in [`cells`].
const SPREAD: usize = 5;
const VERDICT: usize = 8;

impl Reproduction {
    /// Returns a section with the table and the known reasons for misses. All external text is
    /// escaped.
    pub fn html(&self) -> String {
        // Writing to a string cannot fail.
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
                "<h3>{}: {}</h3>\n<p class=\"note\">{}</p>\n<div class=\"scroll\"><table>\n\
                 <caption class=\"hidden\">Published figures and ours: {0}</caption>\n<thead><tr>",
                escape(&study.name),
                escape(&study.title),
                escape(&study.source)
            );
            for column in COLUMNS {
                let name = if column.name.is_empty() { "verdict" } else { column.name };
                let _ = write!(html, "<th scope=\"col\"{}>{name}</th>", class(column));
            }
            html.push_str("</tr></thead>\n<tbody>\n");
            for row in self.rows_of(&study.name) {
                let _ = writeln!(html, "{}", row.html());
            }
            html.push_str("</tbody>\n</table></div>\n");
        }
        html.push_str("</section>\n");
        html
    }
}

impl ReproducedRow {
    /// Returns a row of the table; a miss is marked and gives its known reason.
    fn html(&self) -> String {
        let mut cells = cells(self.id_in_study(), self);
        if self.seeds.len() < 2 {
            // A single seed has no spread.
            "-".clone_into(&mut cells[SPREAD]);
        }
        if let Some(reason) = self.failure.as_ref().or(self.reason.as_ref())
            && !self.within
        {
            let _ = write!(cells[VERDICT], ": {reason}");
        }
        let cells = cells.iter().zip(COLUMNS).enumerate().map(|(i, (cell, column))| {
            let text = if column.number { figure(cell) } else { escape(cell) };
            let tag = if i == 0 { "th" } else { "td" };
            let scope = if i == 0 { " scope=\"row\"" } else { "" };
            format!("<{tag}{scope}{}>{text}</{tag}>", class(column))
        });
        let miss = if self.within { "" } else { " class=\"miss\"" };
        format!("<tr{miss}>{}</tr>", cells.collect::<String>())
    }
}

/// Returns the attribute of right-aligned cells.
fn class(column: Column) -> &'static str {
    if column.number { " class=\"number\"" } else { "" }
}

/// Returns a number with a minus sign and a no-break space before its unit, or a dash if there is none.
fn figure(cell: &str) -> String {
    match cell {
        "-" => "–".to_owned(),
        _ => escape(cell).replace('-', "−").replace(' ', "\u{a0}"),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
