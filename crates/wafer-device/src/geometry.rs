//! Sizes that follow from a configuration, and whether a device of these sizes can work.

use crate::config::{DeviceConfig, Isolation, RelocationOrder};
use crate::error::ConfigError;
use crate::gc::separation::Separation;
use crate::relocation::Relocation;
use wafer_interface::Bytes;
use wafer_interface::LBA_BYTES;

/// Largest number of reclaim unit handles: a placement handle list holds 128
/// (NVMe Base 2.1, namespace management data structure).
pub const MAX_HANDLES: u16 = 128;
/// Largest number of reclaim groups.
pub const MAX_GROUPS: u16 = 256;
const MIN_RU: u64 = 1 << 20;
const MAX_RU: u64 = 64 << 30;
const MAX_CAPACITY: u64 = 64 << 40;
/// Segments per reclaim unit: see [`Geometry::segment_pages`].
const SEGMENTS_PER_RU: u32 = 64;

/// Sizes of a device, resolved and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Bytes of a page, the mapping unit.
    pub page_bytes: u64,
    /// Logical pages of the device.
    pub logical_pages: u64,
    /// Pages of one reclaim unit.
    pub pages_per_ru: u32,
    /// Physical reclaim units over all groups.
    pub ru_count: u32,
    /// Reclaim groups; group `g` holds the reclaim units of [`Geometry::group_range`].
    pub groups: u16,
    /// Reclaim unit handles in use: 1 without FDP.
    pub handles: u16,
    /// Isolation of each handle.
    pub isolation: Vec<Isolation>,
    /// Where relocated data goes.
    pub relocation: Relocation,
    /// Separation of data within handles.
    pub separation: Option<Separation>,
    /// Handles that may be split at a time; all where the rule splits all.
    pub split_handles: u16,
    /// Which pages of a victim go where when it fills a reclaim unit.
    pub relocation_order: RelocationOrder,
    /// Forced GC runs in a group while at most this share of its reclaim units is free.
    pub forced_share: f64,
    /// Background GC runs in a group while at most this share of its reclaim units is free.
    pub background_share: f64,
    /// Background GC takes a victim with at most this many valid pages.
    pub background_max_valid: u32,
    /// First page of each namespace and one past the last.
    pub namespaces: Vec<std::ops::Range<u64>>,
    /// Reclaim unit handles behind the placement handles of each namespace.
    pub namespace_handles: Vec<Vec<u16>>,
    /// Pages that are mapped by one label. Garbage collection re-labels whole segments; where
    /// one straddles the end of a reclaim unit, *which* of its pages go to either side is
    /// drawn uniformly. 1 reproduces page-by-page relocation in order of writing exactly; the
    /// default of 1/64 reclaim unit differs from it by less than the spread between seeds.
    pub segment_pages: u32,
}

impl Geometry {
    /// Returns the sizes of a configuration, with data placed as a device without rules of its own would,
    /// and the key that gives the number of reclaim units.
    pub(crate) fn sizes(config: &DeviceConfig) -> Result<(Geometry, &'static str), ConfigError> {
        let page_bytes = config.page.0;
        if ![4096, 8192, 16384, 32768, 65536].contains(&page_bytes) {
            return Err(ConfigError::new(
                "page",
                format!("{} is not 4, 8, 16, 32 or 64 KiB", config.page),
            ));
        }
        let ru_bytes = config.reclaim_unit.size.0;
        if !(MIN_RU..=MAX_RU).contains(&ru_bytes) {
            let message = format!("{} is not between 1MiB and 64GiB", config.reclaim_unit.size);
            return Err(ConfigError::new("reclaim_unit.size", message));
        }
        if !ru_bytes.is_multiple_of(page_bytes) {
            let message = format!(
                "{} is not a multiple of the page ({}); the nearest is {}",
                config.reclaim_unit.size,
                config.page,
                Bytes(ru_bytes / page_bytes * page_bytes)
            );
            return Err(ConfigError::new("reclaim_unit.size", message));
        }
        let logical_pages = config.capacity.0 / page_bytes;
        if logical_pages == 0 || config.capacity.0 > MAX_CAPACITY {
            let message = format!("{} is not between one page and 64TiB", config.capacity);
            return Err(ConfigError::new("capacity", message));
        }
        range("handles", u64::from(config.handles), 1, u64::from(MAX_HANDLES))?;
        range("groups", u64::from(config.groups), 1, u64::from(MAX_GROUPS))?;
        share("gc.background_free", config.gc.background_free)?;
        share("gc.background_max_valid", config.gc.background_max_valid)?;
        share("gc.forced_free", config.gc.forced_free)?;
        let handles = if config.fdp { config.handles } else { 1 };
        let (namespaces, namespace_handles) = namespaces(config, logical_pages)?;
        let pages_per_ru = (ru_bytes / page_bytes) as u32;
        let (key, ru_count) = ru_count(config, ru_bytes)?;
        let geometry = Geometry {
            page_bytes,
            logical_pages,
            pages_per_ru,
            ru_count,
            groups: if config.fdp { config.groups } else { 1 },
            handles,
            isolation: isolation(config)?[..usize::from(handles)].to_vec(),
            relocation: Relocation::ByIsolation,
            separation: None,
            split_handles: handles,
            relocation_order: config.gc.order,
            forced_share: config.gc.forced_free,
            background_share: config.gc.background_free,
            background_max_valid: (config.gc.background_max_valid * f64::from(pages_per_ru)) as u32,
            namespaces,
            namespace_handles,
            segment_pages: (pages_per_ru / SEGMENTS_PER_RU).max(1),
        };
        Ok((geometry, key))
    }

    /// Returns the reclaim units of a group; groups are as equal as the count allows.
    pub fn group_range(&self, group: u16) -> std::ops::Range<u32> {
        let at = |g: u16| (u64::from(self.ru_count) * u64::from(g) / u64::from(self.groups)) as u32;
        at(group)..at(group + 1)
    }

    /// Returns the most free reclaim units at which forced GC runs in a group of `rus` reclaim units. At
    /// least one: relocation needs a place to begin.
    pub fn forced_free(&self, rus: u32) -> u32 {
        ((self.forced_share * f64::from(rus)) as u32).max(1)
    }

    /// Returns the most free reclaim units at which background GC runs in a group of `rus` reclaim units.
    pub fn background_free(&self, rus: u32) -> u32 {
        (self.background_share * f64::from(rus)) as u32
    }

    /// Returns the pages of a segment that begins where `left` pages of its reclaim unit are left: all alike,
    /// then
    /// halving, so that a collection finds small change to fill a reclaim unit to the page.
    pub fn segment_size(&self, left: u32) -> u32 {
        self.segment_pages.min((left / 2).max(1))
    }

    /// Returns the bytes of memory that a device of this geometry needs at most: the map, the segment table
    /// at its bound, and the reclaim unit table.
    pub fn memory_bytes(&self) -> u64 {
        let births = if self.separation.is_some() { 16 } else { 0 };
        self.logical_pages * 4
            + self.segment_limit() as u64 * (21 + births)
            + u64::from(self.ru_count) * 128
    }

    /// Returns the number of live segments above which they are merged: at least one and a half times what
    /// remains after merging (twice with few handles), so that its cost, one pass over the map, is
    /// spread over about a device write.
    pub(crate) fn segment_limit(&self) -> usize {
        let per_ru = u64::from(self.pages_per_ru.div_ceil(self.segment_pages));
        // Towards the end of a reclaim unit segments halve: as many more as a page count has bits.
        let small = u64::from(self.segment_pages.ilog2() + 2);
        // Segments of different handles are not merged: one more of each handle may remain.
        let handles = u64::from(self.handles);
        let limit = (4 * (per_ru + small)).max(3 * (per_ru + small) + 2 * handles);
        (u64::from(self.ru_count) * limit + 64).min(u64::from(u32::MAX >> 1)) as usize
    }
}

pub(crate) fn range(key: &str, value: u64, min: u64, max: u64) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{value} is not between {min} and {max}")))
}

fn share(key: &str, value: f64) -> Result<(), ConfigError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::new(key, format!("{value} is not a share between 0 and 1")))
}

/// Returns the number of reclaim units and the key that decides it.
fn ru_count(config: &DeviceConfig, ru_bytes: u64) -> Result<(&'static str, u32), ConfigError> {
    let (key, count) = match (config.reclaim_unit.count, config.overprovisioning) {
        (Some(_), Some(_)) => {
            let message = "give this or overprovisioning, not both";
            return Err(ConfigError::new("reclaim_unit.count", message));
        }
        (None, None) => {
            let message = "missing: give this or reclaim_unit.count";
            return Err(ConfigError::new("overprovisioning", message));
        }
        (Some(count), None) => ("reclaim_unit.count", count),
        (None, Some(op)) => {
            if !(op > 0.0 && op <= 10.0) {
                let message = format!("{op} is not between 0 (exclusive) and 10");
                return Err(ConfigError::new("overprovisioning", message));
            }
            ("overprovisioning", (config.capacity.0 as f64 * (1.0 + op) / ru_bytes as f64) as u64)
        }
    };
    // Reclaim unit and segment numbers share their 32 bits with one flag.
    let max = u64::from(u32::MAX >> 2);
    if count == 0 || count > max {
        return Err(ConfigError::new(
            key,
            format!("{count} reclaim units; 1 to {max} are possible"),
        ));
    }
    Ok((key, count as u32))
}

pub(crate) fn isolation(config: &DeviceConfig) -> Result<Vec<Isolation>, ConfigError> {
    let mut all = vec![config.isolation; usize::from(config.handles)];
    for (handle, isolation) in &config.handle_isolation {
        let key = format!("handle_isolation.{handle}");
        let slot = handle.parse::<usize>().ok().and_then(|h| all.get_mut(h)).ok_or_else(|| {
            ConfigError::new(key, format!("the device has handles 0 to {}", config.handles - 1))
        })?;
        *slot = *isolation;
    }
    Ok(all)
}

type Namespaces = (Vec<std::ops::Range<u64>>, Vec<Vec<u16>>);

fn namespaces(config: &DeviceConfig, logical_pages: u64) -> Result<Namespaces, ConfigError> {
    if config.namespaces.is_empty() {
        let whole = std::iter::once(0..logical_pages).collect();
        return Ok((whole, vec![(0..config.handles).collect()]));
    }
    if config.namespaces.len() > 255 {
        return Err(ConfigError::new("namespaces", "more than 255 namespaces"));
    }
    let (mut ranges, mut lists, mut first) = (Vec::new(), Vec::new(), 0u64);
    for (i, namespace) in config.namespaces.iter().enumerate() {
        let pages = namespace.size.0 / config.page.0;
        if pages == 0 {
            let message = format!("{} is less than a page", namespace.size);
            return Err(ConfigError::new(format!("namespaces[{i}].size"), message));
        }
        let end = first.saturating_add(pages);
        if end > logical_pages {
            let message = format!(
                "namespaces up to this one need {}, the capacity is {}",
                Bytes(end.saturating_mul(config.page.0)),
                config.capacity
            );
            return Err(ConfigError::new(format!("namespaces[{i}].size"), message));
        }
        let key = format!("namespaces[{i}].handles");
        if namespace.handles.len() > usize::from(MAX_HANDLES) {
            return Err(ConfigError::new(key, "more than 128 placement handles"));
        }
        for (at, handle) in namespace.handles.iter().enumerate() {
            if *handle >= config.handles {
                let message =
                    format!("{handle}: the device has handles 0 to {}", config.handles - 1);
                return Err(ConfigError::new(key, message));
            }
            if namespace.handles[..at].contains(handle) {
                return Err(ConfigError::new(key, format!("handle {handle} is listed twice")));
            }
        }
        ranges.push(first..end);
        lists.push(if namespace.handles.is_empty() { vec![0] } else { namespace.handles.clone() });
        first = end;
    }
    Ok((ranges, lists))
}

impl Geometry {
    /// Returns the logical blocks (of [`LBA_BYTES`]) in a page.
    pub fn blocks_per_page(&self) -> u64 {
        self.page_bytes / LBA_BYTES
    }

    /// Returns the capacity of each namespace in bytes.
    pub fn namespace_bytes(&self) -> Vec<u64> {
        self.namespaces.iter().map(|n| (n.end - n.start) * self.page_bytes).collect()
    }

    /// Returns the logical capacity in bytes.
    pub fn logical_bytes(&self) -> u64 {
        self.logical_pages * self.page_bytes
    }
}
