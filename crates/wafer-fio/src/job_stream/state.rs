//! The state of a job that generates commands: region, block sizes, addresses, random numbers, limits.

use wafer_interface::{Command, LBA_BYTES, NsId, Op, Placement};
use wafer_random::{Purpose, RandomMap, Rng};

use super::limits::Limits;
use super::placing::Placing;
use super::position::Position;
use super::sizes::Sizes;
use crate::address::Addresses;
use crate::job::{DIRECTIONS, Direction, JobSpec, Order, READ, TRIM, WRITE};

/// A job with all state for generating its commands.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) spec: JobSpec,
    pub(super) sizes: [Sizes; DIRECTIONS],
    pub(super) align: [u64; DIRECTIONS],
    pub(super) addresses: [Addresses; DIRECTIONS],
    /// One map for all directions, or one for each if their smallest blocks differ.
    pub(super) maps: Vec<RandomMap>,
    /// Index into `maps` for each direction.
    pub(super) map_of: [usize; DIRECTIONS],
    pub(super) random: Random,
    /// Seed and job number of `random`.
    seed: (u64, u32),
    pub(super) placing: Placing,
    pub(super) limits: Limits,
    pub(super) position: Position,
}

/// The random number generators of a job, one per purpose.
#[derive(Clone, Debug)]
pub(super) struct Random {
    pub(super) address: Rng,
    rank: Rng,
    pub(super) size: [Rng; DIRECTIONS],
    pub(super) mix: Rng,
    pub(super) sequence: [Rng; DIRECTIONS],
}

impl Random {
    fn new((seed, job): (u64, u32), direction: Direction) -> Self {
        // A trim and the write that follows it draw the same sizes, as in fio.
        let trim = if direction == Direction::TrimWrite { WRITE } else { TRIM };
        let rng = |purpose, sub| Rng::new(seed, job, purpose, sub);
        Random {
            address: rng(Purpose::Address, 0),
            rank: rng(Purpose::Rank, 0),
            size: [READ, WRITE, trim].map(|d| rng(Purpose::Size, d)),
            mix: rng(Purpose::Mix, 0),
            sequence: [READ, WRITE, TRIM].map(|d| rng(Purpose::Sequence, d)),
        }
    }

    pub(super) fn of(&mut self, purpose: Purpose) -> &mut Rng {
        match purpose {
            Purpose::Rank => &mut self.rank,
            _ => &mut self.address,
        }
    }
}

pub(super) fn op(direction: usize) -> Op {
    [Op::Read, Op::Write, Op::Deallocate][direction]
}

impl State {
    /// Checks a job and prepares its commands.
    pub(super) fn new(spec: &JobSpec, seed: u64, index: u32) -> Result<Self, String> {
        let seed = (spec.seed.unwrap_or(seed), index);
        let used = spec.direction.used();
        let random = spec.order == Order::Random;
        let size = |d: usize| Sizes::new(&spec.block_size[d], spec.block_size_unaligned);
        let sizes: [Sizes; DIRECTIONS] = [size(READ)?, size(WRITE)?, size(TRIM)?];
        let align: [u64; DIRECTIONS] = std::array::from_fn(|d| match spec.block_align[d] {
            align if random && align != 0 => align,
            _ => sizes[d].min,
        });
        let ranges_of = used.iter().map(|&d| sizes[d].min.max(align[d])).min().unwrap_or(1);
        let center = Rng::new(seed.0, seed.1, Purpose::Center, 0);
        let mut addresses = [const { Addresses::Uniform(1) }; DIRECTIONS];
        let mut map = random && spec.random_map;
        for &d in used {
            if sizes[d].min > spec.size {
                return Err(format!("size: {} bytes are less than one block", spec.size));
            }
            if spec.size.checked_add(spec.offset).is_none_or(|end| end > 1 << 60) {
                return Err("offset, size: the region ends past 1EiB".to_owned());
            }
            if !random {
                continue;
            }
            // Number of blocks at which a command of the smallest size can start.
            let cut = sizes[d].min.saturating_sub(align[d]);
            let blocks = (spec.size - cut) / align[d];
            let ranges = spec.size / ranges_of;
            if blocks == 0 || ranges == 0 {
                return Err(format!("blockalign: {} bytes hold no block", spec.size));
            }
            addresses[d] = Addresses::new(&spec.distribution[d], blocks, align[d], ranges, &center)
                .map_err(|e| format!("random_distribution: {e}"))?;
            // fio uses no map with other distributions or with blockalign.
            map &= !addresses[d].excludes_map() && align[d] == sizes[d].min;
        }
        let mut maps = Vec::new();
        let mut map_of = [0; DIRECTIONS];
        if map {
            let one = used.windows(2).all(|w| sizes[w[0]].min == sizes[w[1]].min);
            for &d in if one { &used[..1] } else { used } {
                let blocks = spec.size / sizes[d].min;
                if blocks > RandomMap::MAX_LEN {
                    return Err(format!("size: {blocks} blocks are too many for a random map"));
                }
                map_of[d] = maps.len();
                maps.push(RandomMap::new(blocks));
            }
        }
        if spec.read_percent > 100 || spec.percent_random.iter().any(|p| *p > 100) {
            return Err("rwmixread, percentage_random: more than 100 percent".to_owned());
        }
        let placing =
            Placing::new(&spec.placement, Rng::new(seed.0, seed.1, Purpose::Placement, 0))?;
        let largest = used.iter().map(|&d| sizes[d].max).max().unwrap_or(1);
        Ok(State {
            sizes,
            align,
            addresses,
            maps,
            map_of,
            random: Random::new(seed, spec.direction),
            seed,
            placing,
            limits: Limits::new(spec, largest),
            position: Position::new(spec),
            spec: spec.clone(),
        })
    }

    /// Starts the next pass over the region, with the same random numbers if `repeat`; returns false if there is none.
    pub(super) fn next_pass(&mut self, repeat: bool) -> bool {
        if !self.limits.next_pass() {
            return false;
        }
        self.maps.iter_mut().for_each(RandomMap::reset);
        self.position.rewind();
        if repeat {
            let rank = self.random.rank.clone();
            // fio reseeds all generators except that of zipf, pareto and normal.
            self.random = Random { rank, ..Random::new(self.seed, self.spec.direction) };
        }
        true
    }

    /// Returns a command for `bytes` bytes from byte `at` of the region. It includes partly covered logical blocks.
    #[inline]
    pub(super) fn command(&mut self, direction: usize, at: u64, bytes: u64) -> Command {
        let first = self.spec.offset + at;
        let lba = first / LBA_BYTES;
        let blocks = ((first + bytes).div_ceil(LBA_BYTES) - lba) as u32;
        let placement = if direction == WRITE { self.placing.next(lba) } else { Placement::NONE };
        let namespace = NsId(self.spec.namespace);
        Command { lba, blocks, placement, op: op(direction), namespace }
    }
}
