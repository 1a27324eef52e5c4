//! Aerospike: a key-value store that writes large blocks and defragments those mostly invalid.
//!
//! The model follows the Aerospike documentation ("Storage engine", "Defragmentation", `namespace` context of the
//! configuration reference). Records are appended to a write block in memory, which is written to the drive as a whole
//! when it is full. An update invalidates the old copy in its block. A block whose live share falls below `defrag_lwm`
//! is queued and read, and its live records are appended to a separate write block for defragmentation. Blocks without
//! live records go to the end of the queue of free blocks, and the next block to write comes from its front. A
//! defragmented block becomes free only when the copies of its records have been flushed. Reads of the last
//! `post_write_queue` blocks written are served from memory.
//!
//! Keys follow YCSB (Cooper et al., SoCC 2010), workloads A to F.
//!
//! Never scale the write block or the record down with the drive: the number of records in a block
//! determines how far the death times of blocks scatter around the order of writing.

mod blocks;
mod ycsb;

use blocks::{Blocks, Writer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_interface::{Bytes, Command, Figure, LBA_BYTES, Op, Placement};
use wafer_random::Rng;
pub use ycsb::Ycsb;
use ycsb::{Change, Other};

use super::application::{Application, command, count, placement, ratio, rng};
use super::checks::between;
use super::configuration::Configuration;
use super::keys::{KeyOrder, Keys};
use super::space::Space;
use wafer_interface::InvalidKey;

/// Aerospike on a device of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AerospikeConfig {
    /// `write-block-size`: bytes of a write, a power of two from 4 KiB to 8 MiB. Default
    /// 128 KiB (the studies use 32 to 256 KiB).
    pub write_block: Bytes,
    /// Size of a record on the drive, including its header, at least 64 bytes. Default 1200 B (YCSB: 10 fields of 100
    /// B; the rest, names and header, is an assumption).
    pub record: Bytes,
    /// Live records as a share of the namespace's capacity. Default 0.33 (calibrated on the
    /// four-database figures; the studies do not give it).
    pub fill: f64,
    /// `defrag-lwm-pct` as a share: blocks with less live data are defragmented. Default 0.5
    /// (Aerospike's default).
    pub defrag_lwm: f64,
    /// YCSB core workload: `"a"` (50 % updates), `"b"` (5 % updates), `"c"` (reads only), `"d"` (5 % inserts), `"e"`
    /// (scans, 5 % inserts), `"f"` (50 % read-modify-write). An insert expires the oldest record, so that `fill` stays
    /// constant. Default "a" (the studies).
    pub ycsb: Ycsb,
    /// Choice of keys: `"uniform"`, `"zipfian"` (exponent 0.99, scattered) or `"latest"` (zipfian from the
    /// newest). Default "uniform" (the studies; YCSB's own default for A is zipfian).
    pub keys: KeyOrder,
    /// Also issue reads. They do not affect write figures but slow the simulation. Default true.
    pub reads: bool,
    /// `post-write-queue`: number of last written blocks whose records are read from memory. Default 256 (Aerospike's
    /// default).
    pub post_write_queue: u32,
    /// Deallocate a block when it holds no live records. Default false (Aerospike on raw devices).
    pub trim: bool,
    /// Placement handle of blocks written for clients. Default none: no placement directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<u16>,
    /// Placement handle of blocks written by defragmentation. Default none: the same as `handle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defrag_handle: Option<u16>,
}

impl Default for AerospikeConfig {
    fn default() -> Self {
        AerospikeConfig {
            write_block: Bytes(128 << 10),
            record: Bytes(1200),
            fill: 0.33,
            defrag_lwm: 0.5,
            ycsb: Ycsb::A,
            keys: KeyOrder::Uniform,
            reads: true,
            post_write_queue: 256,
            trim: false,
            handle: None,
            defrag_handle: None,
        }
    }
}

/// Blocks never filled with records: write buffers and copies that wait to be flushed.
const SPARE_BLOCKS: u64 = 16;

/// Sizes derived from the configuration and the namespace.
struct Sizes {
    blocks: u64,
    per_block: u64,
    records: u64,
}

impl AerospikeConfig {
    fn sizes(&self, space: &Space) -> Sizes {
        let blocks = space.first().bytes / self.write_block.0.max(1);
        let per_block = self.write_block.0 / self.record.0.max(1);
        let records = (self.fill * blocks as f64 * per_block as f64) as u64;
        Sizes { blocks, per_block, records }
    }

    fn check(&self, space: &Space) -> Result<Sizes, InvalidKey> {
        let AerospikeConfig { write_block, record, .. } = self;
        let block = write_block.0;
        InvalidKey::unless(
            block.is_power_of_two() && (4 << 10..=8 << 20).contains(&block),
            "write_block",
            || format!("{write_block} is not a power of two from 4KiB to 8MiB"),
        )?;
        InvalidKey::unless((64..=block).contains(&record.0), "record", || {
            format!("{record} is not between 64B and the write block {write_block}")
        })?;
        between("fill", self.fill, 0.001, 0.9)?;
        between("defrag_lwm", self.defrag_lwm, 0.01, 0.99)?;
        InvalidKey::unless(
            self.ycsb != Ycsb::C || self.reads,
            "ycsb",
            || "workload c only reads; set reads = true",
        )?;
        space.check_handles([
            ("handle", 0, self.handle),
            ("defrag_handle", 0, self.defrag_handle),
        ])?;
        let sizes = self.sizes(space);
        let Sizes { blocks, per_block, records } = sizes;
        let most = blocks.saturating_sub(SPARE_BLOCKS) * per_block;
        InvalidKey::unless((1..=most).contains(&records), "fill", || {
            format!(
                "{blocks} write blocks of {write_block} leave no room for {records} records and \
                 {SPARE_BLOCKS} spare blocks; lower fill or write_block, or enlarge the namespace"
            )
        })?;
        let slots = blocks * per_block;
        InvalidKey::unless(slots < u64::from(u32::MAX), "record", || {
            format!(
                "{slots} records would have room; at most 4294967294 can be simulated: enlarge record"
            )
        })?;
        Ok(sizes)
    }
}

impl Configuration for AerospikeConfig {
    const NAME: &'static str = "aerospike";
    const SUMMARY: &'static str = "Aerospike: write blocks, defragmentation, YCSB A to F";
    type Application = Aerospike;

    fn memory(&self, space: &Space) -> Result<u64, InvalidKey> {
        let sizes = self.check(space)?;
        Ok(sizes.blocks * (sizes.per_block * 4 + 24) + sizes.records * 4)
    }

    fn application(&self, space: &Space, seed: u64) -> Result<Aerospike, InvalidKey> {
        Aerospike::new(self, space, seed)
    }
}

/// A running instance.
pub(super) struct Aerospike {
    config: AerospikeConfig,
    blocks: Blocks,
    keys: Keys,
    mix: Rng,
    loaded: u64,
    handles: [Placement; 2],
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    /// Records that clients wrote.
    written: u64,
    reads: u64,
    cached: u64,
    /// Blocks flushed for clients and for defragmentation.
    flushed: [u64; 2],
}

impl Aerospike {
    fn new(config: &AerospikeConfig, space: &Space, seed: u64) -> Result<Self, InvalidKey> {
        let sizes = config.check(space)?;
        let lwm = (config.defrag_lwm * sizes.per_block as f64).ceil() as u32;
        let handle = placement(config.handle);
        let blocks = Blocks::new(sizes.blocks as u32, sizes.per_block as u32, sizes.records, lwm);
        Ok(Aerospike {
            blocks,
            keys: Keys::new(config.keys, sizes.records, rng(seed, 0)),
            mix: rng(seed, 1),
            loaded: 0,
            handles: [handle, config.defrag_handle.map_or(handle, Placement)],
            counts: Counts::default(),
            config: config.clone(),
        })
    }

    /// Writes a record, and flushes and defragments as needed.
    fn write(&mut self, record: u32, out: &mut Vec<Command>) {
        self.counts.written += 1;
        if self.blocks.append(record, Writer::Clients) {
            self.flush(Writer::Clients, out);
            while let Some(block) = self.blocks.next_defrag() {
                self.defragment(block, out);
            }
        }
    }

    fn flush(&mut self, writer: Writer, out: &mut Vec<Command>) {
        self.counts.flushed[writer as usize] += 1;
        let block = self.blocks.flush(writer);
        out.push(self.block_command(Op::Write, block, self.handles[writer as usize]));
        let (trim, bytes) = (self.config.trim, self.config.write_block.0);
        // A block freed since the last flush is rewritten at the next flush at the earliest.
        for block in self.blocks.freed().filter(|_| trim) {
            out.push(command(Op::Deallocate, 0, u64::from(block) * bytes, bytes, Placement::NONE));
        }
    }

    fn defragment(&mut self, block: u32, out: &mut Vec<Command>) {
        if self.config.reads {
            out.push(self.block_command(Op::Read, block, Placement::NONE));
        }
        let mut slot = 0;
        while let Some((next, record)) = self.blocks.live_from(block, slot) {
            slot = next + 1;
            if self.blocks.append(record, Writer::Defrag) {
                self.flush(Writer::Defrag, out);
            }
        }
        self.blocks.vacate(block);
    }

    fn block_command(&self, op: Op, block: u32, placement: Placement) -> Command {
        let bytes = self.config.write_block.0;
        command(op, 0, u64::from(block) * bytes, bytes, placement)
    }

    fn read(&mut self, record: u32, out: &mut Vec<Command>) {
        self.counts.reads += 1;
        let (block, slot) = self.blocks.place(record);
        if self.blocks.in_memory(block, self.config.post_write_queue) {
            self.counts.cached += 1;
        } else if self.config.reads {
            let record = self.config.record.0;
            let first = u64::from(block) * self.config.write_block.0 + u64::from(slot) * record;
            let from = first / LBA_BYTES * LBA_BYTES;
            let to = (first + record).next_multiple_of(LBA_BYTES);
            out.push(command(Op::Read, 0, from, to - from, Placement::NONE));
        }
    }
}

impl Application for Aerospike {
    fn load(&mut self, out: &mut Vec<Command>) -> bool {
        let before = out.len();
        while self.loaded < self.keys.records() && out.len() == before {
            self.write(self.loaded as u32, out);
            self.loaded += 1;
        }
        out.len() > before
    }

    fn step(&mut self, out: &mut Vec<Command>) {
        let (other, change) = self.config.ycsb.draw(&mut self.mix);
        if let Other::Read(count) = other {
            let first = self.keys.draw();
            for i in 0..count {
                let record = self.keys.after(first, i);
                self.read(record, out);
            }
        }
        let record = match change {
            Change::Nothing => return,
            Change::Update | Change::ReadUpdate => self.keys.draw(),
            Change::Insert => self.keys.insert(),
        };
        if change == Change::ReadUpdate {
            self.read(record, out);
        }
        self.write(record, out);
    }

    fn figures(&self) -> Vec<Figure> {
        let Counts { written, reads, cached, flushed } = self.counts;
        let stats = self.blocks.stats();
        vec![
            ratio(
                "application_waf",
                flushed.iter().sum::<u64>() * self.config.write_block.0,
                written * self.config.record.0,
                "bytes flushed over bytes of records that clients wrote",
            ),
            ratio(
                "fill_at_defrag",
                stats.moved,
                stats.slots_freed,
                "live share of blocks when they were freed, mean; write amplification is 1/(1 - this)",
            ),
            count("defragmented", stats.defragmented, "blocks", "blocks defragmented"),
            count(
                "below_need",
                stats.forced,
                "blocks",
                "blocks above defrag_lwm taken because none was free; Aerospike would stop writes",
            ),
            Figure::new("free_blocks", stats.free, "", "share of the blocks that are free"),
            ratio(
                "read_from_memory",
                cached,
                reads,
                "share of the reads served by blocks written last",
            ),
        ]
    }
}

#[cfg(test)]
mod tests;
