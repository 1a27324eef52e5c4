//! The two flash engines: the objects they hold, and what they write.

use wafer_random::split_mix;

/// One bit per key.
struct Bits(Vec<u64>);

impl Bits {
    fn new(count: u32) -> Self {
        Bits(vec![0; count.div_ceil(64) as usize])
    }

    fn get(&self, i: u32) -> bool {
        self.0[i as usize / 64] >> (i % 64) & 1 != 0
    }

    fn set(&mut self, i: u32, value: bool) {
        let word = &mut self.0[i as usize / 64];
        *word = (*word & !(1 << (i % 64))) | u64::from(value) << (i % 64);
    }
}

/// BigHash: buckets chosen by hash, each a queue of objects.
pub(super) struct SmallObjects {
    buckets: u64,
    bucket_bytes: u64,
    /// Maximum number of objects per bucket.
    room: usize,
    /// Objects of each bucket, oldest first.
    keys: Vec<u32>,
    /// Number of objects and bytes in each bucket.
    filled: Vec<(u16, u16)>,
    there: Bits,
}

/// Headers of a bucket and of an object in it (CacheLib's BigHash `BucketStorage`: checksum,
/// generation, sizes).
const BUCKET_HEADER: u64 = 24;
const OBJECT_HEADER: u64 = 20;

impl SmallObjects {
    /// Returns a bucket's capacity in objects: twice as many as would fit at the mean size.
    fn room_of(bucket: u64, mean: u64) -> usize {
        ((bucket - BUCKET_HEADER) * 2 / (mean + OBJECT_HEADER).max(1)).clamp(2, 255) as usize
    }

    /// Returns the memory that a bucket takes, in bytes.
    pub(super) fn bucket_bytes(mean: u64) -> u64 {
        SmallObjects::room_of(4096, mean) as u64 * 4 + 4
    }

    pub(super) fn new(buckets: u64, bucket_bytes: u64, mean: u64, keys: u32) -> Self {
        let room = SmallObjects::room_of(bucket_bytes, mean);
        SmallObjects {
            buckets,
            bucket_bytes,
            room,
            keys: vec![0; buckets as usize * room],
            filled: vec![(0, 0); buckets as usize],
            there: Bits::new(keys),
        }
    }

    pub(super) fn exists(&self) -> bool {
        self.buckets > 0
    }

    pub(super) fn bucket(&self, key: u32) -> u64 {
        ((u128::from(split_mix(key.into())) * u128::from(self.buckets)) >> 64) as u64
    }

    pub(super) fn holds(&self, key: u32) -> bool {
        self.there.get(key)
    }

    /// Inserts an object into its bucket, replacing an older copy and evicting the oldest objects.
    pub(super) fn insert(&mut self, key: u32, size: u32, size_of: impl Fn(u32) -> u32) {
        if self.holds(key) {
            self.take(key, &size_of);
        }
        let bucket = self.bucket(key) as usize;
        let need = u64::from(size) + OBJECT_HEADER;
        let (mut count, mut bytes) = self.filled[bucket];
        let objects = &mut self.keys[bucket * self.room..(bucket + 1) * self.room];
        let mut gone = 0;
        while gone < usize::from(count)
            && (usize::from(count) - gone >= self.room
                || u64::from(bytes) + need > self.bucket_bytes - BUCKET_HEADER)
        {
            let old = objects[gone];
            bytes -= (u64::from(size_of(old)) + OBJECT_HEADER) as u16;
            self.there.set(old, false);
            gone += 1;
        }
        objects.copy_within(gone..usize::from(count), 0);
        count -= gone as u16;
        objects[usize::from(count)] = key;
        self.filled[bucket] = (count + 1, bytes + need as u16);
        self.there.set(key, true);
    }

    /// Removes an object from its bucket.
    fn take(&mut self, key: u32, size_of: &impl Fn(u32) -> u32) {
        let bucket = self.bucket(key) as usize;
        let (count, bytes) = self.filled[bucket];
        let objects = &mut self.keys[bucket * self.room..bucket * self.room + usize::from(count)];
        let Some(at) = objects.iter().position(|other| *other == key) else { return };
        objects.copy_within(at + 1.., at);
        let freed = u64::from(size_of(key)) + OBJECT_HEADER;
        self.filled[bucket] = (count - 1, bytes - freed as u16);
        self.there.set(key, false);
    }

    /// Removes an object; returns whether it was there, in which case its bucket must be written.
    pub(super) fn remove(&mut self, key: u32, size_of: impl Fn(u32) -> u32) -> bool {
        let there = self.holds(key);
        if there {
            self.take(key, &size_of);
        }
        there
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self, size_of: impl Fn(u32) -> u32) {
        let mut count = 0;
        for bucket in 0..self.buckets as usize {
            let (objects, bytes) = self.filled[bucket];
            let keys = &self.keys[bucket * self.room..bucket * self.room + usize::from(objects)];
            let sum: u64 = keys.iter().map(|k| u64::from(size_of(*k)) + OBJECT_HEADER).sum();
            assert_eq!(sum, u64::from(bytes));
            assert!(sum <= self.bucket_bytes - BUCKET_HEADER);
            for key in keys {
                assert!(self.holds(*key) && self.bucket(*key) == bucket as u64);
            }
            count += keys.len() as u32;
        }
        assert_eq!(count, self.there.0.iter().map(|w| w.count_ones()).sum::<u32>());
    }
}

/// BlockCache: a log of regions that overwrites the oldest region first.
pub(super) struct LargeObjects {
    regions: u64,
    region: u64,
    /// Position of each key's object in the log, in bytes; [`NOWHERE`] for none. Positions only
    /// grow: an object more than all regions back has been overwritten.
    place: Vec<u64>,
    /// Bytes appended so far.
    head: u64,
}

const NOWHERE: u64 = u64::MAX;
/// Alignment of objects (CacheLib's allocation alignment).
const ALIGN: u64 = 512;

impl LargeObjects {
    pub(super) fn new(regions: u64, region: u64, keys: u32) -> Self {
        LargeObjects { regions, region, place: vec![NOWHERE; keys as usize], head: 0 }
    }

    /// Appends an object; one that does not fit into its region begins the next one. Returns the region
    /// that is full and must be written.
    pub(super) fn insert(&mut self, key: u32, size: u64) -> Option<u64> {
        let bytes = size.next_multiple_of(ALIGN).min(self.region);
        let used = self.head % self.region;
        let mut full = None;
        if used > 0 && used + bytes > self.region {
            full = Some(self.head / self.region % self.regions);
            self.head += self.region - used;
        }
        self.place[key as usize] = self.head;
        self.head += bytes;
        // The object fills its region exactly: write the region now, or it would be skipped.
        if full.is_none() && self.head.is_multiple_of(self.region) {
            full = Some((self.head / self.region - 1) % self.regions);
        }
        full
    }

    pub(super) fn remove(&mut self, key: u32) {
        self.place[key as usize] = NOWHERE;
    }

    /// Returns an object's position and whether it is on flash yet; `None` if it was dropped.
    pub(super) fn find(&self, key: u32) -> Option<(u64, bool)> {
        let place = self.place[key as usize];
        if place == NOWHERE {
            return None;
        }
        let (region, current) = (place / self.region, self.head / self.region);
        // The region being filled has replaced the oldest one.
        if region + self.regions <= current {
            return None;
        }
        Some((place % (self.regions * self.region), region < current))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object stays until its region has been overwritten, and regions are written in order.
    #[test]
    fn regions_are_a_ring() {
        let (regions, region) = (4, 64 << 10);
        let mut log = LargeObjects::new(regions, region, 1000);
        let mut written = Vec::new();
        for key in 0..1000 {
            written.extend(log.insert(key, 10_000));
        }
        // Six objects of 10,240 B per region.
        assert_eq!(written.len(), 166);
        assert!(written.iter().enumerate().all(|(i, r)| *r == i as u64 % regions));
        let there: Vec<u32> = (0..1000).filter(|k| log.find(*k).is_some()).collect();
        // Three full regions, and the four objects of the one in memory.
        assert_eq!(there, (978..1000).collect::<Vec<_>>());
        assert!(!log.find(999).unwrap().1);
        log.remove(999);
        assert!(log.find(999).is_none());
    }
}
