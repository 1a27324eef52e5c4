//! LSM store: a log-structured merge tree with levelled compaction, as RocksDB and its kin have it.
//!
//! What it follows (O'Neil et al. 1996; RocksDB wiki, "Leveled Compaction", "Write Ahead Log"): a write
//! goes to the write-ahead log and the memtable. A full memtable becomes a sorted file of level 0, and
//! its log is deleted. When level 0 has `l0_files` files, all of them are merged with what they
//! overlap of level 1; when a deeper level exceeds its size, one of its files is merged with what it
//! overlaps of the next, the file with the smallest share of overlap first (RocksDB's
//! `kMinOverlappingRatio`). Merging drops older copies, and at the last level deleted keys. Files are
//! written front to back and deleted whole; with `trim` the drive is told.
//!
//! Every key of every file is simulated, so write amplification follows from the overlaps.

mod tree;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Table;
use tree::{File, Merge, Tree};
use wafer_interface::{Bytes, Command, CommandStream, Figure, LBA_BYTES, Op, Placement};
use wafer_random::{Inverse, Purpose, Ranked, Rng};

use super::aerospike::KeyOrder;
use super::application::{Application, Steps, command};
use super::area::{Area, Extent};
use super::interface::{Model, ModelError, ModelInfo, Space, between};

pub(super) const INFO: ModelInfo = ModelInfo {
    name: "lsm",
    summary: "LSM store: write-ahead log, flushes, levelled compaction, deletes",
    make: super::interface::read::<LsmConfig>,
    defaults: super::interface::defaults::<LsmConfig>,
    schema: LsmConfig::json_schema,
    paths: &[],
};

/// A log-structured merge tree with levelled compaction. Defaults are RocksDB's, where it has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LsmConfig {
    /// Live data as a share of the namespace. Default 0.5 (assumption).
    pub fill: f64,
    /// Bytes of a record with its key. Default 1 KiB (assumption: YCSB's).
    pub record: Bytes,
    /// `write_buffer_size`: bytes of the memtable. Default 64 MiB.
    pub memtable: Bytes,
    /// `target_file_size_base`: bytes of a sorted file. Default 64 MiB.
    pub file: Bytes,
    /// `level0_file_num_compaction_trigger`. Default 4.
    pub l0_files: u32,
    /// `max_bytes_for_level_base`: bytes of level 1. Default 256 MiB.
    pub level1: Bytes,
    /// `max_bytes_for_level_multiplier`: how much larger a level is than the one above. Default 10.
    pub ratio: f64,
    /// Choice of keys: `"uniform"`, `"zipfian"` (exponent 0.99, scattered) or `"latest"` (from the newest
    /// written). Default "uniform".
    pub keys: KeyOrder,
    /// Share of the operations that read. Default 0: writes only (db_bench's overwrite).
    pub reads: f64,
    /// Share of the writes that delete. Default 0.
    pub deletes: f64,
    /// Keep a write-ahead log. Default true.
    pub wal: bool,
    /// Bytes of a write of the log: groups of commits, whole pages. Default 32 KiB (assumption).
    pub wal_write: Bytes,
    /// Deallocate a file as it is deleted (the file system's discard). Default true.
    pub trim: bool,
    /// Placement handle of the log. Default none: no placement directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_handle: Option<u16>,
    /// Placement handles of level 0, level 1, ...; deeper levels have the last. Default none.
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

/// What space is counted in.
const PAGE: u64 = 4096;
/// Bytes of a write of a sorted file (RocksDB's `writable_file_max_buffer_size`).
const WRITE: u64 = 1 << 20;
/// Live data at most, as a share of the namespace: files being merged exist twice.
const MOST_FILL: f64 = 0.8;
const ZIPFIAN: f64 = 0.99;

impl LsmConfig {
    fn keys_on(&self, space: &Space) -> u64 {
        (self.fill * space.first().bytes as f64 / self.record.0.max(1) as f64) as u64
    }

    fn check(&self, space: &Space) -> Result<u64, ModelError> {
        between("fill", self.fill, 0.001, MOST_FILL)?;
        between("ratio", self.ratio, 1.5, 100.0)?;
        between("reads", self.reads, 0.0, 0.999)?;
        between("deletes", self.deletes, 0.0, 0.9)?;
        between("l0_files", self.l0_files.into(), 1.0, 100.0)?;
        let bytes = space.first().bytes;
        let within = |key, value: Bytes, low: u64, high: u64| {
            if (low..=high).contains(&value.0) {
                return Ok(());
            }
            let message = format!("{value} is not between {} and {}", Bytes(low), Bytes(high));
            Err(ModelError::new(key, message))
        };
        within("record", self.record, 16, 1 << 20)?;
        within("memtable", self.memtable, 16 * self.record.0, 1 << 40)?;
        within("file", self.file, PAGE.max(self.record.0), 1 << 40)?;
        within("level1", self.level1, self.file.0, 1 << 50)?;
        within("wal_write", self.wal_write, PAGE, 1 << 24)?;
        if !self.wal_write.0.is_multiple_of(PAGE) {
            let message = format!("{} is not a multiple of 4KiB", self.wal_write);
            return Err(ModelError::new("wal_write", message));
        }
        let handles = self.level_handles.iter().map(|handle| ("level_handles", *handle));
        for (key, handle) in handles.chain(self.wal_handle.map(|handle| ("wal_handle", handle))) {
            space.check_handle(key, 0, handle)?;
        }
        let keys = self.keys_on(space);
        if keys > u64::from(u32::MAX) / 2 {
            let message = format!("{keys} records; at most {} can be simulated", u32::MAX / 2);
            return Err(ModelError::new("record", message));
        }
        let most = self.data(bytes) + self.beside();
        if most > bytes as f64 || keys < 16 {
            let message = format!(
                "the namespace has {}; data, old copies, log and files being merged need up to {}: \
                 lower fill, memtable, file or level1",
                Bytes(bytes),
                Bytes(most as u64)
            );
            return Err(ModelError::new("fill", message));
        }
        Ok(keys)
    }

    /// Bytes that the store takes at worst beside its data: level 0 and the log, and the outputs of a
    /// merge while its inputs are still there.
    fn beside(&self) -> f64 {
        let level0 = self.memtable.0 * u64::from(self.l0_files);
        let upper = (level0 + 2 * self.level1.0) as f64;
        let deeper = self.file.0 as f64 * (self.ratio + 2.0);
        (level0 + 3 * self.memtable.0 + self.wal_write.0) as f64 + upper.max(deeper)
    }

    /// Data with the old copies above the last level: about one in `ratio`.
    fn data(&self, bytes: u64) -> f64 {
        self.fill * bytes as f64 * (1.0 + 1.2 / self.ratio) + self.level1.0 as f64
    }
}

impl Model for LsmConfig {
    fn memory_bytes(&self, space: &Space) -> u64 {
        // Every key of every file, and a merge in hand.
        let records =
            (self.data(space.first().bytes) + self.beside()) / self.record.0.max(1) as f64;
        records as u64 * 8
    }

    fn start(&self, space: &Space, seed: u64) -> Result<Box<dyn CommandStream>, ModelError> {
        Ok(Box::new(Steps::new(Lsm::new(self, space, seed)?)))
    }

    fn parameters(&self) -> Table {
        super::interface::table(self)
    }
}

struct Lsm {
    config: LsmConfig,
    area: Area,
    tree: Tree,
    /// Records of the memtable: a key, its upper bit for a deletion, in the order of writing.
    memtable: Vec<u32>,
    /// Extents of the log, what of them is written, and records not yet written.
    wal: Vec<Extent>,
    wal_at: u64,
    wal_pending: u64,
    keys: u64,
    ranked: Option<Ranked>,
    loaded: u64,
    newest: u64,
    choice: Rng,
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

/// The upper bit of a key in memtable and files: it is deleted.
const DELETED: u32 = 1 << 31;

impl Lsm {
    fn new(config: &LsmConfig, space: &Space, seed: u64) -> Result<Self, ModelError> {
        let keys = config.check(space)?;
        let rng = |sub| Rng::new(seed, 0, Purpose::Application, sub);
        let per_file = (config.file.0 / config.record.0).max(1) as usize;
        let level1 = (config.level1.0 / config.record.0) as f64;
        let zipf = || Ranked::new(Inverse::zipf(keys, ZIPFIAN), keys, 0);
        let mut lsm = Lsm {
            area: Area::new(space.first().bytes / PAGE),
            tree: Tree::new(per_file, config.l0_files as usize, level1, config.ratio),
            memtable: Vec::new(),
            wal: Vec::new(),
            wal_at: 0,
            wal_pending: 0,
            keys,
            ranked: (config.keys != KeyOrder::Uniform).then(zipf),
            loaded: 0,
            newest: keys - 1,
            choice: rng(0),
            mix: rng(1),
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

    /// The extents of a file of so many bytes; none, and counted, without room.
    fn allocate(&mut self, bytes: u64) -> Vec<Extent> {
        let taken = self.area.take(bytes.div_ceil(PAGE));
        self.counts.without_room += u64::from(taken.is_none());
        taken.unwrap_or_default()
    }

    fn write_extents(extents: &[Extent], placement: Placement, out: &mut Vec<Command>) {
        for &(first, count) in extents {
            let (mut at, end) = (first * PAGE, (first + count) * PAGE);
            while at < end {
                let part = WRITE.min(end - at);
                out.push(command(Op::Write, 0, at, part, placement));
                at += part;
            }
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
            // Room for every record, and for the last write to be rounded up.
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
        // A record larger than a group goes in several writes.
        while self.wal_pending >= write {
            self.write_log(write, out);
            self.wal_pending -= write;
        }
    }

    fn write_log(&mut self, bytes: u64, out: &mut Vec<Command>) {
        let placement = self.config.wal_handle.map_or(Placement::NONE, Placement);
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

    /// A write or a deletion.
    fn put(&mut self, key: u32, out: &mut Vec<Command>) {
        self.counts.written += self.config.record.0;
        self.memtable.push(key);
        self.log(out);
        if self.memtable.len() as u64 * self.config.record.0 >= self.config.memtable.0 {
            self.flush(out);
        }
    }

    /// The memtable becomes a file of level 0.
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

    fn draw(&mut self) -> u32 {
        let key = match (&self.ranked, self.config.keys) {
            (Some(ranked), KeyOrder::Zipfian) => ranked.draw(&mut self.choice),
            (Some(ranked), _) => {
                let rank = ranked.rank_of(self.choice.next32()).min(self.keys - 1);
                (self.newest + self.keys - rank) % self.keys
            }
            (None, _) => self.choice.below(self.keys),
        };
        key as u32
    }

    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && u64::from(self.mix.next32()) < (share * 4_294_967_296.0) as u64
    }
}

impl Application for Lsm {
    /// Loads all keys in an order that is neither sorted nor random: a multiplicative walk.
    fn load(&mut self, out: &mut Vec<Command>) -> bool {
        let before = out.len();
        let stride = walk(self.keys);
        while self.loaded < self.keys && out.len() == before {
            let key = (u128::from(self.loaded) * u128::from(stride) % u128::from(self.keys)) as u32;
            self.put(key, out);
            self.loaded += 1;
        }
        out.len() > before
    }

    fn step(&mut self, out: &mut Vec<Command>) {
        if self.chance(self.config.reads) {
            let key = self.draw();
            // A point read: one block of the newest file that has the key.
            if let Some((extents, position)) = self.tree.find(key) {
                let mut page = position as u64 * self.config.record.0 / PAGE;
                for &(first, count) in extents {
                    if page < count {
                        out.push(command(
                            Op::Read,
                            0,
                            (first + page) * PAGE,
                            PAGE,
                            Placement::NONE,
                        ));
                        break;
                    }
                    page -= count;
                }
            }
            return;
        }
        if self.config.keys == KeyOrder::Latest {
            self.newest = (self.newest + 1) % self.keys;
        }
        let key = self.draw();
        let deleted = if self.chance(self.config.deletes) { DELETED } else { 0 };
        self.put(key | deleted, out);
    }

    fn figures(&self) -> Vec<Figure> {
        let c = &self.counts;
        let per = |bytes: u64| bytes as f64 / c.written.max(1) as f64;
        let live = self.tree.records() as f64;
        vec![
            Figure::new(
                "application_waf",
                per(c.wal + c.flushed + c.compacted),
                "",
                "bytes written over bytes of records that clients wrote",
            ),
            Figure::new("wal_waf", per(c.wal), "", "the log's part of it"),
            Figure::new("flush_waf", per(c.flushed), "", "the part of files of level 0"),
            Figure::new("compaction_waf", per(c.compacted), "", "the part of compactions"),
            Figure::new(
                "levels",
                self.tree.levels() as f64,
                "levels",
                "levels below level 0 in use",
            ),
            Figure::new(
                "space_amplification",
                live / self.keys as f64,
                "",
                "records in files over keys",
            ),
            Figure::new(
                "without_room",
                c.without_room as f64,
                "files",
                "files that the namespace had no room for",
            ),
        ]
    }
}

/// A stride that visits every key: near the golden section, and without a common divisor.
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
