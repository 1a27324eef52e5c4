//! The rates of a job in each direction, by fio's rules (`__setup_rate`, `usec_for_io` and `rate_ddir`).
//!
//! A rate counts from the start of the job, or from the end of its `ramp_time`, so a job that has fallen behind catches
//! up. A mixed job whose next command would be too early issues one of the other direction instead, if that one is due.

use wafer_random::Rng;

use crate::job::{BlockSize, DIRECTIONS, Direction, JobSpec, READ, RateProcess, TRIM, WRITE};

/// The rate of a direction, per second.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Bytes(u64),
    Commands(u64),
}

impl Limit {
    /// Returns the limit of a direction. Except with `bssplit`, fio converts `rate_iops` to bytes, as if all commands
    /// had the smallest size.
    fn of(spec: &JobSpec, direction: usize) -> Option<Limit> {
        let some = |rate: Option<u64>| rate.filter(|rate| *rate > 0);
        let by_commands = |iops: u64| match spec.block_size[direction] {
            BlockSize::Split(_) => Limit::Commands(iops),
            _ => Limit::Bytes(iops.saturating_mul(spec.block_size[direction].smallest())),
        };
        // The rate of writes paces both commands of a pair, as in fio.
        if spec.direction == Direction::TrimWrite && direction == TRIM {
            return None;
        }
        let rate = some(spec.rate[direction]).map(Limit::Bytes);
        rate.or_else(|| some(spec.rate_iops[direction]).map(by_commands))
    }

    /// Returns the seconds for a command of a number of bytes.
    fn seconds(self, bytes: f64) -> f64 {
        match self {
            Limit::Bytes(rate) => bytes / rate as f64,
            Limit::Commands(rate) => 1.0 / rate as f64,
        }
    }
}

/// The rates of a running job. Times are in the caller's unit.
#[derive(Clone, Debug)]
pub struct Rates {
    limits: [Option<Limit>; DIRECTIONS],
    start: u64,
    /// Units of time per second.
    second: u64,
    /// Bytes and commands issued in each direction.
    issued: [(u64, u64); DIRECTIONS],
    /// A Poisson process: random numbers, and for each direction the commands per second and the next arrival.
    process: Option<(Rng, [f64; DIRECTIONS], [u64; DIRECTIONS])>,
    chooses: bool,
}

impl Rates {
    /// Returns the rates of a job that starts at `start`, with `second` units of time per second. `random` is for
    /// `rate_process=poisson`; without it, commands are evenly spaced.
    pub fn new(spec: &JobSpec, start: u64, second: u64, random: Option<Rng>) -> Self {
        let limits: [Option<Limit>; DIRECTIONS] = std::array::from_fn(|d| Limit::of(spec, d));
        let mixed = spec.direction == Direction::ReadWrite && (1..100).contains(&spec.read_percent);
        let smallest = |d: usize| spec.block_size[d].smallest() as f64;
        let rate = |limit: Limit, smallest: f64| match limit {
            Limit::Bytes(rate) => rate as f64 / smallest,
            Limit::Commands(rate) => rate as f64,
        };
        let rates = std::array::from_fn(|d| limits[d].map_or(0.0, |l| rate(l, smallest(d))));
        let random = random.filter(|_| spec.rate_process == RateProcess::Poisson);
        let mut rates = Rates {
            chooses: mixed && (limits[READ].is_some() || limits[WRITE].is_some()),
            limits,
            start,
            second,
            issued: [(0, 0); DIRECTIONS],
            process: random.map(|random| (random, rates, [start; DIRECTIONS])),
        };
        rates.restart(start);
        rates
    }

    /// Counts from `start` on: what was missed before is not caught up with.
    pub fn restart(&mut self, start: u64) {
        (self.start, self.issued) = (start, [(0, 0); DIRECTIONS]);
        if let Some((_, _, arrivals)) = &mut self.process {
            *arrivals = [start; DIRECTIONS];
        }
        (0..DIRECTIONS).for_each(|d| self.arrive(d));
    }

    /// Returns whether no direction has a rate.
    pub fn is_empty(&self) -> bool {
        self.limits.iter().all(Option::is_none)
    }

    /// Returns whether [`Self::choose`] chooses the direction of commands.
    pub fn chooses(&self) -> bool {
        self.chooses
    }

    /// Returns the direction of the next command: `direction`, or the other one of a mixed job if `direction` is not
    /// due at `now` and the other is due by then or earlier than `direction`.
    pub fn choose(&self, direction: usize, now: u64) -> usize {
        let other = if direction == READ { WRITE } else { READ };
        let (due, due_other) = (self.due(direction), self.due(other));
        if due <= now || due_other > now && due <= due_other { direction } else { other }
    }

    /// Returns when the next command of a direction is due.
    #[inline]
    pub fn due(&self, direction: usize) -> u64 {
        if let Some((_, _, arrivals)) = &self.process {
            return arrivals[direction];
        }
        let (bytes, commands) = self.issued[direction];
        let (count, rate) = match self.limits[direction] {
            None => return self.start,
            Some(Limit::Bytes(rate)) => (bytes, rate),
            Some(Limit::Commands(rate)) => (commands, rate),
        };
        // With whole seconds split off, the rest is nearly always small enough for a fast division.
        let (whole, rest) = (count / rate, count % rate);
        let rest = match rest.checked_mul(self.second) {
            Some(rest) => rest / rate,
            None => (u128::from(rest) * u128::from(self.second) / u128::from(rate)) as u64,
        };
        let time = whole.saturating_mul(self.second).saturating_add(rest);
        self.start.saturating_add(time)
    }

    /// Counts a command.
    #[inline]
    pub fn issued(&mut self, direction: usize, bytes: u64) {
        let issued = &mut self.issued[direction];
        *issued = (issued.0 + bytes, issued.1 + 1);
        self.arrive(direction);
    }

    /// Draws the arrival of the next command, if arrivals are random.
    #[inline]
    fn arrive(&mut self, direction: usize) {
        if let (Some((random, rates, arrivals)), Some(_)) =
            (&mut self.process, self.limits[direction])
        {
            // 53 random bits plus one: the logarithm is finite.
            let draw = ((random.next64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
            let wait = -libm::log(draw) / rates[direction] * self.second as f64;
            // The conversion saturates.
            arrivals[direction] = arrivals[direction].saturating_add(wait.round() as u64);
        }
    }

    /// Returns the seconds that a command of `mean` bytes takes at the slowest rate; 0 without rates.
    pub fn seconds(&self, mean: f64) -> f64 {
        self.limits.iter().flatten().map(|limit| limit.seconds(mean)).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests;
