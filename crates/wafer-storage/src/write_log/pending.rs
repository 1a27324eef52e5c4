//! The contents of a segment of the write log that the data file has yet to receive.

use std::collections::BTreeMap;

/// A piece of data.
pub(super) enum Piece {
    Data(Vec<u8>),
    /// This many zeroes, which may be more than memory should hold.
    Zeroes(u64),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Piece::Data(data) => data.len() as u64,
            Piece::Zeroes(length) => *length,
        }
    }

    /// Splits the piece and returns the second part.
    fn split_off(&mut self, at: u64) -> Piece {
        match self {
            Piece::Data(data) => Piece::Data(data.split_off(at as usize)),
            Piece::Zeroes(length) => Piece::Zeroes(std::mem::replace(length, at) - at),
        }
    }
}

/// Data by offset, without overlaps.
#[derive(Default)]
pub(super) struct Pending(BTreeMap<u64, Piece>);

impl Pending {
    /// Removes a range.
    fn cut(&mut self, from: u64, end: u64) {
        while let Some((&begin, piece)) = self.0.range(..end).next_back()
            && begin + piece.len() > from
        {
            let Some(mut piece) = self.0.remove(&begin) else { return };
            if begin + piece.len() > end {
                self.0.insert(end, piece.split_off(end - begin));
            }
            if begin < from {
                piece.split_off(from - begin);
                self.0.insert(begin, piece);
            }
        }
    }

    /// Adds data, replacing earlier pieces of its range.
    pub(super) fn put(&mut self, offset: u64, data: &[u8]) {
        if let Some(Piece::Data(same)) = self.0.get_mut(&offset)
            && same.len() == data.len()
        {
            same.copy_from_slice(data);
            return;
        }
        self.cut(offset, offset + data.len() as u64);
        self.0.insert(offset, Piece::Data(data.to_vec()));
    }

    /// Adds zeroes, replacing earlier pieces of their range, and merges them with adjacent zeroes.
    pub(super) fn zero(&mut self, mut from: u64, mut end: u64) {
        self.cut(from, end);
        if let Some((&begin, Piece::Zeroes(length))) = self.0.range(..from).next_back()
            && begin + length == from
        {
            from = begin;
        }
        if let Some(Piece::Zeroes(length)) = self.0.get(&end) {
            let next = end + length;
            self.0.remove(&end);
            end = next;
        }
        self.0.insert(from, Piece::Zeroes(end - from));
    }

    /// Overwrites `buffer` with the pieces within a range.
    pub(super) fn patch(&self, offset: u64, buffer: &mut [u8]) {
        let end = offset + buffer.len() as u64;
        for (&begin, piece) in self.0.range(..end).rev() {
            let (from, until) = (begin.max(offset), end.min(begin + piece.len()));
            if from >= until {
                return;
            }
            let target = &mut buffer[(from - offset) as usize..(until - offset) as usize];
            match piece {
                Piece::Data(data) => {
                    target.copy_from_slice(&data[(from - begin) as usize..(until - begin) as usize])
                }
                Piece::Zeroes(_) => target.fill(0),
            }
        }
    }

    /// Returns the covered parts of a range: start and end.
    pub(super) fn overlaps(&self, from: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        let pieces = self.0.range(..end).rev();
        let pieces = pieces.map(|(begin, piece)| (*begin, begin + piece.len()));
        let parts = pieces.take_while(move |(_, until)| *until > from);
        parts.map(move |(begin, until)| (begin.max(from), until.min(end)))
    }

    /// Returns the pieces, ascending.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (u64, &Piece)> {
        self.0.iter().map(|(offset, piece)| (*offset, piece))
    }

    /// Returns the end of the last piece.
    pub(super) fn end(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(at, piece)| at + piece.len())
    }

    /// Returns the ranges of the pieces, ascending and not adjacent.
    pub(super) fn ranges(&self) -> Ranges {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (offset, piece) in &self.0 {
            let end = offset + piece.len();
            match ranges.last_mut() {
                Some((_, until)) if *until == *offset => *until = end,
                _ => ranges.push((*offset, end)),
            }
        }
        Ranges(ranges)
    }
}

/// Ranges of a segment that the data file has: start and end, ascending.
pub(super) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Returns the covered parts of a range: start and end.
    pub(super) fn overlaps(&self, from: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = self.0.partition_point(|(_, until)| *until <= from);
        let parts = self.0[first..].iter().take_while(move |(begin, _)| *begin < end);
        parts.map(move |(begin, until)| ((*begin).max(from), (*until).min(end)))
    }
}

/// Merges ranges that overlap or touch, ascending.
pub(super) fn unite(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut united: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
    for (from, end) in ranges {
        match united.last_mut() {
            Some((_, until)) if from <= *until => *until = (*until).max(end),
            _ => united.push((from, end)),
        }
    }
    united
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_that_touch_are_one_piece() {
        let mut pending = Pending::default();
        for from in [0, 8, 4, 16, 2, 30] {
            pending.zero(from, from + 4);
        }
        pending.put(20, &[1; 4]);
        pending.zero(24, 26);
        let pieces: Vec<_> = pending.pieces().map(|(at, piece)| (at, piece.len())).collect();
        assert_eq!(pieces, [(0, 12), (16, 4), (20, 4), (24, 2), (30, 4)]);
    }
}
