//! Aligned tables.

use std::io::{self, Write};

use wafer_record::text::printable;

use crate::terminal::{HEADER, PLAIN};

/// Rows under a header. Columns of text are left-aligned, columns of numbers right-aligned.
#[derive(Default)]
pub struct Table {
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
    pub fn text<const N: usize>(mut self, names: [&'static str; N]) -> Self {
        self.columns.extend(names.map(|name| (name, Align::Left)));
        self
    }

    /// Adds columns of numbers.
    pub fn numbers<const N: usize>(mut self, names: [&'static str; N]) -> Self {
        self.columns.extend(names.map(|name| (name, Align::Right)));
        self
    }

    /// Adds a row with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // Escaped before the widths are computed.
        self.rows.push(cells.into_iter().map(|cell| printable(&cell).into_owned()).collect());
    }

    /// Prints the header and all rows.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
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
