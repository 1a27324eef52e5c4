//! Text for people: styles, and nothing else that controls a terminal.
//!
//! Names come from traces, configurations, hosts and servers, and may contain anything. Everything this
//! program prints for people passes through a [`Terminal`], which escapes it.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use wafer_record::text::printable;

/// Begins a table's header. Marks are Unicode noncharacters, which text does not contain; at worst, hostile
/// text becomes bold. [`PLAIN`] ends each.
pub const HEADER: &str = "\u{fdd0}";
/// Begins the word "error".
pub(crate) const ERROR: &str = "\u{fdd1}";
/// Begins the words "note" and "warning".
pub(crate) const NOTE: &str = "\u{fdd2}";
/// Ends a style.
pub const PLAIN: &str = "\u{fdd3}";

const STYLES: [(&str, Style); 3] = [
    (HEADER, Style::new().bold()),
    (ERROR, AnsiColor::Red.on_default().bold()),
    (NOTE, AnsiColor::Yellow.on_default().bold()),
];

/// A stream for people, written line by line.
pub struct Terminal<W: Write> {
    out: W,
    /// The incomplete last line.
    line: Vec<u8>,
}

impl<W: Write> Terminal<W> {
    /// Returns `out` with everything escaped that it must not receive.
    pub fn new(out: W) -> Self {
        Terminal { out, line: Vec::new() }
    }

    /// Writes the first `end` bytes.
    fn pass(&mut self, end: usize) -> io::Result<()> {
        let lines: Vec<u8> = self.line.drain(..end).collect();
        let text = String::from_utf8_lossy(&lines);
        for line in text.split_inclusive('\n') {
            let content = line.strip_suffix('\n').unwrap_or(line);
            let mut shown = printable(content).into_owned();
            for (mark, style) in STYLES.iter().filter(|(mark, _)| content.contains(mark)) {
                shown = shown.replace(mark, &style.render().to_string());
            }
            if content.contains(PLAIN) {
                shown = shown.replace(PLAIN, &anstyle::Reset.render().to_string());
            }
            if content.len() < line.len() {
                shown.push('\n');
            }
            self.out.write_all(shown.as_bytes())?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Terminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if let Some(end) = self.line.iter().rposition(|byte| *byte == b'\n') {
            self.pass(end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass(self.line.len())?;
        self.out.flush()
    }
}

impl<W: Write> Drop for Terminal<W> {
    fn drop(&mut self) {
        // Callers that want to know of a failure flush themselves.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_styles_reach_the_terminal() {
        let mut bytes = Vec::new();
        let mut out = Terminal::new(&mut bytes);
        writeln!(out, "{HEADER}a{PLAIN} \u{1b}[31mred\u{9b}2J \u{202e}é").unwrap();
        // A character written in two parts stays one.
        out.write_all(b"half \xc3").unwrap();
        out.write_all(b"\xa9\n\xff\x07").unwrap();
        drop(out);
        let expected =
            "\u{1b}[1ma\u{1b}[0m \\u{1b}[31mred\\u{9b}2J \\u{202e}é\nhalf é\n\u{fffd}\\u{7}";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
