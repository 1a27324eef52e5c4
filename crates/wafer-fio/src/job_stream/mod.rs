//! The commands of one fio job, in fio's order and with fio's laws (checked against fio itself in
//! `tests/fio_fidelity.rs`).
//!
//! Random numbers are not fio's, so single addresses differ; everything that can be counted does not.
//! Where fio's behaviour depends on the size of the file, the region counts as the whole file. Known
//! differences: a sequential run inside a random job that reaches the end of the region goes on at
//! a random block; with block sizes that differ between directions each direction has a random map
//! of its own (fio mixes units in one).

mod general;
mod limits;
mod placing;
mod plain;
mod sizes;

use general::Position;
use limits::Limits;
use placing::Placing;
use plain::Plain;
use sizes::Sizes;
use wafer_interface::{Command, LBA_BYTES, NsId, Op};
use wafer_random::{Purpose, RandomMap, Rng};

use crate::address::Addresses;
use crate::error::WorkloadError;
use crate::job::{DIRECTIONS, Direction, JobSpec, Order, READ, TRIM, WRITE};

/// The commands of one job.
#[derive(Clone, Debug)]
pub struct JobStream {
    namespace: NsId,
    /// First byte of the region in the namespace.
    offset: u64,
    /// Bytes of the region.
    size: u64,
    direction: Direction,
    order: Order,
    time_based: bool,
    /// Start the random numbers over with every pass.
    repeat: bool,
    percent_random: [u8; DIRECTIONS],
    sizes: [Sizes; DIRECTIONS],
    align: [u64; DIRECTIONS],
    addresses: [Addresses; DIRECTIONS],
    /// One map for all directions, or one each when their smallest blocks differ.
    maps: Vec<RandomMap>,
    /// Which of `maps` a direction uses.
    map_of: [usize; DIRECTIONS],
    random: Random,
    /// What `random` is made from again.
    seed: (u64, u32),
    placing: Placing,
    limits: Limits,
    /// Commands by a short cut, when the job allows one.
    plain: Option<Plain>,
    position: Position,
    /// Expected bytes written, `None` without an end.
    total_written: Option<u64>,
    /// No command follows, whatever is asked.
    ended: bool,
}

/// The generators of a job, one per purpose.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    address: Rng,
    rank: Rng,
    size: [Rng; DIRECTIONS],
    mix: Rng,
    sequence: [Rng; DIRECTIONS],
}

impl Random {
    fn new((seed, job): (u64, u32), direction: Direction) -> Self {
        // A trim and the write that follows it draw the same sizes, as in fio.
        let trim = if direction == Direction::TrimWrite { WRITE } else { TRIM };
        Random {
            address: Rng::new(seed, job, Purpose::Address, 0),
            rank: Rng::new(seed, job, Purpose::Rank, 0),
            size: [READ, WRITE, trim].map(|d| Rng::new(seed, job, Purpose::Size, d)),
            mix: Rng::new(seed, job, Purpose::Mix, 0),
            sequence: [READ, WRITE, TRIM].map(|d| Rng::new(seed, job, Purpose::Sequence, d)),
        }
    }

    fn of(&mut self, purpose: Purpose) -> &mut Rng {
        match purpose {
            Purpose::Rank => &mut self.rank,
            _ => &mut self.address,
        }
    }
}

/// The directions that a job issues.
fn directions(direction: Direction) -> &'static [usize] {
    match direction {
        Direction::Read => &[READ],
        Direction::Write => &[WRITE],
        Direction::Trim => &[TRIM],
        Direction::ReadWrite => &[READ, WRITE],
        Direction::TrimWrite => &[WRITE, TRIM],
    }
}

fn op(direction: usize) -> Op {
    match direction {
        READ => Op::Read,
        WRITE => Op::Write,
        _ => Op::Deallocate,
    }
}

impl JobStream {
    /// The commands of `spec`, job number `index` of a run with this seed (`spec.seed` comes first).
    pub fn new(spec: &JobSpec, seed: u64, index: u32) -> Result<Self, WorkloadError> {
        Self::build(spec, seed, index).map_err(|message| WorkloadError::Job {
            file: spec.source.0.clone(),
            line: spec.source.1,
            job: spec.name.clone(),
            message,
        })
    }

    fn build(spec: &JobSpec, seed: u64, index: u32) -> Result<Self, String> {
        let seed = (spec.seed.unwrap_or(seed), index);
        let used = directions(spec.direction);
        let mut sizes = Vec::with_capacity(DIRECTIONS);
        for size in &spec.block_size {
            sizes.push(Sizes::new(size, spec.block_size_unaligned)?);
        }
        let sizes: [Sizes; DIRECTIONS] = sizes.try_into().expect("one per direction");
        let align: [u64; DIRECTIONS] = std::array::from_fn(|d| {
            if spec.order == Order::Random && spec.block_align[d] != 0 {
                spec.block_align[d]
            } else {
                sizes[d].min
            }
        });
        let random = spec.order == Order::Random;
        let ranges_of = used.iter().map(|&d| sizes[d].min.max(align[d])).min().unwrap_or(1);
        let center = Rng::new(seed.0, seed.1, Purpose::Center, 0);
        let mut addresses = [const { Addresses::Uniform(1) }; DIRECTIONS];
        let mut map = random && spec.random_map;
        let mut smallest = Vec::new();
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
            // Blocks at which a command of the smallest size can start.
            let cut = sizes[d].min.saturating_sub(align[d]);
            let blocks = (spec.size - cut) / align[d];
            let ranges = spec.size / ranges_of;
            if blocks == 0 || ranges == 0 {
                return Err(format!("blockalign: {} bytes hold no block", spec.size));
            }
            let distribution = &spec.distribution[d];
            addresses[d] = Addresses::new(distribution, blocks, align[d], ranges, &center)
                .map_err(|e| format!("random_distribution: {e}"))?;
            // fio gives up the map for other distributions and for blockalign.
            map &= !addresses[d].excludes_map() && align[d] == sizes[d].min;
            smallest.push(sizes[d].min);
        }
        let mut maps = Vec::new();
        let mut map_of = [0; DIRECTIONS];
        if map {
            let one = smallest.windows(2).all(|w| w[0] == w[1]);
            for &d in used {
                map_of[d] = if one { 0 } else { maps.len() };
                if !one || maps.is_empty() {
                    let blocks = spec.size / sizes[d].min;
                    if blocks > RandomMap::MAX_LEN {
                        return Err(format!("size: {blocks} blocks are too many for a random map"));
                    }
                    maps.push(RandomMap::new(blocks));
                }
            }
        }
        if spec.read_percent > 100 || spec.percent_random.iter().any(|p| *p > 100) {
            return Err("rwmixread, percentage_random: more than 100 percent".to_owned());
        }
        let placing =
            Placing::new(&spec.placement, Rng::new(seed.0, seed.1, Purpose::Placement, 0))?;
        let largest = used.iter().map(|&d| sizes[d].max).max().unwrap_or(1);
        let mut stream = JobStream {
            namespace: NsId(spec.namespace),
            offset: spec.offset,
            size: spec.size,
            direction: spec.direction,
            order: spec.order,
            time_based: spec.time_based,
            repeat: spec.random_repeat,
            percent_random: spec.percent_random,
            sizes,
            align,
            addresses,
            maps,
            map_of,
            random: Random::new(seed, spec.direction),
            seed,
            placing,
            limits: Limits::new(spec, largest),
            plain: None,
            position: Position::new(spec),
            total_written: None,
            ended: false,
        };
        stream.plain = Plain::of(&stream, spec);
        stream.total_written = stream.expect_written(spec);
        Ok(stream)
    }

    /// Bytes the job will write, as far as can be known; 0 for a job that only reads or trims,
    /// `None` for one without an end.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_written
    }

    fn expect_written(&self, spec: &JobSpec) -> Option<u64> {
        let counted = match spec.direction {
            Direction::Trim => TRIM,
            Direction::Read => READ,
            _ => WRITE,
        };
        let block = self.sizes[counted].min;
        let ends = self.order == Order::Sequential || !self.maps.is_empty();
        let pass = ends.then_some(self.size / block * block);
        let total = self.limits.total(pass, self.sizes[counted].mean())?;
        Some(match spec.direction {
            Direction::Read | Direction::Trim => 0,
            Direction::Write | Direction::TrimWrite => total,
            Direction::ReadWrite => {
                let writes = f64::from(100 - spec.read_percent) * self.sizes[WRITE].mean();
                let reads = f64::from(spec.read_percent) * self.sizes[READ].mean();
                (total as f64 * writes / (writes + reads)) as u64
            }
        })
    }

    /// Mean bytes of a command and the share of written ones among them, by the job's options.
    pub(crate) fn mean_command(&self, spec: &JobSpec) -> f64 {
        match spec.direction {
            Direction::Read => self.sizes[READ].mean(),
            Direction::Write | Direction::TrimWrite => self.sizes[WRITE].mean(),
            Direction::Trim => self.sizes[TRIM].mean(),
            Direction::ReadWrite => {
                let reads = f64::from(spec.read_percent) / 100.0;
                reads * self.sizes[READ].mean() + (1.0 - reads) * self.sizes[WRITE].mean()
            }
        }
    }

    /// Bytes of memory: random maps and tables.
    pub fn memory_bytes(&self) -> u64 {
        self.maps.iter().map(RandomMap::memory_bytes).sum::<u64>()
            + self.addresses.iter().map(Addresses::memory_bytes).sum::<u64>()
    }

    /// A pass over the region has ended: start the next, with the same random numbers if `repeat`,
    /// or say that there is none.
    fn next_pass(&mut self, repeat: bool) -> bool {
        if !self.limits.next_pass() {
            return false;
        }
        for map in &mut self.maps {
            map.reset();
        }
        self.position.rewind();
        if repeat {
            let rank = self.random.rank.clone();
            // fio seeds every generator again but that of zipf, pareto and normal.
            self.random = Random { rank, ..Random::new(self.seed, self.direction) };
        }
        true
    }

    /// A command on `bytes` bytes from byte `at` of the region. Logical blocks touched in part
    /// count as touched.
    #[inline]
    fn command(&mut self, direction: usize, at: u64, bytes: u64) -> Command {
        let first = self.offset + at;
        let lba = first / LBA_BYTES;
        let blocks = ((first + bytes).div_ceil(LBA_BYTES) - lba) as u32;
        let placement = if direction == WRITE {
            self.placing.next(lba)
        } else {
            wafer_interface::Placement::NONE
        };
        Command { lba, blocks, placement, op: op(direction), namespace: self.namespace }
    }
}

impl JobStream {
    /// Appends up to `max` commands; fewer only at the end of the job.
    pub fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        out.reserve(max);
        let end = out.len() + max;
        while out.len() < end && !self.ended {
            let left = end - out.len();
            let done = match self.plain.take() {
                Some(mut plain) => {
                    let more = plain.fill(self, out, left);
                    self.plain = Some(plain);
                    !more
                }
                None => self.fill_general(out, left),
            };
            if done {
                self.ended = true;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
