//! CacheLib: a DRAM cache in front of a flash cache with two engines, for small and large objects.
//!
//! What it follows (CacheLib documentation, "Navy engine"; Berg et al., OSDI 2020; the FDP port in Allison
//! et al., EuroSys 2025): objects enter the DRAM cache (least recently used leaves first) and go to flash
//! when they leave it, unless the same copy is there already. Objects of at most `small_max` bytes go
//! to the *small-object cache* (BigHash): a bucket of 4 KiB chosen by hash, read, changed and written
//! as a whole for every insert and delete, its oldest objects making room. Larger ones go to the
//! *large-object cache* (BlockCache): appended to a region in memory, which is written when it is full;
//! the oldest region makes room. With FDP each engine has a placement handle.
//!
//! Requests come from a law (keys by Zipf, sizes by key) or a trace. How many bytes either engine writes
//! follows from them: hits, misses and updates, not a share set by hand.
//!
//! Scaled down, keep regions well below the reclaim unit, as on a real drive.

mod dram;
mod engines;
mod traffic;

use std::path::PathBuf;

use dram::{Dram, Evicted};
use engines::{LargeObjects, SmallObjects};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Table;
use traffic::{Kind, Request, Traffic};
use wafer_interface::{Bytes, Command, CommandStream, Figure, Op, Placement};
use wafer_random::{Purpose, Rng};

use super::application::{Application, Steps, command, placement};
use super::interface::{Model, ModelError, ModelInfo, Space, between};

pub(super) const INFO: ModelInfo = ModelInfo {
    name: "cachelib",
    summary: "CacheLib: DRAM cache, small-object buckets and large-object regions on flash",
    make: super::interface::read::<CachelibConfig>,
    defaults: super::interface::defaults::<CachelibConfig>,
    schema: CachelibConfig::json_schema,
    paths: &["trace"],
};

/// CacheLib over a whole namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CachelibConfig {
    /// Share of the flash that the small-object cache has. Default 0.04 (CacheLib's studies: 4 %).
    pub soc: f64,
    /// Objects up to this size, with their key, are small. Default 640 B (CacheLib's
    /// `navySmallItemMaxSize`).
    pub small_max: Bytes,
    /// Bytes of a region of the large-object cache. Default 16 MiB (CacheLib).
    pub region: Bytes,
    /// Objects that DRAM holds, as a share of the flash's bytes. Default 0.045 (EuroSys 2025: 42 GB
    /// beside 930 GB).
    pub dram: f64,
    /// Share of the objects leaving DRAM that flash admits, at random. Default 1.
    pub admission: f64,
    /// Requests from this file instead of the law: a CSV of CacheLib's key-value traces with columns
    /// `key,op,size,op_count,key_size` or those of 2024, relative to the experiment file. After its end it
    /// begins again. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// Bytes of all objects that the law knows, in multiples of the flash. Default 2 (assumption).
    pub working_set: f64,
    /// Zipf exponent of the keys' popularity. Default 0.9 (assumption: between the 0.55 and 0.99 that
    /// studies of Meta's caches give).
    pub popularity: f64,
    /// Share of the requests that set; the others get, and a get that misses sets. Default 0.2
    /// (EuroSys 2025: four gets a set in the key-value trace).
    pub sets: f64,
    /// Share of the requests that delete. Default 0.
    pub deletes: f64,
    /// Share of the keys whose objects are large. Default 0.04 (calibrated on WARP's SOC 40 % run).
    pub large_keys: f64,
    /// Mean bytes of a small object. Default 300 B (assumption).
    pub small_object: Bytes,
    /// Mean bytes of a large object; log-normal with a deviation of 1. Default 24 KiB (assumption).
    pub large_object: Bytes,
    /// Send the reads too: they change no figure of writes and take time. Default true.
    pub reads: bool,
    /// Placement handle of the small-object cache. Default none: no placement directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soc_handle: Option<u16>,
    /// Placement handle of the large-object cache. Default none: no placement directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loc_handle: Option<u16>,
}

impl Default for CachelibConfig {
    fn default() -> Self {
        CachelibConfig {
            soc: 0.04,
            small_max: Bytes(640),
            region: Bytes(16 << 20),
            dram: 0.045,
            admission: 1.0,
            trace: None,
            working_set: 2.0,
            popularity: 0.9,
            sets: 0.2,
            deletes: 0.0,
            large_keys: 0.04,
            small_object: Bytes(300),
            large_object: Bytes(24 << 10),
            reads: true,
            soc_handle: None,
            loc_handle: None,
        }
    }
}

/// Bytes of a bucket (CacheLib's `bigHashBucketSize`).
const BUCKET: u64 = 4096;
/// Bytes of a write of a region (CacheLib splits at the device's largest write).
const WRITE: u64 = 1 << 20;

/// Sizes that follow from the configuration and the namespace.
struct Sizes {
    buckets: u64,
    regions: u64,
    dram: u64,
    keys: u64,
}

impl CachelibConfig {
    fn sizes(&self, space: &Space) -> Sizes {
        let flash = space.first().bytes;
        let buckets = (self.soc * flash as f64) as u64 / BUCKET;
        let mean = (1.0 - self.large_keys) * self.small_object.0 as f64
            + self.large_keys * self.large_object.0 as f64;
        Sizes {
            buckets,
            regions: flash.saturating_sub(buckets * BUCKET) / self.region.0.max(1),
            dram: (self.dram * flash as f64) as u64,
            keys: (self.working_set * flash as f64 / mean.max(1.0)) as u64,
        }
    }

    fn check(&self, space: &Space) -> Result<Sizes, ModelError> {
        between("soc", self.soc, 0.0, 0.99)?;
        between("dram", self.dram, 0.0, 1.0)?;
        between("admission", self.admission, 0.001, 1.0)?;
        between("working_set", self.working_set, 0.01, 1000.0)?;
        between("popularity", self.popularity, 0.01, 4.0)?;
        if self.popularity == 1.0 {
            return Err(ModelError::new("popularity", "must not be exactly 1; use 0.99 or 1.01"));
        }
        between("sets", self.sets, 0.0, 1.0)?;
        between("deletes", self.deletes, 0.0, 0.9)?;
        between("large_keys", self.large_keys, 0.0, 1.0)?;
        if self.sets + self.deletes > 1.0 {
            return Err(ModelError::new("deletes", "sets and deletes together exceed 1"));
        }
        let within = |key, value: Bytes, low: u64, high: u64| {
            if (low..=high).contains(&value.0) {
                return Ok(());
            }
            let message = format!("{value} is not between {} and {}", Bytes(low), Bytes(high));
            Err(ModelError::new(key, message))
        };
        within("small_max", self.small_max, 64, 2048)?;
        within("small_object", self.small_object, 32, self.small_max.0)?;
        within("region", self.region, 64 << 10, 256 << 20)?;
        within("large_object", self.large_object, self.small_max.0 + 1, self.region.0 / 8)?;
        if !self.region.0.is_multiple_of(BUCKET) {
            return Err(ModelError::new(
                "region",
                format!("{} is not a multiple of 4KiB", self.region),
            ));
        }
        for (key, handle) in [("soc_handle", self.soc_handle), ("loc_handle", self.loc_handle)] {
            if let Some(handle) = handle {
                space.check_handle(key, 0, handle)?;
            }
        }
        let sizes = self.sizes(space);
        if sizes.regions < 4 {
            let message = format!("{} leaves {} regions, 4 at least", self.region, sizes.regions);
            return Err(ModelError::new("region", message));
        }
        if sizes.buckets == 0 && self.soc > 0.0 {
            return Err(ModelError::new("soc", "less than one bucket of 4KiB"));
        }
        if sizes.keys < 100 || sizes.keys > u64::from(u32::MAX) / 2 {
            let message = format!("{} keys; 100 to {} can be simulated", sizes.keys, u32::MAX / 2);
            return Err(ModelError::new("working_set", message));
        }
        Ok(sizes)
    }
}

impl Model for CachelibConfig {
    fn memory_bytes(&self, space: &Space) -> u64 {
        let sizes = self.sizes(space);
        let keys = match &self.trace {
            // An operation of a trace takes about as much memory as text.
            Some(path) => std::fs::metadata(path).map_or(0, |m| m.len() / 2),
            None => sizes.keys,
        };
        let objects = sizes.dram / self.small_object.0.max(1);
        keys * 13 + sizes.buckets * SmallObjects::bucket_bytes(self.small_object.0) + objects * 16
    }

    fn start(&self, space: &Space, seed: u64) -> Result<Box<dyn CommandStream>, ModelError> {
        Ok(Box::new(Steps::new(Cachelib::new(self, space, seed)?)))
    }

    fn parameters(&self) -> Table {
        super::interface::table(self)
    }
}

struct Cachelib {
    config: CachelibConfig,
    traffic: Traffic,
    dram: Dram,
    small: SmallObjects,
    large: LargeObjects,
    admission: Rng,
    /// First byte of the small-object cache: it lies behind the large one.
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
    /// Bytes of objects that entered either engine.
    entered: u64,
}

impl Cachelib {
    fn new(config: &CachelibConfig, space: &Space, seed: u64) -> Result<Self, ModelError> {
        let sizes = config.check(space)?;
        let rng = |sub| Rng::new(seed, 0, Purpose::Application, sub);
        let traffic = match &config.trace {
            Some(path) => Traffic::trace(path).map_err(|m| ModelError::new("trace", m))?,
            None => Traffic::law(config, sizes.keys, rng(0)),
        };
        let keys = traffic.keys();
        Ok(Cachelib {
            dram: Dram::new(sizes.dram, keys),
            small: SmallObjects::new(sizes.buckets, BUCKET, config.small_object.0, keys),
            large: LargeObjects::new(sizes.regions, config.region.0, keys),
            traffic,
            admission: rng(1),
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

    /// A bucket is read, changed and written.
    fn rewrite(&mut self, key: u32, out: &mut Vec<Command>) {
        if self.config.reads {
            out.push(self.bucket_command(Op::Read, key));
        }
        out.push(self.bucket_command(Op::Write, key));
        self.counts.written[0] += BUCKET;
    }

    /// Takes an object out of flash.
    fn remove(&mut self, key: u32, out: &mut Vec<Command>) {
        if self.small.remove(key, |key| self.traffic.size(key)) {
            self.rewrite(key, out);
        }
        self.large.remove(key);
    }

    /// An object enters DRAM; what leaves it goes to flash. `clean`: flash has the same copy.
    fn enter(&mut self, key: u32, size: u32, clean: bool, out: &mut Vec<Command>) {
        let mut evicted = std::mem::take(&mut self.evicted);
        self.dram.insert(key, size, clean, &mut evicted);
        for Evicted { key, size, clean } in evicted.drain(..) {
            // Flash may have dropped its copy since.
            if !(clean && (self.small.holds(key) || self.large.find(key).is_some())) {
                self.admit(key, size, out);
            }
        }
        self.evicted = evicted;
    }

    fn admit(&mut self, key: u32, size: u32, out: &mut Vec<Command>) {
        if self.config.admission < 1.0 {
            let below = (self.config.admission * 4_294_967_296.0) as u64;
            if u64::from(self.admission.next32()) >= below {
                return;
            }
        }
        if self.is_small(size) {
            self.counts.entered += u64::from(size);
            self.small.insert(key, size, |key| self.traffic.size(key));
            self.rewrite(key, out);
        } else if let Some(region) = self.large.insert(key, u64::from(size)) {
            self.counts.entered += u64::from(size);
            let bytes = self.config.region.0;
            let mut done = 0;
            while done < bytes {
                let part = WRITE.min(bytes - done);
                out.push(command(Op::Write, 0, region * bytes + done, part, self.handles[1]));
                done += part;
            }
            self.counts.written[1] += bytes;
        } else {
            self.counts.entered += u64::from(size);
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
        } else if self.traffic.sets_on_miss() {
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
        let gets = c.gets.max(1) as f64;
        let written = (c.written[0] + c.written[1]) as f64;
        vec![
            Figure::new(
                "hit_ratio",
                (c.dram_hits + c.flash_hits) as f64 / gets,
                "",
                "share of the gets answered by DRAM or flash",
            ),
            Figure::new("dram_hit_ratio", c.dram_hits as f64 / gets, "", "by DRAM"),
            Figure::new(
                "flash_hit_ratio",
                c.flash_hits as f64 / (c.gets - c.dram_hits).max(1) as f64,
                "",
                "of the gets that DRAM cannot answer, the share answered by flash",
            ),
            Figure::new(
                "soc_share",
                c.written[0] as f64 / written.max(1.0),
                "",
                "small-object cache's share of the bytes written",
            ),
            Figure::new(
                "application_waf",
                written / c.entered.max(1) as f64,
                "",
                "bytes written over bytes of the objects that entered flash",
            ),
        ]
    }
}

#[cfg(test)]
mod tests;
