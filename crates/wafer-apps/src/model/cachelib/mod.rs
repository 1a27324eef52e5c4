//! CacheLib: a DRAM cache in front of a flash cache with two engines, for small and large objects.
//!
//! The model follows the CacheLib documentation ("Navy engine"), Berg et al. (OSDI 2020) and the FDP port
//! in Allison et al. (EuroSys 2025). Objects enter the DRAM cache, which evicts the least recently used
//! first, and go to flash when they leave it, unless flash already holds the same copy. Objects of at most
//! `small_max` bytes go to the *small-object cache* (BigHash): every insert or delete reads, changes and
//! writes a whole bucket of 4 KiB, chosen by hash, whose oldest objects make room. Larger ones go to the
//! *large-object cache* (BlockCache): they are appended to a region in memory, which is written when it is
//! full; the oldest region makes room. With FDP, each engine has a placement handle.
//!
//! Requests are synthetic (Zipf-distributed keys, sizes by key) or come from a trace. The bytes that
//! each engine writes follow from hits, misses and updates, not from a configured share.
//!
//! When scaling down, keep regions well below the reclaim unit, as on a real drive.

mod config;
mod dram;
mod engines;
mod traffic;

use config::BUCKET;
pub use config::CachelibConfig;
use dram::{Dram, Evicted};
use engines::{LargeObjects, SmallObjects};
use traffic::{Kind, Request, Traffic};
use wafer_interface::{Command, Figure, Op, Placement};
use wafer_random::Rng;

use super::application::{Application, chance, command, placement, ratio, rng, write_in_parts};
use super::configuration::Configuration;
use super::space::Space;
use wafer_interface::InvalidKey;

/// Bytes per write of a region (CacheLib splits regions at the device's maximum write size).
const WRITE: u64 = 1 << 20;

impl Configuration for CachelibConfig {
    const NAME: &'static str = "cachelib";
    const SUMMARY: &'static str =
        "CacheLib: DRAM cache, small-object buckets and large-object regions on flash";
    const PATHS: &'static [&'static str] = &["trace"];
    type Application = Cachelib;

    fn memory(&self, space: &Space) -> Result<u64, InvalidKey> {
        let sizes = self.check(space)?;
        let keys = match &self.trace {
            // An operation of a trace takes about half as much memory as its text.
            Some(path) => std::fs::metadata(path).map_or(0, |m| m.len() / 2),
            None => sizes.keys,
        };
        let objects = sizes.dram / self.small_object.0.max(1);
        let buckets = sizes.buckets * SmallObjects::bucket_bytes(self.small_object.0);
        Ok(keys * 13 + buckets + objects * 16)
    }

    fn application(&self, space: &Space, seed: u64) -> Result<Cachelib, InvalidKey> {
        Cachelib::new(self, space, seed)
    }
}

pub(super) struct Cachelib {
    config: CachelibConfig,
    traffic: Traffic,
    dram: Dram,
    small: SmallObjects,
    large: LargeObjects,
    admission: Rng,
    /// First byte of the small-object cache, which follows the large-object cache.
    soc_at: u64,
    handles: [Placement; 2],
    counts: Counts,
    evicted: Vec<Evicted>,
}

#[derive(Default)]
struct Counts {
    gets: u64,
    dram_hits: u64,
    flash_hits: u64,
    /// Bytes written by the small and the large engine.
    written: [u64; 2],
    /// Bytes of objects that entered an engine.
    entered: u64,
}

impl Cachelib {
    fn new(config: &CachelibConfig, space: &Space, seed: u64) -> Result<Self, InvalidKey> {
        let sizes = config.check(space)?;
        let traffic = match &config.trace {
            Some(path) => Traffic::trace(path).map_err(|m| InvalidKey::new("trace", m))?,
            None => Traffic::law(config, sizes.keys, rng(seed, 0)),
        };
        let keys = traffic.keys();
        Ok(Cachelib {
            dram: Dram::new(sizes.dram, keys),
            small: SmallObjects::new(sizes.buckets, BUCKET, config.small_object.0, keys),
            large: LargeObjects::new(sizes.regions, config.region.0, keys),
            traffic,
            admission: rng(seed, 1),
            soc_at: sizes.regions * config.region.0,
            handles: [placement(config.soc_handle), placement(config.loc_handle)],
            counts: Counts::default(),
            evicted: Vec::new(),
            config: config.clone(),
        })
    }

    fn is_small(&self, size: u32) -> bool {
        u64::from(size) <= self.config.small_max.0 && self.small.exists()
    }

    fn bucket_command(&self, op: Op, key: u32) -> Command {
        let at = self.soc_at + self.small.bucket(key) * BUCKET;
        command(op, 0, at, BUCKET, self.handles[0])
    }

    /// Reads a bucket and writes it back changed.
    fn rewrite(&mut self, key: u32, out: &mut Vec<Command>) {
        if self.config.reads {
            out.push(self.bucket_command(Op::Read, key));
        }
        out.push(self.bucket_command(Op::Write, key));
        self.counts.written[0] += BUCKET;
    }

    /// Removes an object from flash.
    fn remove(&mut self, key: u32, out: &mut Vec<Command>) {
        if self.small.remove(key, |key| self.traffic.size(key)) {
            self.rewrite(key, out);
        }
        self.large.remove(key);
    }

    /// Inserts an object into DRAM and writes the evicted ones to flash. `clean`: flash has the same copy.
    fn enter(&mut self, key: u32, size: u32, clean: bool, out: &mut Vec<Command>) {
        let mut evicted = std::mem::take(&mut self.evicted);
        self.dram.insert(key, size, clean, &mut evicted);
        for Evicted { key, size, clean } in evicted.drain(..) {
            // Flash may since have dropped its copy.
            if !(clean && (self.small.holds(key) || self.large.find(key).is_some())) {
                self.admit(key, size, out);
            }
        }
        self.evicted = evicted;
    }

    fn admit(&mut self, key: u32, size: u32, out: &mut Vec<Command>) {
        let admission = self.config.admission;
        if admission < 1.0 && !chance(&mut self.admission, admission) {
            return;
        }
        self.counts.entered += u64::from(size);
        if self.is_small(size) {
            self.small.insert(key, size, |key| self.traffic.size(key));
            self.rewrite(key, out);
        } else if let Some(region) = self.large.insert(key, u64::from(size)) {
            let bytes = self.config.region.0;
            write_in_parts(region * bytes, bytes, WRITE, self.handles[1], out);
            self.counts.written[1] += bytes;
        }
    }

    fn get(&mut self, key: u32, size: u32, out: &mut Vec<Command>) {
        self.counts.gets += 1;
        if self.dram.touch(key) {
            self.counts.dram_hits += 1;
            return;
        }
        let small = self.small.holds(key);
        if small && self.config.reads {
            out.push(self.bucket_command(Op::Read, key));
        }
        let large = self.large.find(key);
        if let Some((at, true)) = large
            && self.config.reads
        {
            let bytes = u64::from(size).next_multiple_of(BUCKET);
            let at = at / BUCKET * BUCKET;
            out.push(command(Op::Read, 0, at, bytes.min(self.soc_at - at), self.handles[1]));
        }
        if small || large.is_some() {
            self.counts.flash_hits += 1;
            self.enter(key, size, true, out);
        } else {
            // The client sets objects it misses. A trace contains its own sets, but not those made before
            // it began, while the cache was warmed; so a miss sets there as well, as in CacheBench.
            self.enter(key, size, false, out);
        }
    }
}

impl Application for Cachelib {
    fn step(&mut self, out: &mut Vec<Command>) {
        let Request { key, size, kind } = self.traffic.next();
        match kind {
            Kind::Get => self.get(key, size, out),
            Kind::Set => {
                self.remove(key, out);
                self.enter(key, size, false, out);
            }
            Kind::Delete => {
                self.remove(key, out);
                self.dram.remove(key);
            }
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let c = &self.counts;
        let hits = c.dram_hits + c.flash_hits;
        let written = c.written[0] + c.written[1];
        vec![
            ratio("hit_ratio", hits, c.gets, "share of the gets answered by DRAM or flash"),
            ratio("dram_hit_ratio", c.dram_hits, c.gets, "by DRAM"),
            ratio(
                "flash_hit_ratio",
                c.flash_hits,
                c.gets - c.dram_hits,
                "of the gets that DRAM cannot answer, the share answered by flash",
            ),
            ratio(
                "soc_share",
                c.written[0],
                written,
                "small-object cache's share of the bytes written",
            ),
            ratio(
                "application_waf",
                written,
                c.entered,
                "bytes written over bytes of the objects that entered flash",
            ),
        ]
    }
}

#[cfg(test)]
mod tests;
