//! Sizes that follow from a configuration.

use std::ops::Range;

use wafer_interface::{Bytes, FirmwareConfig, LBA_BYTES, NsId, Placement, RuhId};

use crate::config::DeviceConfig;
use wafer_interface::InvalidKey;
use wafer_interface::{EnduranceConfig, Isolation};
use wafer_policies as policy;

/// Maximum number of reclaim unit handles: the length of a placement handle list (NVMe Base 2.1, namespace management
/// data structure).
pub(crate) const MAX_HANDLES: u16 = 128;
/// Maximum number of namespaces that [`NsId`](wafer_interface::NsId) can number.
pub(crate) const MAX_NAMESPACES: usize = 255;
const MAX_GROUPS: u16 = 256;
const MIN_RU: u64 = 1 << 20;
const MAX_RU: u64 = 64 << 30;
const MAX_CAPACITY: u64 = 64 << 40;
const MAX_PE_CYCLES: u32 = 1_000_000;
/// Maximum pages of a device whose map is not entirely in memory: page numbers have 32 bits.
const MOST_TRANSLATED: u64 = 1 << 32;
/// Segments per reclaim unit; see [`Geometry::segment_pages`].
const SEGMENTS_PER_RU: u32 = 64;

/// Sizes of a device, checked one by one. Whether a device of these sizes can work also depends on its layout; see
/// [`DeviceConfig::resolve`].
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
    /// Reclaim groups; group `g` has the reclaim units of [`Geometry::group_range`].
    pub groups: u16,
    /// Reclaim unit handles in use: without FDP, 1 plus one for each stream.
    pub handles: u16,
    /// Isolation of each handle.
    pub isolation: Vec<Isolation>,
    /// Forced GC runs in a group while at most this share of its reclaim units is free.
    pub forced_share: f64,
    /// Background GC runs in a group while at most this share of its reclaim units is free.
    pub background_share: f64,
    /// Background GC collects a victim only if it has at most this many valid pages.
    pub background_max_valid: u32,
    /// First page of each namespace and one past the last.
    pub namespaces: Vec<Range<u64>>,
    /// Reclaim unit handles of the placement handles of each namespace.
    pub namespace_handles: Vec<Vec<u16>>,
    /// Pages that share one label. Garbage collection moves whole segments; if one straddles the end of a reclaim unit,
    /// *which* of its pages go to either side is drawn uniformly. 1 reproduces page-by-page relocation in order of
    /// writing exactly; the default of 1/64 reclaim unit changes WAF by at most 1 % (without FDP and with 1,024 pages
    /// per reclaim unit, by 0.7 % on average, while seeds differ by 0.3 %).
    pub segment_pages: u32,
    /// Functions of the drive besides garbage collection.
    pub firmware: FirmwareConfig,
}

impl Geometry {
    /// Returns the handle of a write with a placement identifier: the namespace's first if the namespace does not
    /// define the identifier; `None` if there is no such namespace.
    pub fn handle(&self, namespace: NsId, placement: Placement) -> Option<RuhId> {
        let list = self.namespace_handles.get(namespace.index())?;
        let (group, handle) = placement.split(self.groups);
        let defined = list.get(usize::from(handle)).filter(|_| group < self.groups);
        defined.or(list.first()).map(|handle| RuhId(self.used(*handle)))
    }

    /// Returns the handle that is used for a listed one: without FDP and streams, there is only one.
    pub(crate) fn used(&self, handle: u16) -> u16 {
        handle.min(self.handles - 1)
    }

    /// Returns the sizes of a configuration.
    ///
    /// # Errors
    /// Names the key of a size that is out of range.
    pub fn resolve(config: &DeviceConfig) -> Result<Geometry, InvalidKey> {
        let (page, ru) = (config.page, config.reclaim_unit.size);
        let known = [4096, 8192, 16384, 32768, 65536].contains(&page.0);
        InvalidKey::unless(known, "page", || format!("{page} is not 4, 8, 16, 32 or 64 KiB"))?;
        InvalidKey::unless((MIN_RU..=MAX_RU).contains(&ru.0), "reclaim_unit.size", || {
            format!("{ru} is not between 1MiB and 64GiB{}", unit_hint(ru))
        })?;
        InvalidKey::unless(ru.0.is_multiple_of(page.0), "reclaim_unit.size", || {
            let nearest = Bytes((ru.0 + page.0 / 2) / page.0 * page.0);
            format!("{ru} is not a multiple of the page ({page}); the nearest is {nearest}")
        })?;
        let logical_pages = config.capacity.0 / page.0;
        InvalidKey::unless(
            logical_pages > 0 && config.capacity.0 <= MAX_CAPACITY,
            "capacity",
            || {
                let capacity = config.capacity;
                format!("{capacity} is not between one page and 64TiB{}", unit_hint(capacity))
            },
        )?;
        range("handles", config.handles, MAX_HANDLES)?;
        range("groups", config.groups, MAX_GROUPS)?;
        InvalidKey::unless(config.streams < MAX_HANDLES, "streams", || {
            format!("{} is not between 0 and {}", config.streams, MAX_HANDLES - 1)
        })?;
        share("gc.background_free", config.gc.background_free)?;
        share("gc.background_max_valid", config.gc.background_max_valid)?;
        share("gc.forced_free", config.gc.forced_free)?;
        if let Some(EnduranceConfig { pe_cycles }) = config.endurance {
            let key = "endurance.pe_cycles";
            let message = || format!("{pe_cycles} is not between 1 and {MAX_PE_CYCLES}");
            InvalidKey::unless((1..=MAX_PE_CYCLES).contains(&pe_cycles), key, message)?;
        }
        policy::check(&config.gc)?;
        let service = config.service.check();
        service.map_err(|(key, message)| InvalidKey::new(format!("service.{key}"), message))?;
        let (handles, groups) =
            if config.fdp { (config.handles, config.groups) } else { (1 + config.streams, 1) };
        let (namespaces, mut namespace_handles) = namespaces(config, logical_pages)?;
        if !config.fdp && config.streams > 0 {
            namespace_handles.fill((0..handles).collect());
        }
        let mut isolation = isolation(config)?;
        isolation.resize(usize::from(handles), config.isolation);
        let pages_per_ru = (ru.0 / page.0) as u32;
        let ru_count = ru_count(config)?;
        Ok(Geometry {
            page_bytes: page.0,
            logical_pages,
            pages_per_ru,
            ru_count,
            groups,
            handles,
            isolation,
            forced_share: config.gc.forced_free,
            background_share: config.gc.background_free,
            // Collecting a full one gains nothing, and would never end.
            background_max_valid: ((config.gc.background_max_valid * f64::from(pages_per_ru))
                as u32)
                .min(pages_per_ru - 1),
            namespaces,
            namespace_handles,
            segment_pages: (pages_per_ru / SEGMENTS_PER_RU).max(1),
            firmware: firmware(config)?,
        })
    }

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

    /// Returns the bytes of all reclaim units.
    pub fn flash_bytes(&self) -> u64 {
        self.page_bytes * u64::from(self.pages_per_ru) * u64::from(self.ru_count)
    }

    /// Returns the reclaim units of a group; groups differ by at most one reclaim unit.
    pub fn group_range(&self, group: u16) -> Range<u32> {
        let at = |g: u16| (u64::from(self.ru_count) * u64::from(g) / u64::from(self.groups)) as u32;
        at(group)..at(group + 1)
    }

    /// Returns the maximum free reclaim units at which forced GC runs in a group of `rus` reclaim units. It is at least
    /// one, because relocation needs a destination.
    pub fn forced_free(&self, rus: u32) -> u32 {
        ((self.forced_share * f64::from(rus)) as u32).max(1)
    }

    /// Returns the maximum free reclaim units at which background GC runs in a group of `rus` reclaim units.
    pub fn background_free(&self, rus: u32) -> u32 {
        (self.background_share * f64::from(rus)) as u32
    }

    /// Returns the pages of a segment that begins with `left` pages left in its reclaim unit. Segments halve towards
    /// the end of a reclaim unit, so that a collection can fill it exactly.
    pub fn segment_size(&self, left: u32) -> u32 {
        self.segment_pages.min((left / 2).max(1))
    }

    /// Returns the number of live segments above which they are merged. It is at least one and a half times the number
    /// that remains after merging (twice with few handles), so that the cost of merging, one pass over the map, is
    /// spread over about a device write.
    pub(crate) fn segment_limit(&self) -> usize {
        let per_ru = u64::from(self.pages_per_ru.div_ceil(self.segment_pages));
        // Segments halve towards the end of a reclaim unit, which adds as many as a page count has bits.
        let small = u64::from(self.segment_pages.ilog2() + 2);
        // Segments of different handles are not merged, so one more of each handle may remain.
        let handles = u64::from(self.handles);
        let limit = (4 * (per_ru + small)).max(3 * (per_ru + small) + 2 * handles);
        (u64::from(self.ru_count) * limit + 64).min(u64::from(u32::MAX >> 1)) as usize
    }
}

fn firmware(config: &DeviceConfig) -> Result<FirmwareConfig, InvalidKey> {
    let firmware = &config.firmware;
    let named = |key: &str| format!("firmware.{key}");
    firmware.check(config.capacity).map_err(|(key, text)| InvalidKey::new(named(key), text))?;
    for (key, size) in [
        ("write_buffer", firmware.write_buffer),
        ("slc_cache", firmware.slc_cache),
        ("mapping_cache", firmware.mapping_cache),
    ] {
        InvalidKey::unless(size.0 == 0 || size >= config.page, &named(key), || {
            format!("{size} is less than a page ({})", config.page)
        })?;
    }
    let (cache, pages) = (firmware.mapping_cache, config.capacity.0 / config.page.0);
    let map = Bytes(pages.div_ceil(firmware.entries(config.page.0)) * config.page.0);
    InvalidKey::unless(cache <= map, "firmware.mapping_cache", || {
        format!("{cache} is more than the map takes, {map}")
    })?;
    InvalidKey::unless(cache.0 == 0 || pages <= MOST_TRANSLATED, "firmware.mapping_cache", || {
        format!("needs at most {MOST_TRANSLATED} pages; the capacity has {pages}")
    })?;
    let retires = firmware.retire_after > 0 && config.fdp && config.groups > 1;
    InvalidKey::unless(!retires, "firmware.retire_after", || {
        format!("needs one reclaim group; the device has {}", config.groups)
    })?;
    Ok(firmware.clone())
}

/// Returns a hint for a size of a few bytes, whose likely cause is a missing unit.
fn unit_hint(size: Bytes) -> &'static str {
    if size.0 < 65536 { "; a number without a unit counts bytes" } else { "" }
}

pub(crate) fn range(key: &str, value: u16, max: u16) -> Result<(), InvalidKey> {
    InvalidKey::unless((1..=max).contains(&value), key, || {
        format!("{value} is not between 1 and {max}")
    })
}

fn share(key: &str, value: f64) -> Result<(), InvalidKey> {
    let holds = (0.0..=1.0).contains(&value);
    InvalidKey::unless(holds, key, || format!("{value} is not a share between 0 and 1"))
}

/// Returns the key that determines the number of reclaim units.
pub(crate) fn ru_count_key(config: &DeviceConfig) -> &'static str {
    match config.reclaim_unit.count {
        Some(_) => "reclaim_unit.count",
        None => "overprovisioning",
    }
}

/// Maximum over-provisioning.
pub(crate) const MOST_OVERPROVISIONING: f64 = 10.0;

/// Returns the number of reclaim units with this over-provisioning.
pub(crate) fn units_of(config: &DeviceConfig, op: f64) -> u64 {
    (config.capacity.0 as f64 * (1.0 + op) / config.reclaim_unit.size.0 as f64) as u64
}

/// Returns the over-provisioning of a number of reclaim units.
pub(crate) fn overprovisioning_of(config: &DeviceConfig, count: u64) -> f64 {
    count as f64 * config.reclaim_unit.size.0 as f64 / config.capacity.0 as f64 - 1.0
}

fn ru_count(config: &DeviceConfig) -> Result<u32, InvalidKey> {
    let key = ru_count_key(config);
    let refused = |message: &str| Err(InvalidKey::new(key, message));
    let count = match (config.reclaim_unit.count, config.overprovisioning) {
        (Some(_), Some(_)) => return refused("give this or overprovisioning, not both"),
        (None, None) => return refused("missing: give this or reclaim_unit.count"),
        (Some(count), None) => count,
        (None, Some(op)) => {
            InvalidKey::unless(op > 0.0 && op <= MOST_OVERPROVISIONING, key, || {
                format!("{op} is not between 0 (exclusive) and {MOST_OVERPROVISIONING}")
            })?;
            units_of(config, op)
        }
    };
    // Numbers of reclaim units and segments share their 32 bits with a flag.
    let max = u64::from(u32::MAX >> 2);
    InvalidKey::unless((1..=max).contains(&count), key, || {
        format!("{count} reclaim units; 1 to {max} are possible")
    })?;
    Ok(count as u32)
}

/// Returns the isolation of every handle of the configuration, in use or not.
pub(crate) fn isolation(config: &DeviceConfig) -> Result<Vec<Isolation>, InvalidKey> {
    let mut all = vec![config.isolation; usize::from(config.handles)];
    for (handle, isolation) in &config.handle_isolation {
        let slot = handle.parse::<usize>().ok().and_then(|h| all.get_mut(h));
        *slot.ok_or_else(|| {
            let message = format!("the device has handles 0 to {}", config.handles - 1);
            InvalidKey::new(format!("handle_isolation.{handle}"), message)
        })? = *isolation;
    }
    Ok(all)
}

type Namespaces = (Vec<Range<u64>>, Vec<Vec<u16>>);

fn namespaces(config: &DeviceConfig, logical_pages: u64) -> Result<Namespaces, InvalidKey> {
    if config.namespaces.is_empty() {
        let whole = std::iter::once(0..logical_pages).collect();
        return Ok((whole, vec![(0..config.handles).collect()]));
    }
    let few = config.namespaces.len() <= MAX_NAMESPACES;
    InvalidKey::unless(few, "namespaces", || format!("more than {MAX_NAMESPACES} namespaces"))?;
    let (mut ranges, mut lists, mut first) = (Vec::new(), Vec::new(), 0u64);
    for (i, namespace) in config.namespaces.iter().enumerate() {
        let key = format!("namespaces[{i}].size");
        let pages = namespace.size.0 / config.page.0;
        InvalidKey::unless(pages > 0, &key, || format!("{} is less than a page", namespace.size))?;
        let end = first.saturating_add(pages);
        InvalidKey::unless(end <= logical_pages, &key, || {
            let needed = Bytes(end.saturating_mul(config.page.0));
            let capacity = config.capacity;
            format!("namespaces up to this one need {needed}, the capacity is {capacity}")
        })?;
        let (key, list) = (format!("namespaces[{i}].handles"), &namespace.handles);
        InvalidKey::unless(list.len() <= usize::from(MAX_HANDLES), &key, || {
            format!("more than {MAX_HANDLES} placement handles")
        })?;
        for (at, handle) in list.iter().enumerate() {
            InvalidKey::unless(*handle < config.handles, &key, || {
                format!("{handle}: the device has handles 0 to {}", config.handles - 1)
            })?;
            let first = !list[..at].contains(handle);
            InvalidKey::unless(first, &key, || format!("handle {handle} is listed twice"))?;
        }
        ranges.push(first..end);
        lists.push(if list.is_empty() { vec![0] } else { list.clone() });
        first = end;
    }
    Ok((ranges, lists))
}
