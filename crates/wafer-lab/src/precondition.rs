//! Writes before the counters start.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use wafer_device::Geometry;
use wafer_interface::{Command, CommandStream, LBA_BYTES, NsId, Op, Placement, stream};
use wafer_record::Precondition;

use wafer_experiment::derived_seed;

/// Bytes of one command of the sequential fill.
const FILL_BYTES: u64 = 1 << 20;

/// The commands of a precondition.
pub struct PreconditionStream {
    page: u64,
    /// Pages of each namespace.
    pages: Vec<u64>,
    total: u64,
    /// Current namespace of the sequential fill; past the last one when the fill is complete.
    fill: usize,
    next_page: u64,
    random_left: u64,
    rng: Xoshiro256PlusPlus,
}

impl PreconditionStream {
    /// Returns the commands that bring a device of this geometry into its state before a run with this seed, without
    /// `load` and `steady`; `None` for a fresh device.
    pub fn new(precondition: &Precondition, geometry: &Geometry, seed: u64) -> Option<Self> {
        let page = geometry.page_bytes;
        let pages: Vec<u64> = geometry.namespace_bytes().iter().map(|bytes| bytes / page).collect();
        let total: u64 = pages.iter().sum();
        let random_left = (total as f64 * precondition.random).round() as u64;
        if !precondition.sequential && random_left == 0 {
            return None;
        }
        let fill = if precondition.sequential { 0 } else { pages.len() };
        let rng = Xoshiro256PlusPlus::seed_from_u64(derived_seed(seed, 0));
        Some(PreconditionStream { page, pages, total, fill, next_page: 0, random_left, rng })
    }

    /// Returns the commands as a stream.
    pub fn into_stream(mut self) -> impl CommandStream {
        stream::from_fn(move |out, max| {
            out.extend(std::iter::from_fn(|| self.command()).take(max));
        })
    }

    /// Returns the number of bytes yet to be written.
    pub fn total_bytes(&self) -> u64 {
        let fill: u64 = self.pages.iter().skip(self.fill).sum();
        (fill - self.next_page.min(fill) + self.random_left) * self.page
    }

    fn command(&mut self) -> Option<Command> {
        while let Some(&pages) = self.pages.get(self.fill) {
            let count = (FILL_BYTES / self.page).max(1).min(pages - self.next_page);
            if count > 0 {
                let first = self.next_page;
                self.next_page += count;
                return Some(self.write(self.fill, first, count));
            }
            self.fill += 1;
            self.next_page = 0;
        }
        self.random_left = self.random_left.checked_sub(1)?;
        // Multiply-shift, which is uniform to within total / 2^64.
        let draw = u128::from(self.rng.next_u64()) * u128::from(self.total);
        let mut page = (draw >> 64) as u64;
        let mut namespace = 0;
        while page >= self.pages[namespace] {
            page -= self.pages[namespace];
            namespace += 1;
        }
        Some(self.write(namespace, page, 1))
    }

    fn write(&self, namespace: usize, page: u64, count: u64) -> Command {
        let blocks_per_page = self.page / LBA_BYTES;
        Command {
            lba: page * blocks_per_page,
            blocks: (count * blocks_per_page) as u32,
            placement: Placement::NONE,
            op: Op::Write,
            namespace: NsId(namespace as u8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_round_trip() {
        for text in
            ["fresh", "sequential", "random:2", "sequential+random:0.5", "load", "random:1+load"]
        {
            assert_eq!(text.parse::<Precondition>().unwrap().to_string(), text);
        }
        let wrong = ["", "random", "random:0", "random:-1", "sequential+fresh", "random:nan"];
        for text in wrong.into_iter().chain(["load+sequential", "load+load", "load+"]) {
            assert!(text.parse::<Precondition>().is_err(), "{text}");
        }
        let error = "random:1001".parse::<Precondition>().unwrap_err();
        assert_eq!(error, "`random:1001` is not above 0 and at most 1000 capacities");
    }
}
