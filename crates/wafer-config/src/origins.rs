//! The line of every key in a TOML document.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{Document, Item, TableLike, Value};

/// Converts byte offsets to line numbers.
pub(crate) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        LineIndex(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i).collect())
    }

    /// Returns the line, from 1, of byte `offset`.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|newline| *newline < offset) + 1
    }
}

/// Returns dotted keys, array elements as `key[0]`, with the line where each was set.
pub(crate) fn of_document<S>(document: &Document<S>, lines: &LineIndex) -> BTreeMap<String, usize> {
    let mut walk = Walk { lines, found: BTreeMap::new() };
    walk.table("", document.as_table());
    walk.found
}

struct Walk<'a> {
    lines: &'a LineIndex,
    found: BTreeMap<String, usize>,
}

impl Walk<'_> {
    fn table(&mut self, path: &str, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let below = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let key = table.get_key_value(name).and_then(|(key, _)| key.span());
            self.note(&below, key.or_else(|| item.span()));
            self.item(&below, item);
        }
    }

    fn item(&mut self, path: &str, item: &Item) {
        match item {
            Item::None => {}
            Item::Value(value) => self.value(path, value),
            Item::Table(table) => self.table(path, table),
            Item::ArrayOfTables(tables) => {
                for (i, table) in tables.iter().enumerate() {
                    let below = format!("{path}[{i}]");
                    self.note(&below, table.span());
                    self.table(&below, table);
                }
            }
        }
    }

    fn value(&mut self, path: &str, value: &Value) {
        match value {
            Value::InlineTable(table) => self.table(path, table),
            Value::Array(array) => {
                for (i, element) in array.iter().enumerate() {
                    let below = format!("{path}[{i}]");
                    self.note(&below, element.span());
                    self.value(&below, element);
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, path: &str, span: Option<Range<usize>>) {
        if let Some(span) = span {
            self.found.insert(path.to_owned(), self.lines.line(span.start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_line() {
        let text = "a = 1\n[b]\nc = { d = 2 }\ne.f = [3,\n 4]\n\n[[g]]\nh = 1\n[[g]]\nh = 2\n";
        let document = Document::parse(text).unwrap();
        let found = of_document(&document, &LineIndex::new(text));
        let expected = [
            ("a", 1),
            ("b", 2),
            ("b.c", 3),
            ("b.c.d", 3),
            ("b.e", 4),
            ("b.e.f", 4),
            ("b.e.f[0]", 4),
            ("b.e.f[1]", 5),
            ("g", 7),
            ("g[0]", 7),
            ("g[0].h", 8),
            ("g[1]", 9),
            ("g[1].h", 10),
        ];
        let expected: BTreeMap<_, _> =
            expected.into_iter().map(|(k, line)| (k.to_owned(), line)).collect();
        assert_eq!(found, expected);
    }
}
