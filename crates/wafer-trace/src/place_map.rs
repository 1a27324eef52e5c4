//! A placement map: assigns a placement handle to ranges of device addresses. `wafer advise` writes
//! one.
//!
//! CSV with the header `namespace,first_byte,bytes,handle`; namespaces count from 1. Ranges of one
//! namespace do not overlap. Writes outside all ranges get no placement directive.

use std::path::Path;

use wafer_interface::{LBA_BYTES, Placement};

use super::error::TraceError;

/// Ranges of each namespace by their first block.
#[derive(Clone, Debug, Default)]
pub struct PlaceMap {
    /// `(first block, end block, handle)`, ascending, by namespace.
    ranges: Vec<Vec<(u64, u64, u16)>>,
}

/// The header line.
const HEADER: &str = "namespace,first_byte,bytes,handle";

impl PlaceMap {
    /// Reads a map.
    ///
    /// # Errors
    /// If the file cannot be read, or a line does not match the header; names the file and line.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let text = std::fs::read_to_string(path).map_err(|e| TraceError::io(path, e))?;
        Self::parse(&text).map_err(|(line, reason)| TraceError::Option {
            path: path.to_owned(),
            reason: format!("line {line}: {reason}"),
        })
    }

    fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut map = PlaceMap::default();
        let mut lines =
            text.lines().enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#'));
        match lines.next() {
            Some((_, HEADER)) => {}
            other => return Err((other.map_or(1, |(n, _)| n + 1), format!("expected `{HEADER}`"))),
        }
        let mut given = Vec::new();
        for (number, line) in lines {
            let fail = |reason: &str| (number + 1, reason.to_owned());
            let fields: Vec<u64> = line
                .split(',')
                .map(|f| f.trim().parse())
                .collect::<Result<_, _>>()
                .map_err(|_| fail("expected four whole numbers"))?;
            let [namespace, first, bytes, handle] = fields[..] else {
                return Err(fail("expected four whole numbers"));
            };
            if !(1..=255).contains(&namespace) || handle > 0xfffe {
                return Err(fail("namespaces are 1 to 255, handles 0 to 65534"));
            }
            let end = first.checked_add(bytes).ok_or_else(|| fail("the range overflows"))?;
            given.push((namespace, first / LBA_BYTES, end / LBA_BYTES, number + 1));
            map.add(namespace as u8 - 1, first / LBA_BYTES, end / LBA_BYTES, handle as u16);
        }
        map.ranges.iter_mut().for_each(|ranges| ranges.sort_unstable());
        given.sort_unstable();
        match given.windows(2).find(|two| two[0].0 == two[1].0 && two[0].2 > two[1].1) {
            Some(two) => {
                let (one, other) = (two[0].3.min(two[1].3), two[0].3.max(two[1].3));
                Err((other, format!("the range overlaps that of line {one}")))
            }
            None => Ok(map),
        }
    }

    /// Adds a range of blocks; ranges of a namespace must be added in ascending order.
    pub fn add(&mut self, namespace: u8, first: u64, end: u64, handle: u16) {
        let namespace = usize::from(namespace);
        if self.ranges.len() <= namespace {
            self.ranges.resize(namespace + 1, Vec::new());
        }
        match self.ranges[namespace].last_mut() {
            Some(last) if last.1 == first && last.2 == handle => last.1 = end,
            _ => self.ranges[namespace].push((first, end, handle)),
        }
    }

    /// Returns the handle of a block, and the first block after it whose handle may differ.
    #[inline]
    pub fn at(&self, namespace: u8, block: u64) -> (Placement, u64) {
        let Some(ranges) = self.ranges.get(usize::from(namespace)) else {
            return (Placement::NONE, u64::MAX);
        };
        let next = ranges.partition_point(|r| r.0 <= block);
        if let Some(&(_, end, handle)) = next.checked_sub(1).and_then(|i| ranges.get(i))
            && block < end
        {
            return (Placement(handle), end);
        }
        (Placement::NONE, ranges.get(next).map_or(u64::MAX, |r| r.0))
    }

    /// Returns the ranges: namespace, first block, end block, handle.
    pub fn ranges(&self) -> impl Iterator<Item = (u8, u64, u64, u16)> + '_ {
        (0u8..).zip(&self.ranges).flat_map(|(namespace, ranges)| {
            ranges.iter().map(move |(first, end, handle)| (namespace, *first, *end, *handle))
        })
    }

    /// Returns the number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(Vec::len).sum()
    }

    /// Returns whether there are no ranges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the map as CSV.
    pub fn to_csv(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for (namespace, ranges) in self.ranges.iter().enumerate() {
            for (first, end, handle) in ranges {
                let (first, bytes) = (first * LBA_BYTES, (end - first) * LBA_BYTES);
                text.push_str(&format!("{},{first},{bytes},{handle}\n", namespace + 1));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_round_trips() {
        let text = "namespace,first_byte,bytes,handle\n1,0,1024,3\n1,4096,512,1\n2,0,512,7\n";
        let map = PlaceMap::parse(text).unwrap();
        assert_eq!(map.to_csv(), text);
        assert_eq!(map.at(0, 0), (Placement(3), 2));
        assert_eq!(map.at(0, 2), (Placement::NONE, 8));
        assert_eq!(map.at(0, 8), (Placement(1), 9));
        assert_eq!(map.at(0, 9), (Placement::NONE, u64::MAX));
        assert_eq!(map.at(1, 0), (Placement(7), 1));
        assert_eq!(map.at(9, 0), (Placement::NONE, u64::MAX));
    }

    #[test]
    fn damage_is_told_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("a,b\n", 1),
            ("namespace,first_byte,bytes,handle\n1,2\n", 2),
            ("namespace,first_byte,bytes,handle\n0,0,512,1\n", 2),
            ("namespace,first_byte,bytes,handle\n1,0,1024,1\n1,512,512,2\n", 3),
            ("namespace,first_byte,bytes,handle\n1,512,512,2\n2,0,512,1\n1,0,1024,1\n", 4),
        ] {
            assert_eq!(PlaceMap::parse(text).unwrap_err().0, line, "{text:?}");
        }
    }
}
