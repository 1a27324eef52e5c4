//! The limit probe: the speed that this machine's memory allows, measured in the same run.
//!
//! Random read-modify-writes of 4-byte entries in an array as large as a device's map, in huge pages, prefetched 64
//! ahead. A device write does at least this much.

use std::time::{Duration, Instant};

use memmap2::MmapMut;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

const AHEAD: usize = 64;
const BATCH: usize = 4096;

pub(crate) struct Probe {
    memory: MmapMut,
    entries: u64,
    rng: Xoshiro256PlusPlus,
    batch: Vec<u64>,
}

impl Probe {
    pub(crate) fn new(entries: u64) -> Self {
        let mut memory = MmapMut::map_anon(entries as usize * 4).expect("memory for the probe");
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        memory.fill(1);
        let rng = Xoshiro256PlusPlus::seed_from_u64(7);
        Probe { memory, entries, rng, batch: vec![0; BATCH] }
    }

    /// Returns the millions of read-modify-writes per second over about `time`.
    pub(crate) fn measure(&mut self, time: Duration) -> f64 {
        let start = Instant::now();
        let mut done = 0u64;
        while start.elapsed() < time {
            for _ in 0..64 {
                self.batch();
                done += BATCH as u64;
            }
        }
        done as f64 / start.elapsed().as_secs_f64() / 1e6
    }

    fn batch(&mut self) {
        for entry in &mut self.batch {
            *entry = ((u128::from(self.rng.next_u64()) * u128::from(self.entries)) >> 64) as u64;
        }
        let base = self.memory.as_mut_ptr().cast::<u32>();
        for i in 0..BATCH {
            if let Some(ahead) = self.batch.get(i + AHEAD) {
                prefetch(base.wrapping_add(*ahead as usize));
            }
            // SAFETY: every number drawn is below the number of entries.
            unsafe {
                let entry = base.add(self.batch[i] as usize);
                *entry = (*entry).wrapping_add(1);
            }
        }
    }
}

#[inline(always)]
fn prefetch(address: *const u32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch never faults.
        unsafe { _mm_prefetch(address.cast(), _MM_HINT_T0) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
