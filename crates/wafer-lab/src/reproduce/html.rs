//! The table as HTML, for the page of a reproduction.

use std::fmt::Write as _;

use super::markdown::Cells;
use super::table::Reproduction;

impl Reproduction {
    /// A section with the table and what is known of the misses. Plain elements; every text from
    /// outside is escaped.
    pub fn html(&self) -> String {
        let (misses, rows) = self.misses();
        // Writing to a string does not fail.
        let mut html =
            String::from("<section class=\"reproduction\">\n<h2>Published figures and ours</h2>\n");
        let _ = writeln!(
            html,
            "<p class=\"note\">{} of {rows} within tolerance, {misses} not; mean of {} seeds, scale {}. \
             Misses are shown with what is known of their reason.</p>",
            rows - misses,
            self.seed_count,
            escape(&self.scale)
        );
        for study in &self.studies {
            let _ = writeln!(
                html,
                "<h2>{}: {}</h2>\n<p class=\"note\">{}</p>\n<table>\n<thead><tr>",
                escape(&study.name),
                escape(&study.title),
                escape(&study.source)
            );
            for head in [
                "figure",
                "what",
                "class",
                "published",
                "ours",
                "spread",
                "difference",
                "tolerance",
                "",
            ] {
                let _ = write!(html, "<th>{head}</th>");
            }
            html.push_str("</tr></thead>\n<tbody>\n");
            let of_study = |id: &str| id.split('/').next() == Some(study.name.as_str());
            for row in self.rows.iter().filter(|row| of_study(&row.id)) {
                let cells = Cells::of(row);
                let id = row.id.split_once('/').map_or("", |(_, id)| id);
                let mut verdict = if row.within { "ok" } else { "miss" }.to_owned();
                if let (false, Some(reason)) =
                    (row.within, row.failure.as_ref().or(row.reason.as_ref()))
                {
                    let _ = write!(verdict, ": {}", escape(reason));
                }
                let _ = writeln!(
                    html,
                    "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
                     <td>{}</td><td>{}</td><td>{verdict}</td></tr>",
                    escape(id),
                    escape(&row.what),
                    row.class,
                    cells.published,
                    cells.ours,
                    cells.spread,
                    cells.difference,
                    cells.tolerance,
                );
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
