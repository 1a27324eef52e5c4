//! The DRAM cache: evicts the least recently used object first.

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u32,
    /// Bytes; the upper bit is set if flash has the same copy.
    size: u32,
    newer: u32,
    older: u32,
}

/// The upper bit of a slot's size.
const CLEAN: u32 = 1 << 31;

/// An object that left DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Evicted {
    pub(super) key: u32,
    pub(super) size: u32,
    /// Flash had the same copy when the object entered.
    pub(super) clean: bool,
}

/// Objects in DRAM.
pub(super) struct Dram {
    capacity: u64,
    bytes: u64,
    /// Slot of each key.
    slot: Vec<u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl Dram {
    /// Creates a cache for `capacity` bytes of objects with keys `0..keys`.
    pub(super) fn new(capacity: u64, keys: u32) -> Self {
        Dram {
            capacity,
            bytes: 0,
            slot: vec![NONE; keys as usize],
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Marks an object as used; returns whether the cache holds it.
    pub(super) fn touch(&mut self, key: u32) -> bool {
        let slot = self.slot[key as usize];
        if slot == NONE {
            return false;
        }
        self.unlink(slot);
        self.link(slot);
        true
    }

    /// Inserts an object, replacing an older copy, and appends the evicted objects to `out`.
    pub(super) fn insert(&mut self, key: u32, size: u32, clean: bool, out: &mut Vec<Evicted>) {
        self.remove(key);
        let size = size.min(CLEAN - 1);
        let entry =
            Slot { key, size: if clean { size | CLEAN } else { size }, newer: NONE, older: NONE };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = entry;
                slot
            }
            None => {
                self.slots.push(entry);
                (self.slots.len() - 1) as u32
            }
        };
        self.slot[key as usize] = slot;
        self.link(slot);
        self.bytes += u64::from(size);
        while self.bytes > self.capacity && self.oldest != NONE {
            let Slot { key, size, .. } = self.slots[self.oldest as usize];
            self.remove(key);
            out.push(Evicted { key, size: size & !CLEAN, clean: size & CLEAN != 0 });
        }
    }

    pub(super) fn remove(&mut self, key: u32) {
        let slot = std::mem::replace(&mut self.slot[key as usize], NONE);
        if slot != NONE {
            self.unlink(slot);
            self.bytes -= u64::from(self.slots[slot as usize].size & !CLEAN);
            self.free.push(slot);
        }
    }

    fn link(&mut self, slot: u32) {
        let before = std::mem::replace(&mut self.newest, slot);
        self.slots[slot as usize].older = before;
        self.slots[slot as usize].newer = NONE;
        match before {
            NONE => self.oldest = slot,
            before => self.slots[before as usize].newer = slot,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let (mut at, mut bytes, mut count) = (self.oldest, 0, 0);
        while at != NONE {
            let slot = self.slots[at as usize];
            assert_eq!(self.slot[slot.key as usize], at);
            bytes += u64::from(slot.size & !CLEAN);
            count += 1;
            at = slot.newer;
        }
        assert_eq!(bytes, self.bytes);
        assert_eq!(count + self.free.len(), self.slots.len());
        assert_eq!(count, self.slot.iter().filter(|s| **s != NONE).count());
        assert!(self.bytes <= self.capacity);
    }
}
