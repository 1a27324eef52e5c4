//! Output: aligned tables, JSON and files, and notes on stderr.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
pub(crate) use wafer_record::text::bytes;
use wafer_record::text::{self, printable};
use wafer_record::write_json;

use crate::terminal::{ERROR, NOTE, Terminal};
pub(crate) use crate::terminal::{HEADER, PLAIN};

/// Prints a value as JSON, all at once.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    text(&text::json(value)?)
}

/// Writes a value as JSON to a file, or to stdout if the path is `-`.
pub(crate) fn json_to(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    if is_stdout(path) { json(value) } else { Ok(write_json(path, value)?) }
}

/// Reports whether a path stands for stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Prints a value as one line of JSON, at once.
#[cfg(feature = "serve")]
pub(crate) fn json_line(value: &impl Serialize) -> anyhow::Result<()> {
    text(&text::json_line(value)?)?;
    Ok(io::stdout().flush()?)
}

/// Prints text for programs unchanged.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Returns stdout for people, with colours only on a terminal (and not with `NO_COLOR`).
pub(crate) fn styled() -> impl Write {
    Terminal::new(anstream::stdout().lock())
}

/// Returns stderr, as [`styled`].
pub(crate) fn styled_errors() -> impl Write {
    Terminal::new(anstream::stderr().lock())
}

/// Prints a line on stderr that begins with a word.
fn say(style: &str, word: &str, text: &str) {
    // A line that cannot be printed has nowhere to be reported.
    let _ = writeln!(styled_errors(), "{style}{word}:{PLAIN} {}", printable(text));
}

/// Prints an error on stderr.
pub(crate) fn error(text: &str) {
    say(ERROR, "error", text);
}

/// Prints a note on stderr, unless `quiet`.
pub(crate) fn notice(quiet: bool, text: &str) {
    notices(quiet, [text]);
}

/// Prints a note on stderr for each text, unless `quiet`.
pub(crate) fn notices(quiet: bool, texts: impl IntoIterator<Item: Display>) {
    texts.into_iter().filter(|_| !quiet).for_each(|text| say(NOTE, "note", &text.to_string()));
}

/// Prints a warning on stderr.
pub(crate) fn warning(text: &str) {
    say(NOTE, "warning", text);
}

/// Logs events of a drive and its server to stderr, as `RUST_LOG` chooses by target and level.
#[cfg(any(feature = "serve", feature = "mount"))]
pub(crate) fn log_to_stderr(quiet: bool) {
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::prelude::*;
    let default = if quiet { LevelFilter::ERROR } else { LevelFilter::WARN };
    let chosen = std::env::var("RUST_LOG").ok().and_then(|text| text.parse().ok());
    let filter: Targets = chosen.unwrap_or_else(|| Targets::new().with_default(default));
    let lines = tracing_subscriber::fmt::layer()
        // Its styles would look like those of a hostile host.
        .with_ansi(false)
        .with_writer(|| Terminal::new(std::io::stderr()))
        .without_time();
    let _ = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
}

/// Rows under a header. Columns of text are left-aligned, columns of numbers right-aligned.
#[derive(Default)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

#[derive(Clone, Copy)]
enum Align {
    Left,
    Right,
}

impl Table {
    /// Adds columns of text.
    pub(crate) fn text<const N: usize>(mut self, names: [&'static str; N]) -> Self {
        self.columns.extend(names.map(|name| (name, Align::Left)));
        self
    }

    /// Adds columns of numbers.
    pub(crate) fn numbers<const N: usize>(mut self, names: [&'static str; N]) -> Self {
        self.columns.extend(names.map(|name| (name, Align::Right)));
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // Escaped here too, for the widths.
        self.rows.push(cells.into_iter().map(|cell| printable(&cell).into_owned()).collect());
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let width = |c: usize| {
            let cells = self.rows.iter().map(|row| row[c].chars().count());
            cells.chain([self.columns[c].0.len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let header = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
        writeln!(out, "{HEADER}{}{PLAIN}", self.line(&header, &widths))?;
        for row in &self.rows {
            writeln!(out, "{}", self.line(row, &widths))?;
        }
        Ok(())
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, (_, align)), width) in cells.iter().zip(&self.columns).zip(widths) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            match align {
                Align::Left => line.push_str(&format!("{cell:<width$}")),
                Align::Right => line.push_str(&format!("{cell:>width$}")),
            }
        }
        line.trim_end().to_owned()
    }
}

/// Prints names with their summaries: as JSON, or as a table with these headings.
pub(crate) fn summaries(
    json: bool,
    headings: [&'static str; 2],
    items: impl Iterator<Item = (&'static str, &'static str)>,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Item {
        name: &'static str,
        summary: &'static str,
    }
    if json {
        return self::json(
            &items.map(|(name, summary)| Item { name, summary }).collect::<Vec<_>>(),
        );
    }
    let mut table = Table::default().text(headings);
    for (name, summary) in items {
        table.row([name.to_owned(), summary.to_owned()]);
    }
    Ok(table.print(&mut styled())?)
}

/// Formats bytes as configurations spell them where that is short, else rounded.
pub(crate) fn exact(bytes: u64) -> String {
    let text = wafer_interface::Bytes(bytes).to_string();
    if text.len() <= 8 { text } else { self::bytes(bytes) }
}

/// Formats a share of 1 in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Formats a WAF, or a dash where there is none.
pub(crate) fn waf(waf: Option<f64>) -> String {
    waf.map_or("-".to_owned(), |waf| format!("{waf:.3}"))
}

/// Formats a duration in the unit that suits it.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.5 => format!("{s:.1} s"),
        s if s < 5970.0 => format!("{:.0} min", s / 60.0),
        s if s < 47.5 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let shown: Vec<String> = [0.01, 31.0, 600.0, 7200.0, 864_000.0].map(seconds).to_vec();
        assert_eq!(shown, ["10 ms", "31.0 s", "10 min", "2.0 h", "10.0 days"]);
    }
}
