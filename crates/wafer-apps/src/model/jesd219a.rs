//! JESD219A, the enterprise endurance workload: a fixed mix of sizes over three zones.
//!
//! JEDEC JESD219A.01, section 5 (enterprise), as restated in the talk "FDP for applications that are not FDP-aware":
//! sizes in percent of the commands; 50 % of the commands go to the first 5 % of the addresses, 30 % to the next 15 %,
//! 20 % to the rest; 40 % are reads. The standard requires a completely written drive: precondition it.
//!
//! Model assumptions: sizes and zones are independent; within a zone, addresses are uniform and independent; a
//! command below 4 KiB starts at any logical block of 512 B, a larger one at a multiple of 4 KiB (`align`). If all
//! sizes started at any block, every command would touch one more page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_interface::{Bytes, Command, Figure, LBA_BYTES, Op};
use wafer_random::Rng;

use super::application::{Application, command, placement, ratio, rng, threshold};
use super::checks::between;
use super::configuration::Configuration;
use super::space::Space;
use wafer_interface::InvalidKey;

/// JESD219A, the endurance workload of enterprise drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Jesd219aConfig {
    /// `"512B"`: the standard's sizes from 512 B. `"4KiB"`: sizes below 4 KiB become 4 KiB. Default "512B"
    /// (JESD219A.01).
    pub smallest: Bytes,
    /// Share of commands that read. Default 0.4 (JESD219A.01).
    pub reads: f64,
    /// Alignment of commands of 4 KiB and more. Default 4 KiB (assumption: as file systems do; the standard leaves it
    /// open).
    pub align: Bytes,
    /// Placement handle of the writes. Default none: no placement directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<u16>,
}

impl Default for Jesd219aConfig {
    fn default() -> Self {
        Jesd219aConfig { smallest: Bytes(512), reads: 0.4, align: Bytes(4096), handle: None }
    }
}

/// Sizes in bytes and their percentage of the commands, JESD219A.01.
const SIZES: [(u64, u64); 12] = [
    (512, 4),
    (1024, 1),
    (1536, 1),
    (2048, 1),
    (2560, 1),
    (3072, 1),
    (3584, 1),
    (4096, 67),
    (8192, 10),
    (16384, 7),
    (32768, 3),
    (65536, 3),
];

/// Percentage of the commands, and the end of the zone in percent of the addresses.
const ZONES: [(u64, u64); 3] = [(50, 5), (30, 20), (20, 100)];

impl Configuration for Jesd219aConfig {
    const NAME: &'static str = "jesd219a";
    /// An assumption: an endurance test keeps the drive busy.
    const QUEUE_DEPTH: u32 = 256;
    const SUMMARY: &'static str =
        "JESD219A enterprise endurance workload: mixed sizes, three zones, 40 % reads";
    type Application = Jesd219a;

    fn memory(&self, _space: &Space) -> Result<u64, InvalidKey> {
        Ok(0)
    }

    fn application(&self, space: &Space, seed: u64) -> Result<Jesd219a, InvalidKey> {
        Jesd219a::new(self, space, seed)
    }
}

pub(super) struct Jesd219a {
    config: Jesd219aConfig,
    /// Size of a command by percentile.
    sizes: [u64; 100],
    /// Zone of a command by percentile.
    zones: [u8; 100],
    /// First byte of each zone, and the end of the last one.
    borders: [u64; 4],
    /// Commands whose draw, out of 2^32, is below this read.
    reads: u64,
    mix: Rng,
    shape: Rng,
    address: Rng,
    /// Number of commands that read, and of those that write.
    counts: [u64; 2],
    written: u64,
}

impl Jesd219a {
    fn new(config: &Jesd219aConfig, space: &Space, seed: u64) -> Result<Self, InvalidKey> {
        let Jesd219aConfig { smallest, align, .. } = config;
        InvalidKey::unless([512, 4096].contains(&smallest.0), "smallest", || {
            format!("{smallest} is neither 512B nor 4KiB")
        })?;
        between("reads", config.reads, 0.0, 0.99)?;
        let aligned = align.0.is_multiple_of(LBA_BYTES) && (LBA_BYTES..=65536).contains(&align.0);
        InvalidKey::unless(aligned, "align", || {
            format!("{align} is not a multiple of 512B up to 64KiB")
        })?;
        space.check_handles([("handle", 0, config.handle)])?;
        let bytes = space.first().bytes;
        let ends = ZONES.map(|(_, end)| bytes / 100 * end / 65536 * 65536);
        InvalidKey::unless(ends[0] >= 1 << 20, "model", || {
            format!("a namespace of {} is too small: 20MiB at least", Bytes(bytes))
        })?;
        let mut sizes = SIZES.iter().flat_map(|&(size, n)| (0..n).map(move |_| size));
        let mut zones =
            ZONES.iter().zip(0u8..).flat_map(|(&(share, _), zone)| (0..share).map(move |_| zone));
        Ok(Jesd219a {
            sizes: std::array::from_fn(|_| {
                sizes.next().expect("sizes of 100 %").max(config.smallest.0)
            }),
            zones: std::array::from_fn(|_| zones.next().expect("zones of 100 %")),
            borders: [0, ends[0], ends[1], bytes],
            reads: threshold(config.reads),
            mix: rng(seed, 0),
            shape: rng(seed, 1),
            address: rng(seed, 2),
            counts: [0; 2],
            written: 0,
            config: config.clone(),
        })
    }
}

impl Application for Jesd219a {
    #[inline]
    fn step(&mut self, out: &mut Vec<Command>) {
        let read = u64::from(self.mix.next32()) < self.reads;
        let shape = self.shape.next64();
        let size = self.sizes[(((shape & 0xffff_ffff) * 100) >> 32) as usize];
        let zone = usize::from(self.zones[(((shape >> 32) * 100) >> 32) as usize]);
        let (first, end) = (self.borders[zone], self.borders[zone + 1]);
        let align = if size < 4096 { LBA_BYTES } else { self.config.align.0 };
        // Number of starts at which the command still fits.
        let starts = (end - first - size) / align + 1;
        let at = first + self.address.below(starts) * align;
        let op = if read { Op::Read } else { Op::Write };
        self.counts[usize::from(!read)] += 1;
        self.written += if read { 0 } else { size };
        out.push(command(op, 0, at, size, placement(self.config.handle)));
    }

    fn figures(&self) -> Vec<Figure> {
        let [reads, writes] = self.counts;
        vec![
            ratio("reads", reads, reads + writes, "share of the commands that read"),
            Figure::new(
                "write_size",
                self.written as f64 / writes.max(1) as f64,
                "B",
                "mean bytes of a write",
            ),
        ]
    }
}

#[cfg(test)]
mod tests;
