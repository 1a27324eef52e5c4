//! Prints the output of commands: aligned tables, JSON, notes on stderr, and styles.
//!
//! # What it is
//! [`Table`], [`json()`] and [`text()`] for results, [`timed()`] for those of runs with a clock; [`notice()`],
//! [`warning()`] and [`error()`] for stderr; [`bytes()`], [`count()`], [`percent()`], [`seconds()`] and [`waf()`]
//! format numbers for people.
//!
//! # Invariants
//! External text, such as names in a trace, is escaped before it reaches a terminal. Text for programs is
//! printed unchanged.
//!
//! # Error model
//! Output that cannot be written is an error; a note that cannot be written is lost.

mod format;
mod table;
mod terminal;
mod time;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use wafer_record::text::{self, printable};
use wafer_record::{write_json, write_text};

pub use format::{exact, percent, seconds, waf};
pub use table::Table;
use terminal::{ERROR, NOTE};
pub use terminal::{HEADER, PLAIN, Terminal};
pub use time::{several_timed, timed};
pub use wafer_record::text::{bytes, count};

/// Prints a value as JSON in one write.
pub fn json(value: &impl Serialize) -> anyhow::Result<()> {
    text(&text::json(value)?)
}

/// Writes a value as JSON to a file, or to stdout if the path is `-`.
pub fn json_to(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    if is_stdout(path) { json(value) } else { Ok(write_json(path, value)?) }
}

/// Writes text for programs to a file, or to stdout if the path is `-`.
pub fn text_to(path: &Path, words: &str) -> anyhow::Result<()> {
    if is_stdout(path) { text(words) } else { Ok(write_text(path, words)?) }
}

/// Returns whether a path stands for stdout.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Prints a value as one line of JSON and flushes it.
pub fn json_line(value: &impl Serialize) -> anyhow::Result<()> {
    text(&text::json_line(value)?)?;
    Ok(io::stdout().flush()?)
}

/// Prints text for programs unchanged.
pub fn text(text: &str) -> anyhow::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Returns stdout for people, with colours only on a terminal without `NO_COLOR`.
pub fn styled() -> impl Write {
    Terminal::new(anstream::stdout().lock())
}

/// Returns stderr, like [`styled`].
pub fn styled_errors() -> impl Write {
    Terminal::new(anstream::stderr().lock())
}

/// Prints a line on stderr that begins with a styled word.
fn say(style: &str, word: &str, text: &str) {
    // If the line cannot be printed, there is nowhere to report it.
    let _ = writeln!(styled_errors(), "{style}{word}:{PLAIN} {}", printable(text));
}

/// Prints an error on stderr.
pub fn error(text: &str) {
    say(ERROR, "error", text);
}

/// Prints a note on stderr, unless `quiet`.
pub fn notice(quiet: bool, text: &str) {
    notices(quiet, [text]);
}

/// Prints a note on stderr for each text, unless `quiet`.
pub fn notices(quiet: bool, texts: impl IntoIterator<Item: Display>) {
    texts.into_iter().filter(|_| !quiet).for_each(|text| say(NOTE, "note", &text.to_string()));
}

/// Prints a warning on stderr.
pub fn warning(text: &str) {
    say(NOTE, "warning", text);
}

/// Prints names with their summaries: as JSON, or as a table with these headings.
pub fn summaries(
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
