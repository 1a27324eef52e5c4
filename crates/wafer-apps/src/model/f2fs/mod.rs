//! F2FS under a file server: six logs, cleaning, checkpoints, and Linux's placement.
//!
//! The model follows Lee et al. ("F2FS", FAST '15) and Linux fs/f2fs. The main area consists of segments of 2 MiB. Six
//! logs write to it: hot, warm and cold, for nodes and for data. User data is warm unless a hint or the file's
//! extension says otherwise, and data moved by cleaning is cold. The inode of a file is a warm node, that of a
//! directory a hot one. An update is written elsewhere and invalidates the old block. A log takes a new segment while
//! there are enough free ones; otherwise it writes into the invalid blocks of a used segment of its kind (slack space
//! recycling, SSR), or cleaning empties the segment with the fewest valid blocks. A checkpoint writes the node blocks
//! that changed, and writes the blocks of NAT, SIT and checkpoint packs in place in an area of their own. It also
//! frees the segments without valid blocks, which `discard` then deallocates.
//!
//! The file server is filebench's, as in the study: it writes files of 512 KiB until the file system
//! is 80 % full, then overwrites 256 KiB at random. Directory operations are omitted.

mod segments;

use schemars::JsonSchema;
use segments::{LOGS, Log, SEGMENT, Segments};
use serde::{Deserialize, Serialize};
use wafer_interface::{Bytes, Command, Figure, Op, Placement};
use wafer_random::{Inverse, Ranked, Rng};

use super::application::{Application, command, count, ratio, rng};
use super::checks::{between, exponent};
use super::configuration::Configuration;
use super::space::Space;
use wafer_interface::InvalidKey;

/// What to deallocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Discard {
    /// Nothing (`nodiscard`).
    None,
    /// Segments without valid blocks.
    Segment,
    /// Every freed block (`discard`, with a granularity of one block).
    Block,
}

/// Classification of data by temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Temperature {
    /// As Linux does without hints: all user data is warm.
    Linux,
    /// By file: the most popular fifth of the files is hot, the least popular half cold. An oracle.
    File,
    /// By update frequency: a file is hot if its last update was less than half the mean time between updates of a file
    /// ago, cold if it was more than twice that time ago.
    Frequency,
}

/// F2FS with a file server on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct F2fsConfig {
    /// Size of a file, in whole pages. Default 512 KiB (WARP: file server of filebench).
    pub file: Bytes,
    /// Size of an overwrite, aligned to itself within the file. Default 256 KiB (WARP).
    pub overwrite: Bytes,
    /// Share of the main area, excluding the reserve, that files fill. Default 0.8 (WARP).
    pub fill: f64,
    /// Share of the main area that is reserved for cleaning (`mkfs.f2fs -o`). Default 0.05
    /// (mkfs.f2fs, for large volumes a few percent).
    pub reserved: f64,
    /// Zipf exponent of file popularity; 0 is uniform. Default 0 (WARP's overwrites are random).
    pub popularity: f64,
    /// Bytes written between checkpoints. Default 256 MiB (assumption: one per minute at the emulator's pace;
    /// `checkpoint_interval` is 60 s).
    pub checkpoint: Bytes,
    /// Number of free segments at which logs begin to reuse invalid blocks (SSR), not counting `reserved`. 0: never,
    /// cleaning only (LFS mode). Default 12 (two per log, as `need_SSR`).
    pub ssr_below: u32,
    /// `"none"`, `"segment"` or `"block"`: the unit of deallocation. Default "segment" (mount option discard; single
    /// blocks are discarded late, when the drive is idle).
    pub discard: Discard,
    /// `"linux"`, `"file"` or `"frequency"`: how user data is classified. Default "linux".
    pub temperature: Temperature,
    /// Placement handles of the logs, in this order: hot, warm, cold data, hot, warm, cold nodes, and in-place
    /// metadata. Default none: no placement directive.
    pub handles: Vec<u16>,
}

impl Default for F2fsConfig {
    fn default() -> Self {
        F2fsConfig {
            file: Bytes(512 << 10),
            overwrite: Bytes(256 << 10),
            fill: 0.8,
            reserved: 0.05,
            popularity: 0.0,
            checkpoint: Bytes(256 << 20),
            ssr_below: 12,
            discard: Discard::Segment,
            temperature: Temperature::Linux,
            handles: Vec::new(),
        }
    }
}

/// A block of F2FS.
const BLOCK: u64 = 4096;
/// Data blocks that an inode addresses directly; files must be smaller.
const MOST_BLOCKS: u64 = 923;
/// Entries of a NAT block and of a SIT block (Linux include/linux/f2fs_fs.h).
const NAT_ENTRIES: u64 = 455;
const SIT_ENTRIES: u64 = 55;
/// Blocks of a checkpoint pack excluding the bitmaps: two copies of the header, and summaries.
const PACK: u64 = 8;
/// Minimum number of segments in the main area besides files and reserve: an open one for each log,
/// and some to work with.
const LEAST_SPARE: u32 = 16;

struct Sizes {
    /// Blocks of in-place metadata, before the main area.
    meta: u64,
    segments: u32,
    reserved: u32,
    files: u64,
}

impl F2fsConfig {
    fn sizes(&self, space: &Space) -> Sizes {
        let blocks = space.first().bytes / BLOCK;
        // Two copies of NAT and SIT, and two packs: about a hundredth, in whole segments.
        let meta = (blocks / 100).next_multiple_of(u64::from(SEGMENT));
        let segments = blocks.saturating_sub(meta) / u64::from(SEGMENT);
        let reserved = (self.reserved * segments as f64).ceil();
        let usable = (segments as f64 - reserved).max(0.0) * f64::from(SEGMENT);
        let per_file = (self.file.0 / BLOCK + 1) as f64;
        Sizes {
            meta,
            segments: u32::try_from(segments).unwrap_or(u32::MAX),
            reserved: reserved as u32,
            files: (self.fill * usable / per_file) as u64,
        }
    }

    fn check(&self, space: &Space) -> Result<Sizes, InvalidKey> {
        let F2fsConfig { file, overwrite, .. } = *self;
        let pages = file.0 / BLOCK;
        InvalidKey::unless(
            file.0.is_multiple_of(BLOCK) && (1..=MOST_BLOCKS).contains(&pages),
            "file",
            || format!("{file} is not whole pages up to 3692KiB"),
        )?;
        let whole = overwrite.0.is_multiple_of(BLOCK) && overwrite.0 > 0;
        InvalidKey::unless(whole && file.0.is_multiple_of(overwrite.0), "overwrite", || {
            format!("{overwrite} is not whole pages that divide {file}")
        })?;
        between("fill", self.fill, 0.01, 0.98)?;
        between("reserved", self.reserved, 0.01, 0.5)?;
        exponent("popularity", self.popularity, 0.0)?;
        InvalidKey::unless(self.checkpoint.0 >= 1 << 20, "checkpoint", || "1MiB at least")?;
        InvalidKey::unless(
            self.handles.is_empty() || self.handles.len() == LOGS + 1,
            "handles",
            || format!("{} handles; seven, or none", self.handles.len()),
        )?;
        space.check_handles(self.handles.iter().map(|handle| ("handles", 0, Some(*handle))))?;
        let sizes = self.sizes(space);
        let Sizes { segments, files, .. } = sizes;
        let data = (files * (pages + 1)).div_ceil(u64::from(SEGMENT));
        let spare = u64::from(segments).saturating_sub(data);
        InvalidKey::unless(files >= 8 && spare >= u64::from(LEAST_SPARE), "fill", || {
            format!(
                "{segments} segments of 2MiB hold {files} files and leave {spare} segments; 8 files and \
                 {LEAST_SPARE} segments at least: enlarge the namespace or lower fill"
            )
        })?;
        let blocks = u64::from(segments) * u64::from(SEGMENT);
        InvalidKey::unless(blocks < u64::from(u32::MAX), "model", || "a namespace above 16TiB")?;
        Ok(sizes)
    }
}

impl Configuration for F2fsConfig {
    const NAME: &'static str = "f2fs";
    const SUMMARY: &'static str =
        "F2FS file server: six logs, SSR, cleaning, checkpoints, temperatures as Linux gives them";
    type Application = F2fs;

    fn memory(&self, space: &Space) -> Result<u64, InvalidKey> {
        self.check(space)?;
        Ok(space.first().bytes / BLOCK * 8)
    }

    fn application(&self, space: &Space, seed: u64) -> Result<F2fs, InvalidKey> {
        F2fs::new(self, space, seed)
    }
}

/// Popularity of files by rank; the ranks are scattered over the files.
struct Popularity {
    ranked: Ranked,
    file_of: Vec<u32>,
    rank_of: Vec<u32>,
}

impl Popularity {
    fn new(files: u64, exponent: f64, mut rng: Rng) -> Self {
        let mut file_of: Vec<u32> = (0..files as u32).collect();
        for i in (1..file_of.len()).rev() {
            file_of.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let mut rank_of = vec![0; file_of.len()];
        for (rank, &file) in (0..).zip(&file_of) {
            rank_of[file as usize] = rank;
        }
        Popularity {
            ranked: Ranked::new(Inverse::zipf(files, exponent), files, 0),
            file_of,
            rank_of,
        }
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        let rank = self.ranked.rank_of(rng.next32()).min(self.file_of.len() as u64 - 1);
        self.file_of[rank as usize].into()
    }
}

pub(super) struct F2fs {
    config: F2fsConfig,
    sizes: Sizes,
    segments: Segments,
    /// Blocks of a file, excluding its inode.
    per_file: u64,
    loaded: u64,
    popularity: Option<Popularity>,
    choice: Rng,
    /// Number of the overwrite that last wrote each file.
    updated: Vec<u64>,
    overwrites: u64,
    /// Files whose inode changed since the last checkpoint.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    since_checkpoint: u64,
    /// Commands before this one belong to earlier steps.
    step_at: usize,
    /// Which of the two copies of packs, NAT and SIT is written next.
    copy: u64,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    /// User blocks by temperature: hot, warm, cold.
    user: [u64; 3],
    nodes: u64,
    meta: u64,
    checkpoints: u64,
}

/// Number of a block's content: block `b` of file `f` is `f * (per_file + 1) + b`; its inode comes last.
type Owner = u32;

impl F2fs {
    fn new(config: &F2fsConfig, space: &Space, seed: u64) -> Result<Self, InvalidKey> {
        let sizes = config.check(space)?;
        let per_file = config.file.0 / BLOCK;
        let skewed = || Popularity::new(sizes.files, config.popularity, rng(seed, 1));
        let owners = sizes.files * (per_file + 1);
        Ok(F2fs {
            segments: Segments::new(
                sizes.segments,
                owners as usize,
                sizes.reserved.max(LOGS as u32),
                config.ssr_below,
                config.discard == Discard::Block,
            ),
            per_file,
            loaded: 0,
            popularity: (config.popularity > 0.0).then(skewed),
            choice: rng(seed, 0),
            updated: vec![0; sizes.files as usize],
            overwrites: 0,
            dirty: Vec::new(),
            is_dirty: vec![false; sizes.files as usize],
            since_checkpoint: 0,
            step_at: 0,
            copy: 0,
            counts: Counts::default(),
            sizes,
            config: config.clone(),
        })
    }

    fn placement(&self, log: usize) -> Placement {
        self.config.handles.get(log).map_or(Placement::NONE, |handle| Placement(*handle))
    }

    /// Writes one block through a log.
    fn write(&mut self, owner: Owner, log: Log, out: &mut Vec<Command>) {
        let place = self.segments.write(owner, log);
        self.emit(place, log, out);
        self.since_checkpoint += BLOCK;
        self.clean(out);
    }

    /// Appends the write of a block at `place`, or extends the step's previous command by it.
    fn emit(&self, place: u32, log: Log, out: &mut Vec<Command>) {
        let at = (self.sizes.meta + u64::from(place)) * BLOCK;
        let next = command(Op::Write, 0, at, BLOCK, self.placement(log as usize));
        if out.len() > self.step_at
            && let Some(last) = out.last_mut()
            && last.op == Op::Write
            && last.placement == next.placement
            && last.lba + u64::from(last.blocks) == next.lba
            && last.blocks < SEGMENT * 8
        {
            last.blocks += next.blocks;
            return;
        }
        out.push(next);
    }

    /// Cleans segments as long as needed.
    fn clean(&mut self, out: &mut Vec<Command>) {
        while self.segments.needs_cleaning() {
            // Segments without valid blocks become free only at a checkpoint.
            if self.segments.has_prefree() {
                self.checkpoint(out);
                continue;
            }
            let Some(victim) = self.segments.victim() else { return };
            for block in 0..SEGMENT {
                let Some(owner) = self.segments.owner(victim, block) else { continue };
                let inode = u64::from(owner) % (self.per_file + 1) == self.per_file;
                let log = if inode { Log::ColdNode } else { Log::ColdData };
                let place = self.segments.relocate(owner, log);
                self.emit(place, log, out);
                self.since_checkpoint += BLOCK;
                if !inode {
                    self.mark_dirty(u64::from(owner) / (self.per_file + 1));
                }
            }
            self.segments.cleaned(victim);
        }
    }

    fn discard_blocks(&mut self, out: &mut Vec<Command>) {
        let meta = self.sizes.meta;
        for place in self.segments.invalidated() {
            let at = (meta + u64::from(place)) * BLOCK;
            out.push(command(Op::Deallocate, 0, at, BLOCK, Placement::NONE));
        }
    }

    /// Records that the inode of a file has changed.
    fn mark_dirty(&mut self, file: u64) {
        if !std::mem::replace(&mut self.is_dirty[file as usize], true) {
            self.dirty.push(file as u32);
        }
    }

    fn checkpoint(&mut self, out: &mut Vec<Command>) {
        self.counts.checkpoints += 1;
        self.since_checkpoint = 0;
        let mut files = std::mem::take(&mut self.dirty);
        files.sort_unstable();
        for &file in &files {
            self.is_dirty[file as usize] = false;
            let owner = u64::from(file) * (self.per_file + 1) + self.per_file;
            let place = self.segments.write(owner as Owner, Log::WarmNode);
            self.emit(place, Log::WarmNode, out);
            self.counts.nodes += 1;
        }
        self.write_meta(&files, out);
        if self.config.discard == Discard::Block {
            self.discard_blocks(out);
        }
        let meta = self.sizes.meta;
        let whole = self.config.discard == Discard::Segment;
        for segment in self.segments.free_prefree() {
            if whole {
                let at = (meta + u64::from(segment) * u64::from(SEGMENT)) * BLOCK;
                let bytes = u64::from(SEGMENT) * BLOCK;
                out.push(command(Op::Deallocate, 0, at, bytes, Placement::NONE));
            }
        }
    }

    /// Writes NAT, SIT and the checkpoint pack, each over the older of two copies.
    fn write_meta(&mut self, files: &[u32], out: &mut Vec<Command>) {
        let mut nat: Vec<u64> = files.iter().map(|f| u64::from(*f) / NAT_ENTRIES).collect();
        nat.dedup();
        let sit: Vec<u64> = self.segments.changed(SIT_ENTRIES);
        // The area consists of packs, then SIT, then NAT, each twice.
        let region = self.sizes.meta / 8;
        let copy = self.copy;
        self.copy ^= 1;
        let pack = (0..PACK).map(|b| (copy, b));
        let sit = sit.into_iter().map(|b| (2 + copy, b));
        let nat = nat.into_iter().map(|b| (4 + copy, b));
        let placement = self.placement(LOGS);
        for (part, block) in pack.chain(sit).chain(nat) {
            // A small area has fewer blocks than the tables need, so they share them.
            let at = (part * region + block % region) * BLOCK;
            out.push(command(Op::Write, 0, at, BLOCK, placement));
            self.counts.meta += 1;
        }
    }

    fn temperature(&self, file: u64) -> usize {
        match self.config.temperature {
            Temperature::Linux => 1,
            Temperature::File => {
                // Uniform popularity has no ranks.
                let Some(popularity) = &self.popularity else { return 1 };
                let rank = f64::from(popularity.rank_of[file as usize]) / self.sizes.files as f64;
                match rank {
                    rank if rank < 0.2 => 0,
                    rank if rank < 0.5 => 1,
                    _ => 2,
                }
            }
            Temperature::Frequency => {
                let age = (self.overwrites - self.updated[file as usize]) as f64;
                let mean = self.sizes.files as f64;
                if age < mean / 2.0 { 0 } else { 1 + usize::from(age > mean * 2.0) }
            }
        }
    }

    fn write_data(&mut self, file: u64, first: u64, count: u64, out: &mut Vec<Command>) {
        let temperature = self.temperature(file);
        let log = [Log::HotData, Log::WarmData, Log::ColdData][temperature];
        for block in first..first + count {
            self.write((file * (self.per_file + 1) + block) as Owner, log, out);
            self.counts.user[temperature] += 1;
        }
        self.updated[file as usize] = self.overwrites;
        self.mark_dirty(file);
        if self.since_checkpoint >= self.config.checkpoint.0 {
            self.checkpoint(out);
        }
    }
}

impl Application for F2fs {
    fn load(&mut self, out: &mut Vec<Command>) -> bool {
        if self.loaded == self.sizes.files {
            return false;
        }
        self.step_at = out.len();
        self.write_data(self.loaded, 0, self.per_file, out);
        self.loaded += 1;
        if self.loaded == self.sizes.files {
            self.checkpoint(out);
        }
        true
    }

    fn step(&mut self, out: &mut Vec<Command>) {
        self.step_at = out.len();
        let file = match &self.popularity {
            Some(popularity) => popularity.draw(&mut self.choice),
            None => self.choice.below(self.sizes.files),
        };
        let blocks = self.config.overwrite.0 / BLOCK;
        let part = self.choice.below(self.per_file / blocks);
        self.overwrites += 1;
        self.write_data(file, part * blocks, blocks, out);
    }

    fn figures(&self) -> Vec<Figure> {
        let c = &self.counts;
        let user = c.user.iter().sum::<u64>().max(1);
        let stats = self.segments.stats();
        let all = user + c.nodes + c.meta + stats.moved;
        vec![
            ratio("warm_share", c.user[1], user, "share of user data tagged warm"),
            ratio("application_waf", all, user, "blocks written over blocks of users"),
            count("cleaned", stats.cleaned, "segments", "segments cleaned"),
            ratio(
                "fill_at_cleaning",
                stats.moved,
                stats.cleaned * u64::from(SEGMENT),
                "valid share of segments when they were cleaned, mean",
            ),
            ratio(
                "ssr_share",
                stats.reused,
                stats.written,
                "share of the blocks written into invalid blocks of used segments",
            ),
            ratio("node_share", c.nodes, all, "share of node blocks"),
            ratio("metadata_share", c.meta, all, "share of NAT, SIT and packs"),
            count("checkpoints", c.checkpoints, "", "checkpoints"),
        ]
    }
}

#[cfg(test)]
mod tests;
