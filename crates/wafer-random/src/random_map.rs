//! The random map: the blocks of a region that a pass has visited, and the next that it has not.
//!
//! A bitmap under a tree of bitmaps, each level 64 times smaller: a set bit says that the word
//! below is full. Finding a free block costs one word while the map is sparse and at most two words
//! per level when it is nearly full, where a flat bitmap would scan the whole region.

/// Levels for 2^36 blocks: 256 TiB of 4 KiB.
const MAX_LEVELS: usize = 6;

/// A set of blocks `0..len` that only grows, until it is reset.
#[derive(Clone, Debug)]
pub struct RandomMap {
    len: u64,
    used: u64,
    levels: usize,
    /// First word of each level in `words`; level 0 holds a bit per block.
    start: [usize; MAX_LEVELS + 1],
    words: Vec<u64>,
}

impl RandomMap {
    /// Maximum number of blocks of a map.
    pub const MAX_LEN: u64 = 1 << 36;

    /// Creates an empty map of `len` blocks, 1 to [`RandomMap::MAX_LEN`].
    pub fn new(len: u64) -> Self {
        assert!((1..=Self::MAX_LEN).contains(&len), "random map of {len} blocks");
        let mut start = [0; MAX_LEVELS + 1];
        let (mut levels, mut bits) = (0, len);
        loop {
            let words = bits.div_ceil(64);
            start[levels + 1] = start[levels] + words as usize;
            levels += 1;
            bits = words;
            if words == 1 {
                break;
            }
        }
        let words = vec![0; start[levels]];
        let mut map = RandomMap { len, used: 0, levels, start, words };
        map.pad();
        map
    }

    /// Returns the memory in bytes of a map of `len` blocks.
    pub fn memory_for(len: u64) -> u64 {
        let (mut bytes, mut bits) = (0, len);
        loop {
            bits = bits.div_ceil(64);
            bytes += bits * 8;
            if bits <= 1 {
                return bytes;
            }
        }
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the map has no blocks: never, as [`RandomMap::new`] refuses that.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of blocks set.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns whether all blocks are set.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used == self.len
    }

    /// Forgets every block.
    pub fn reset(&mut self) {
        self.words.fill(0);
        self.used = 0;
        self.pad();
    }

    fn pad(&mut self) {
        // Bits past the end of a level count as set: no search finds them.
        let mut bits = self.len;
        for level in 0..self.levels {
            let last = self.start[level + 1] - 1;
            if !bits.is_multiple_of(64) {
                self.words[last] = u64::MAX << (bits % 64);
            }
            bits = bits.div_ceil(64);
        }
    }

    /// Returns whether a block is set.
    #[inline]
    pub fn is_set(&self, block: u64) -> bool {
        self.words[(block / 64) as usize] >> (block % 64) & 1 != 0
    }

    /// Prefetches the memory that [`RandomMap::next_free`] of this block reads first.
    #[inline]
    pub fn prefetch(&self, block: u64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(word) = self.words.get((block / 64) as usize) {
            // SAFETY: a prefetch of a valid reference; it has no effect on memory.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = block;
    }

    /// Returns the first free block from `from` on, wrapping at the end; `None` when the map is full.
    #[inline]
    pub fn next_free(&self, from: u64) -> Option<u64> {
        let word = !self.words[(from / 64) as usize] & (u64::MAX << (from % 64));
        if word != 0 {
            return Some((from & !63) + u64::from(word.trailing_zeros()));
        }
        self.search(from / 64 + 1).or_else(|| if from == 0 { None } else { self.first_free() })
    }

    fn first_free(&self) -> Option<u64> {
        if self.is_full() { None } else { Some(self.descend(self.levels, 0)) }
    }

    /// Returns the first free block in words `word..` of level 0, without wrapping.
    fn search(&self, mut word: u64) -> Option<u64> {
        for level in 1..self.levels {
            let index = self.start[level] + (word / 64) as usize;
            if index >= self.start[level + 1] {
                return None;
            }
            let free = !self.words[index] & (u64::MAX << (word % 64));
            if free != 0 {
                return Some(self.descend(level, (word & !63) + u64::from(free.trailing_zeros())));
            }
            word = word / 64 + 1;
        }
        None
    }

    /// Returns the first free block below bit `bit` of `level`, which is known to have one.
    fn descend(&self, level: usize, mut bit: u64) -> u64 {
        for level in (0..level).rev() {
            let word = !self.words[self.start[level] + bit as usize];
            debug_assert!(word != 0);
            bit = bit * 64 + u64::from(word.trailing_zeros());
        }
        bit
    }

    /// Sets a free block.
    #[inline]
    pub fn set(&mut self, block: u64) {
        debug_assert!(!self.is_set(block) && block < self.len);
        let index = (block / 64) as usize;
        let word = self.words[index] | 1 << (block % 64);
        self.words[index] = word;
        self.used += 1;
        if word == u64::MAX {
            self.mark_full(block / 64);
        }
    }

    /// Marks word `word` of level 0, which is full, in the levels above.
    fn mark_full(&mut self, mut word: u64) {
        for level in 1..self.levels {
            let index = self.start[level] + (word / 64) as usize;
            self.words[index] |= 1 << (word % 64);
            if self.words[index] != u64::MAX {
                return;
            }
            word /= 64;
        }
    }

    /// Sets up to `count` blocks from `block` on, stopping at the end and before the first block already set. Returns
    /// how many it has set; a longer command is cut to that.
    pub fn set_run(&mut self, block: u64, count: u64) -> u64 {
        let end = block.saturating_add(count).min(self.len);
        let mut at = block;
        while at < end && !self.is_set(at) {
            self.set(at);
            at += 1;
        }
        at.saturating_sub(block)
    }

    /// Returns the memory in bytes of the map.
    pub fn memory_bytes(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    /// Checks that the levels agree with each other and with the count.
    pub fn check_invariants(&self) -> Result<(), String> {
        let pads = (64 - self.len % 64) % 64;
        let level0 = &self.words[..self.start[1]];
        let ones: u64 = level0.iter().map(|w| u64::from(w.count_ones())).sum();
        if ones != self.used + pads {
            return Err(format!("{ones} bits set, {} used and {pads} past the end", self.used));
        }
        for level in 1..self.levels {
            let below = &self.words[self.start[level - 1]..self.start[level]];
            let bits = (self.start[level + 1] - self.start[level]) * 64;
            for bit in 0..bits {
                let set = self.words[self.start[level] + bit / 64] >> (bit % 64) & 1 != 0;
                let full = below.get(bit).is_none_or(|&w| w == u64::MAX);
                if set != full {
                    return Err(format!("level {level}, bit {bit}: {set}, but below {full}"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        NextFree(u64),
        SetRun(u64, u64),
        Reset,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            20 => any::<u64>().prop_map(Step::NextFree),
            20 => (any::<u64>(), 1..300u64).prop_map(|(b, n)| Step::SetRun(b, n)),
            1 => Just(Step::Reset),
        ]
    }

    fn slow_next_free(set: &[bool], from: u64) -> Option<u64> {
        let n = set.len() as u64;
        (0..n).map(|i| (from + i) % n).find(|&b| !set[b as usize])
    }

    proptest! {
        #[test]
        fn agrees_with_a_list_of_booleans(
            len in prop_oneof![1..200u64, 4000..4200u64, 262_000..262_300u64],
            steps in prop::collection::vec(step(), 1..200),
        ) {
            let mut map = RandomMap::new(len);
            prop_assert_eq!(map.memory_bytes(), RandomMap::memory_for(len));
            let mut slow = vec![false; len as usize];
            for s in steps {
                match s {
                    Step::NextFree(b) => {
                        let b = b % len;
                        let found = map.next_free(b);
                        prop_assert_eq!(found, slow_next_free(&slow, b));
                        if let Some(block) = found {
                            map.set(block);
                            slow[block as usize] = true;
                        }
                    }
                    Step::SetRun(b, n) => {
                        let b = b % len;
                        // Long runs fill whole subtrees of the larger maps.
                        let n = if len > 4000 { n * 40 } else { n };
                        let free = slow[b as usize..].iter().take_while(|s| !**s).count() as u64;
                        let expected = free.min(n);
                        prop_assert_eq!(map.set_run(b, n), expected);
                        slow[b as usize..(b + expected) as usize].fill(true);
                    }
                    Step::Reset => {
                        map.reset();
                        slow.fill(false);
                    }
                }
            }
            map.check_invariants().map_err(TestCaseError::fail)?;
            prop_assert_eq!(map.used(), slow.iter().filter(|s| **s).count() as u64);
        }
    }

    #[test]
    fn a_pass_takes_every_block_once() {
        for len in [1, 63, 64, 65, 4096, 4097, 300_000] {
            let mut map = RandomMap::new(len);
            let mut from = 0;
            for _ in 0..len {
                let block = map.next_free(from).unwrap();
                map.set(block);
                from = (block * 7919 + 13) % len;
            }
            assert!(map.is_full());
            assert_eq!(map.next_free(from), None);
            map.check_invariants().unwrap();
            map.reset();
            map.check_invariants().unwrap();
            assert_eq!(map.next_free(len - 1), Some(len - 1));
        }
    }
}
