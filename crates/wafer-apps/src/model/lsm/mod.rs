//! LSM store: a log-structured merge tree with levelled compaction, as in RocksDB and similar stores.
//!
//! The model follows O'Neil et al. 1996 and the RocksDB wiki ("Leveled Compaction", "Write Ahead
//! Log"). A write goes to the write-ahead log and the memtable. A full memtable becomes a sorted file
//! of level 0, and its log is deleted. When level 0 has `l0_files` files, all of them are merged with
//! the files of level 1 that they overlap. When a deeper level exceeds its size, one of its files is
//! merged with those it overlaps in the next level: the file with the smallest share of overlap first
//! (RocksDB's `kMinOverlappingRatio`). Merging drops older copies and, at the last level, deleted
//! keys. Files are written front to back and deleted whole; with `trim` they are deallocated then.
//!
//! Every key of every file is simulated, so write amplification follows from the overlaps.

mod tree;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tree::{DELETED, File, Merge, Tree};
use wafer_interface::{Bytes, Command, Figure, LBA_BYTES, Op, Placement};
use wafer_random::Rng;

use super::application::{
    Application, chance, command, count, placement, ratio, rng, write_in_parts,
};
use super::area::{Area, Extent};
use super::checks::{between, within};
use super::configuration::Configuration;
use super::keys::{KeyOrder, Keys};
use super::space::Space;
use wafer_interface::InvalidKey;

/// A log-structured merge tree with levelled compaction. Defaults are RocksDB's, where it has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LsmConfig {
    /// Live data as a share of the namespace. Default 0.5 (assumption).
    pub fill: f64,
    /// Size of a record including its key. Default 1 KiB (assumption: YCSB's).
    pub record: Bytes,
    /// `write_buffer_size`: bytes of the memtable. Default 64 MiB.
    pub memtable: Bytes,
    /// `target_file_size_base`: bytes of a sorted file. Default 64 MiB.
    pub file: Bytes,
    /// `level0_file_num_compaction_trigger`. Default 4.
    pub l0_files: u32,
    /// `max_bytes_for_level_base`: bytes of level 1. Default 256 MiB.
    pub level1: Bytes,
    /// `max_bytes_for_level_multiplier`: size of a level relative to the one above. Default 10.
    pub ratio: f64,
    /// Choice of keys: `"uniform"`, `"zipfian"` (exponent 0.99, scattered) or `"latest"` (from the newest
    /// written). Default "uniform".
    pub keys: KeyOrder,
    /// Share of operations that read. Default 0: writes only (db_bench's overwrite).
    pub reads: f64,
    /// Share of writes that delete. Default 0.
    pub deletes: f64,
    /// Keep a write-ahead log. Default true.
    pub wal: bool,
    /// Size of a log write, a group of commits, in whole pages. Default 32 KiB (assumption).
    pub wal_write: Bytes,
    /// Deallocate a file when it is deleted (the file system's discard). Default true.
    pub trim: bool,
    /// Placement handle of the log. Default none: no placement directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_handle: Option<u16>,
    /// Placement handles of level 0, level 1, ...; deeper levels use the last one. Default none.
    pub level_handles: Vec<u16>,
}

impl Default for LsmConfig {
    fn default() -> Self {
        LsmConfig {
            fill: 0.5,
            record: Bytes(1 << 10),
            memtable: Bytes(64 << 20),
            file: Bytes(64 << 20),
            l0_files: 4,
            level1: Bytes(256 << 20),
            ratio: 10.0,
            keys: KeyOrder::Uniform,
            reads: 0.0,
            deletes: 0.0,
            wal: true,
            wal_write: Bytes(32 << 10),
            trim: true,
            wal_handle: None,
            level_handles: Vec::new(),
        }
    }
}

/// Allocation unit.
const PAGE: u64 = 4096;
/// Bytes per write of a sorted file (RocksDB's `writable_file_max_buffer_size`).
const WRITE: u64 = 1 << 20;
/// Maximum live data as a share of the namespace: files being merged exist twice.
const MOST_FILL: f64 = 0.8;

impl LsmConfig {
    fn keys_on(&self, space: &Space) -> u64 {
        (self.fill * space.first().bytes as f64 / self.record.0.max(1) as f64) as u64
    }

    fn check(&self, space: &Space) -> Result<u64, InvalidKey> {
        between("fill", self.fill, 0.001, MOST_FILL)?;
        between("ratio", self.ratio, 1.5, 100.0)?;
        between("reads", self.reads, 0.0, 0.999)?;
        between("deletes", self.deletes, 0.0, 0.9)?;
        between("l0_files", self.l0_files.into(), 1.0, 100.0)?;
        let bytes = space.first().bytes;
        within("record", self.record, 16, 1 << 20)?;
        within("memtable", self.memtable, 16 * self.record.0, 1 << 40)?;
        within("file", self.file, PAGE.max(self.record.0), 1 << 40)?;
        within("level1", self.level1, self.file.0, 1 << 50)?;
        within("wal_write", self.wal_write, PAGE, 1 << 24)?;
        InvalidKey::unless(self.wal_write.0.is_multiple_of(PAGE), "wal_write", || {
            format!("{} is not a multiple of 4KiB", self.wal_write)
        })?;
        space.check_handles(self.level_handles.iter().map(|h| ("level_handles", 0, Some(*h))))?;
        space.check_handles([("wal_handle", 0, self.wal_handle)])?;
        let keys = self.keys_on(space);
        InvalidKey::unless(keys <= u64::from(u32::MAX) / 2, "record", || {
            format!("{keys} records; at most {} can be simulated", u32::MAX / 2)
        })?;
        let most = self.data(bytes) + self.beside();
        InvalidKey::unless(most <= bytes as f64 && keys >= 16, "fill", || {
            format!(
                "the namespace has {}; data, old copies, log and files being merged need up to {}: \
                 lower fill, memtable, file or level1",
                Bytes(bytes),
                Bytes(most as u64)
            )
        })?;
        Ok(keys)
    }

    /// Returns the maximum space used besides the data, in bytes: level 0 and the log, and the outputs of a merge
    /// while its inputs still exist.
    fn beside(&self) -> f64 {
        let level0 = self.memtable.0 * u64::from(self.l0_files);
        let upper = (level0 + 2 * self.level1.0) as f64;
        let deeper = self.file.0 as f64 * (self.ratio + 2.0);
        (level0 + 3 * self.memtable.0 + self.wal_write.0) as f64 + upper.max(deeper)
    }

    /// Returns the bytes of the data and of old copies above the last level: about one in `ratio`.
    fn data(&self, bytes: u64) -> f64 {
        self.fill * bytes as f64 * (1.0 + 1.2 / self.ratio) + self.level1.0 as f64
    }
}

impl Configuration for LsmConfig {
    const NAME: &'static str = "lsm";
    const SUMMARY: &'static str =
        "LSM store: write-ahead log, flushes, levelled compaction, deletes";
    type Application = Lsm;

    fn memory(&self, space: &Space) -> Result<u64, InvalidKey> {
        self.check(space)?;
        // Every key of every file, and a merge in progress.
        let records =
            (self.data(space.first().bytes) + self.beside()) / self.record.0.max(1) as f64;
        Ok(records as u64 * 8)
    }

    fn application(&self, space: &Space, seed: u64) -> Result<Lsm, InvalidKey> {
        Lsm::new(self, space, seed)
    }
}

pub(super) struct Lsm {
    config: LsmConfig,
    area: Area,
    tree: Tree,
    /// Keys of the memtable in the order of writing; the upper bit marks a deletion.
    memtable: Vec<u32>,
    /// Extents of the log, bytes written to them, and bytes of records not yet written.
    wal: Vec<Extent>,
    wal_at: u64,
    wal_pending: u64,
    keys: Keys,
    loaded: u64,
    mix: Rng,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    written: u64,
    wal: u64,
    flushed: u64,
    compacted: u64,
    without_room: u64,
}

impl Lsm {
    fn new(config: &LsmConfig, space: &Space, seed: u64) -> Result<Self, InvalidKey> {
        let keys = config.check(space)?;
        let per_file = (config.file.0 / config.record.0).max(1) as usize;
        let level1 = (config.level1.0 / config.record.0) as f64;
        let mut lsm = Lsm {
            area: Area::new(space.first().bytes / PAGE),
            tree: Tree::new(per_file, config.l0_files as usize, level1, config.ratio),
            memtable: Vec::new(),
            wal: Vec::new(),
            wal_at: 0,
            wal_pending: 0,
            keys: Keys::new(config.keys, keys, rng(seed, 0)),
            loaded: 0,
            mix: rng(seed, 1),
            counts: Counts::default(),
            config: config.clone(),
        };
        lsm.new_wal();
        Ok(lsm)
    }

    fn level_placement(&self, level: usize) -> Placement {
        let handles = &self.config.level_handles;
        let handle = handles.get(level).or(handles.last());
        handle.map_or(Placement::NONE, |handle| Placement(*handle))
    }

    /// Allocates the extents of a file; without enough room, counts the failure and returns none.
    fn allocate(&mut self, bytes: u64) -> Vec<Extent> {
        let taken = self.area.take(bytes.div_ceil(PAGE));
        self.counts.without_room += u64::from(taken.is_none());
        taken.unwrap_or_default()
    }

    fn write_extents(extents: &[Extent], placement: Placement, out: &mut Vec<Command>) {
        for &(first, count) in extents {
            write_in_parts(first * PAGE, count * PAGE, WRITE, placement, out);
        }
    }

    fn delete(&mut self, extents: &[Extent], out: &mut Vec<Command>) {
        self.area.free_extents(extents);
        if self.config.trim {
            let trim = |&(first, count): &Extent| {
                command(Op::Deallocate, 0, first * PAGE, count * PAGE, Placement::NONE)
            };
            out.extend(extents.iter().map(trim));
        }
    }

    fn new_wal(&mut self) {
        if self.config.wal {
            // Room for every record, and for rounding up the last write.
            let bytes = self.config.memtable.0 + self.config.record.0 + self.config.wal_write.0;
            self.wal = self.allocate(bytes);
        }
        self.wal_at = 0;
        self.wal_pending = 0;
    }

    /// Appends a record to the log, which is written in groups.
    fn log(&mut self, out: &mut Vec<Command>) {
        if !self.config.wal {
            return;
        }
        self.wal_pending += self.config.record.0;
        let write = self.config.wal_write.0;
        // A record larger than a group takes several writes.
        while self.wal_pending >= write {
            self.write_log(write, out);
            self.wal_pending -= write;
        }
    }

    fn write_log(&mut self, bytes: u64, out: &mut Vec<Command>) {
        let placement = placement(self.config.wal_handle);
        let (mut skip, mut left) = (self.wal_at / PAGE, bytes / PAGE);
        for &(first, count) in &self.wal {
            let part = left.min(count.saturating_sub(skip));
            if part > 0 {
                let at = (first + skip) * PAGE;
                out.push(command(Op::Write, 0, at, part * PAGE, placement));
                self.counts.wal += part * PAGE;
                left -= part;
            }
            skip = skip.saturating_sub(count);
        }
        self.wal_at += bytes;
    }

    /// Writes or deletes a key.
    fn put(&mut self, key: u32, out: &mut Vec<Command>) {
        self.counts.written += self.config.record.0;
        self.memtable.push(key);
        self.log(out);
        if self.memtable.len() as u64 * self.config.record.0 >= self.config.memtable.0 {
            self.flush(out);
        }
    }

    /// Turns the memtable into a file of level 0.
    fn flush(&mut self, out: &mut Vec<Command>) {
        let records = std::mem::take(&mut self.memtable);
        let keys = tree::sorted(records);
        let file = self.new_file(keys, 0, out);
        self.counts.flushed += file.bytes;
        self.tree.add_level0(file);
        let log = std::mem::take(&mut self.wal);
        self.delete(&log, out);
        self.new_wal();
        while let Some(merge) = self.tree.next_merge() {
            self.compact(merge, out);
        }
    }

    fn new_file(&mut self, keys: Vec<u32>, level: usize, out: &mut Vec<Command>) -> File {
        let bytes = keys.len() as u64 * self.config.record.0;
        let extents = self.allocate(bytes);
        Lsm::write_extents(&extents, self.level_placement(level), out);
        let bytes = extents.iter().map(|e| e.1 * PAGE).sum();
        File { keys, extents, bytes }
    }

    fn compact(&mut self, merge: Merge, out: &mut Vec<Command>) {
        let (level, outputs, inputs) = self.tree.merge(merge);
        let files: Vec<File> =
            outputs.into_iter().map(|keys| self.new_file(keys, level, out)).collect();
        self.counts.compacted += files.iter().map(|f| f.bytes).sum::<u64>();
        self.tree.install(level, files);
        for file in inputs {
            self.delete(&file.extents, out);
        }
    }

    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && chance(&mut self.mix, share)
    }
}

impl Application for Lsm {
    /// Loads all keys in an order neither sorted nor random: a multiplicative walk.
    fn load(&mut self, out: &mut Vec<Command>) -> bool {
        let before = out.len();
        let keys = self.keys.records();
        let stride = walk(keys);
        while self.loaded < keys && out.len() == before {
            let key = (u128::from(self.loaded) * u128::from(stride) % u128::from(keys)) as u32;
            self.put(key, out);
            self.loaded += 1;
        }
        out.len() > before
    }

    fn step(&mut self, out: &mut Vec<Command>) {
        if self.chance(self.config.reads) {
            let key = self.keys.draw();
            // A point read: one page of the newest file that has the key.
            if let Some((extents, position)) = self.tree.find(key) {
                let mut page = position as u64 * self.config.record.0 / PAGE;
                for &(first, count) in extents {
                    if page < count {
                        let at = (first + page) * PAGE;
                        out.push(command(Op::Read, 0, at, PAGE, Placement::NONE));
                        break;
                    }
                    page -= count;
                }
            }
            return;
        }
        if self.config.keys == KeyOrder::Latest {
            self.keys.insert();
        }
        let key = self.keys.draw();
        let deleted = if self.chance(self.config.deletes) { DELETED } else { 0 };
        self.put(key | deleted, out);
    }

    fn figures(&self) -> Vec<Figure> {
        let c = &self.counts;
        let waf = |name, bytes, meaning| ratio(name, bytes, c.written, meaning);
        vec![
            waf(
                "application_waf",
                c.wal + c.flushed + c.compacted,
                "bytes written over bytes of records that clients wrote",
            ),
            waf("wal_waf", c.wal, "the log's part of it"),
            waf("flush_waf", c.flushed, "the part of files of level 0"),
            waf("compaction_waf", c.compacted, "the part of compactions"),
            count("levels", self.tree.levels() as u64, "levels", "levels below level 0 in use"),
            ratio(
                "space_amplification",
                self.tree.records() as u64,
                self.keys.records(),
                "records in files over keys",
            ),
            count(
                "without_room",
                c.without_room,
                "files",
                "files that the namespace had no room for",
            ),
        ]
    }
}

/// Returns a stride that visits every key: near the golden section, coprime with their number.
fn walk(keys: u64) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut stride = (keys as f64 * 0.618_033_988_749_895) as u64 | 1;
    while gcd(stride, keys) != 1 {
        stride += 1;
    }
    stride
}

const _: () = assert!(PAGE.is_multiple_of(LBA_BYTES));

#[cfg(test)]
mod tests;
