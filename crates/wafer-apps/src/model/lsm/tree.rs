//! Levels and files of the tree, key by key.

use crate::model::area::Extent;

/// The upper bit of a key in memtable and files: the key is deleted.
pub(super) const DELETED: u32 = 1 << 31;

/// A sorted file. Keys ascend; the upper bit marks a deletion.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) keys: Vec<u32>,
    pub(super) extents: Vec<Extent>,
    pub(super) bytes: u64,
}

impl File {
    fn first(&self) -> u32 {
        self.keys.first().map_or(0, |key| key & !DELETED)
    }

    fn last(&self) -> u32 {
        self.keys.last().map_or(0, |key| key & !DELETED)
    }
}

/// All files: level 0 with the newest last, deeper levels by key without overlap.
#[derive(Debug)]
pub(super) struct Tree {
    level0: Vec<File>,
    /// Level 1, 2, ...
    deeper: Vec<Vec<File>>,
    per_file: usize,
    l0_files: usize,
    /// Number of records in level 1, and the size ratio of the next level.
    level1: f64,
    ratio: f64,
}

/// A merge that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    /// Level 0 with the files it overlaps in level 1.
    Level0,
    /// A file of level 1 + the first number, by position, with the next level.
    File(usize, usize),
}

/// Returns the last write of each key of a memtable, sorted.
pub(super) fn sorted(records: Vec<u32>) -> Vec<u32> {
    let mut at: Vec<(u32, u32)> =
        records.iter().zip(0..).map(|(record, i)| (record & !DELETED, i)).collect();
    at.sort_unstable();
    let last = at.chunk_by(|a, b| a.0 == b.0).filter_map(<[_]>::last);
    last.map(|&(_, i)| records[i as usize]).collect()
}

/// Merges two lists; if both have a key, keeps the newer one.
fn merged(newer: &[u32], older: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(newer.len() + older.len());
    let (mut i, mut j) = (0, 0);
    while i < newer.len() && j < older.len() {
        let (a, b) = (newer[i] & !DELETED, older[j] & !DELETED);
        if a <= b {
            all.push(newer[i]);
            i += 1;
            j += usize::from(a == b);
        } else {
            all.push(older[j]);
            j += 1;
        }
    }
    all.extend_from_slice(&newer[i..]);
    all.extend_from_slice(&older[j..]);
    all
}

impl Tree {
    pub(super) fn new(per_file: usize, l0_files: usize, level1: f64, ratio: f64) -> Self {
        Tree { level0: Vec::new(), deeper: Vec::new(), per_file, l0_files, level1, ratio }
    }

    pub(super) fn add_level0(&mut self, file: File) {
        self.level0.push(file);
    }

    /// Returns the number of levels below level 0 that hold files.
    pub(super) fn levels(&self) -> usize {
        self.deeper.iter().filter(|level| !level.is_empty()).count()
    }

    /// Returns the number of records in all files.
    pub(super) fn records(&self) -> usize {
        self.level0.iter().chain(self.deeper.iter().flatten()).map(|f| f.keys.len()).sum()
    }

    /// Returns the most urgent merge, or `None` when no level exceeds its size.
    pub(super) fn next_merge(&self) -> Option<Merge> {
        if self.level0.len() >= self.l0_files {
            return Some(Merge::Level0);
        }
        let mut most = self.level1;
        for (level, files) in self.deeper.iter().enumerate() {
            let records: usize = files.iter().map(|f| f.keys.len()).sum();
            if records as f64 > most {
                // The smallest overlap relative to the file's size; the first one at a tie.
                let overlap = |f: &File| {
                    let below: usize = self.overlapped(level + 1, f).map(|f| f.keys.len()).sum();
                    below as f64 / f.keys.len().max(1) as f64
                };
                let position = (0..files.len())
                    .min_by(|&a, &b| overlap(&files[a]).total_cmp(&overlap(&files[b])))?;
                return Some(Merge::File(level, position));
            }
            most *= self.ratio;
        }
        None
    }

    /// Returns the files of a deeper level, given by index into `deeper`, that a file overlaps.
    fn overlapped(&self, level: usize, file: &File) -> impl Iterator<Item = &File> {
        let files = self.deeper.get(level).map_or(&[][..], Vec::as_slice);
        let from = files.partition_point(|f| f.last() < file.first());
        let last = file.last();
        files[from..].iter().take_while(move |f| f.first() <= last)
    }

    /// Removes the inputs of a merge. Returns the level of the outputs, counted from 0, their keys, and
    /// the inputs.
    pub(super) fn merge(&mut self, merge: Merge) -> (usize, Vec<Vec<u32>>, Vec<File>) {
        let (upper, to) = match merge {
            Merge::Level0 => (std::mem::take(&mut self.level0), 0),
            Merge::File(level, position) => (vec![self.deeper[level].remove(position)], level + 1),
        };
        if self.deeper.len() <= to {
            self.deeper.resize_with(to + 1, Vec::new);
        }
        // Level 0 has its newest file last.
        let mut keys = Vec::new();
        for file in &upper {
            keys = merged(&file.keys, &keys);
        }
        let span = File { keys, ..File::default() };
        let files = &mut self.deeper[to];
        let from = files.partition_point(|f| f.last() < span.first());
        let count = files[from..].iter().take_while(|f| f.first() <= span.last()).count();
        let lower: Vec<File> = files.drain(from..from + count).collect();
        let older: Vec<u32> = lower.iter().flat_map(|f| &f.keys).copied().collect();
        let mut all = merged(&span.keys, &older);
        let last = self.deeper[to + 1..].iter().all(Vec::is_empty);
        if last {
            all.retain(|key| key & DELETED == 0);
        }
        // Files of equal size rather than a small last one.
        let parts = all.len().div_ceil(self.per_file).max(1);
        let size = all.len().div_ceil(parts).max(1);
        let outputs = all.chunks(size).map(<[u32]>::to_vec).collect();
        let mut inputs = upper;
        inputs.extend(lower);
        (to + 1, outputs, inputs)
    }

    /// Inserts the outputs of a merge into their level.
    pub(super) fn install(&mut self, level: usize, files: Vec<File>) {
        let Some(first) = files.first().map(File::first) else { return };
        let there = &mut self.deeper[level - 1];
        let at = there.partition_point(|f| f.last() < first);
        there.splice(at..at, files);
    }

    /// Returns the extents of the newest file with a key and the position in it, unless the key is deleted.
    pub(super) fn find(&self, key: u32) -> Option<(&[Extent], usize)> {
        let deeper = self.deeper.iter().filter_map(|files| {
            let at = files.partition_point(|f| f.last() < key);
            files.get(at)
        });
        for file in self.level0.iter().rev().chain(deeper) {
            if let Ok(position) = file.keys.binary_search_by_key(&key, |k| k & !DELETED) {
                let live = file.keys[position] & DELETED == 0;
                return live.then_some((&file.extents, position));
            }
        }
        None
    }

    /// Returns every key with its newest state, as a reader of all files would see it.
    #[cfg(test)]
    pub(super) fn check_invariants(&self) -> std::collections::BTreeMap<u32, bool> {
        let mut seen = std::collections::BTreeMap::new();
        for files in &self.deeper {
            assert!(files.windows(2).all(|w| w[0].last() < w[1].first()), "files overlap");
        }
        for file in self.level0.iter().rev().chain(self.deeper.iter().flatten()) {
            assert!(!file.keys.is_empty());
            assert!(file.keys.windows(2).all(|w| w[0] & !DELETED < w[1] & !DELETED));
            for key in &file.keys {
                seen.entry(key & !DELETED).or_insert(key & DELETED == 0);
            }
        }
        seen
    }

    #[cfg(test)]
    pub(super) fn extents(&self) -> impl Iterator<Item = &Extent> {
        self.level0.iter().chain(self.deeper.iter().flatten()).flat_map(|f| &f.extents)
    }
}
