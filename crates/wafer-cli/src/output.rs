//! What goes to stdout: aligned tables and JSON.

use std::io::{self, Write};

use anstyle::{AnsiColor, Reset, Style};
use serde::Serialize;
pub(crate) use wafer_record::text::bytes;

/// Style of table headers.
pub(crate) const HEADER: Style = Style::new().bold();
/// Style of the word "error".
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Style of the word "note".
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default().bold();
/// Ends a style.
pub(crate) const PLAIN: Reset = Reset;

/// Prints a value as JSON, all at once.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Prints a value as one line of JSON, at once.
#[cfg(feature = "serve")]
pub(crate) fn json_line(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints text as it is.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// stdout, with colours only on a terminal (and not with `NO_COLOR`).
pub(crate) fn styled() -> impl Write {
    anstream::stdout().lock()
}

/// A line on stderr about something worth knowing.
pub(crate) fn notice(quiet: bool, text: &str) {
    if !quiet {
        anstream::eprintln!("{NOTE}note:{PLAIN} {text}");
    }
}

/// Prints a warning on stderr.
pub(crate) fn warning(text: &str) {
    anstream::eprintln!("{NOTE}warning:{PLAIN} {text}");
}

/// How a column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows under a header, columns aligned.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let width = |c: usize| {
            let cells = self.rows.iter().map(|row| row[c].chars().count());
            cells.chain([self.columns[c].0.len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let header = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
        writeln!(out, "{HEADER}{}{HEADER:#}", self.line(&header, &widths))?;
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

/// Bytes as configurations spell them where that is short, else rounded.
pub(crate) fn exact(bytes: u64) -> String {
    let text = wafer_interface::Bytes(bytes).to_string();
    if text.len() <= 8 { text } else { self::bytes(bytes) }
}

/// A duration in the unit that suits it.
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
