//! Keys of the CacheLib model, and the sizes derived from them.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wafer_interface::Bytes;

use crate::model::checks::{between, exponent, within};
use crate::model::space::Space;
use wafer_interface::InvalidKey;

/// CacheLib on a whole namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CachelibConfig {
    /// Share of the flash for the small-object cache. Default 0.04 (CacheLib's studies: 4 %).
    pub soc: f64,
    /// Objects up to this size, including the key, are small. Default 640 B (CacheLib's `navySmallItemMaxSize`).
    pub small_max: Bytes,
    /// Bytes of a region of the large-object cache. Default 16 MiB (CacheLib).
    pub region: Bytes,
    /// Objects in DRAM, as a share of the flash's bytes. Default 0.045 (EuroSys 2025: 42 GB of DRAM, 930 GB of flash).
    pub dram: f64,
    /// Share of objects evicted from DRAM that flash admits, at random. Default 1.
    pub admission: f64,
    /// Requests from this file instead of the synthetic workload: a CSV of CacheLib's key-value traces with columns
    /// `key,op,size,op_count,key_size` or those of 2024, relative to the experiment file. Restarts at the end. Default
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// Bytes of all objects of the synthetic workload, in multiples of the flash. Default 2 (assumption).
    pub working_set: f64,
    /// Zipf exponent of key popularity. Default 0.9 (assumption: between the 0.55 and 0.99 that studies of Meta's
    /// caches give).
    pub popularity: f64,
    /// Share of requests that set; the others get, and a get that misses sets. Default 0.2 (EuroSys 2025: four gets per
    /// set in the key-value trace).
    pub sets: f64,
    /// Share of requests that delete. Default 0.
    pub deletes: f64,
    /// Share of keys whose objects are large. Default 0.04 (calibrated on WARP's SOC 40 % run).
    pub large_keys: f64,
    /// Mean size of a small object. Default 300 B (assumption).
    pub small_object: Bytes,
    /// Mean size of a large object; log-normal with a deviation of 1. Default 24 KiB (assumption).
    pub large_object: Bytes,
    /// Also issue reads. They do not affect write figures but slow the simulation. Default true.
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
pub(super) const BUCKET: u64 = 4096;
/// Sizes derived from the configuration and the namespace.
pub(super) struct Sizes {
    pub(super) buckets: u64,
    pub(super) regions: u64,
    pub(super) dram: u64,
    pub(super) keys: u64,
}

impl CachelibConfig {
    pub(super) fn sizes(&self, space: &Space) -> Sizes {
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

    pub(super) fn check(&self, space: &Space) -> Result<Sizes, InvalidKey> {
        between("soc", self.soc, 0.0, 0.99)?;
        between("dram", self.dram, 0.0, 1.0)?;
        between("admission", self.admission, 0.001, 1.0)?;
        between("working_set", self.working_set, 0.01, 1000.0)?;
        exponent("popularity", self.popularity, 0.01)?;
        between("sets", self.sets, 0.0, 1.0)?;
        between("deletes", self.deletes, 0.0, 0.9)?;
        between("large_keys", self.large_keys, 0.0, 1.0)?;
        InvalidKey::unless(
            self.sets + self.deletes <= 1.0,
            "deletes",
            || "sets and deletes together exceed 1",
        )?;
        within("small_max", self.small_max, 64, 2048)?;
        within("small_object", self.small_object, 32, self.small_max.0)?;
        within("region", self.region, 64 << 10, 256 << 20)?;
        within("large_object", self.large_object, self.small_max.0 + 1, self.region.0 / 8)?;
        let region = self.region;
        InvalidKey::unless(region.0.is_multiple_of(BUCKET), "region", || {
            format!("{region} is not a multiple of 4KiB")
        })?;
        space.check_handles([
            ("soc_handle", 0, self.soc_handle),
            ("loc_handle", 0, self.loc_handle),
        ])?;
        let sizes = self.sizes(space);
        InvalidKey::unless(sizes.regions >= 4, "region", || {
            format!("{region} leaves {} regions, 4 at least", sizes.regions)
        })?;
        InvalidKey::unless(
            sizes.buckets > 0 || self.soc <= 0.0,
            "soc",
            || "less than one bucket of 4KiB",
        )?;
        InvalidKey::unless(
            (100..=u64::from(u32::MAX) / 2).contains(&sizes.keys),
            "working_set",
            || format!("{} keys; 100 to {} can be simulated", sizes.keys, u32::MAX / 2),
        )?;
        Ok(sizes)
    }
}
