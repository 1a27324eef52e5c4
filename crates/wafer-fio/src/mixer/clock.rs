//! When a job issues its next command. Model time is an integer number of picoseconds, so the order of the commands is
//! the same on every platform and does not drift.
//!
//! The closed loop is a model assumption, not measured on any one drive: a job with `q` commands in flight completes
//! one every `max(submit, (latency + bytes / bandwidth) / q)`. [`ServiceConfig`] documents what its defaults were
//! fitted to.

use wafer_interface::{Command, Op, ServiceConfig};

use crate::job::{Direction, JobSpec, READ, TRIM, WRITE};
use crate::rate::Rates;

/// Model time, picoseconds since the start of the run: enough for 213 days.
pub(crate) type Time = u64;

/// Picoseconds per second.
pub(crate) const SECOND: f64 = 1e12;
/// Scale of fixed-point times per byte: 32 bits of fraction.
const FRACTION: f64 = 4_294_967_296.0;

/// No kind of command.
const UNKNOWN: u64 = u64::MAX;

/// Returns the key of everything that the time of a command depends on.
#[inline]
pub(crate) fn kind(command: &Command) -> u64 {
    u64::from(command.blocks) | (command.op as u64) << 32
}

/// Converts seconds to model time.
pub(crate) fn time(seconds: f64) -> Time {
    // The conversion saturates; negative numbers and NaN become 0.
    (seconds * SECOND).round() as Time
}

/// The pace of one job.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// Issue time of the next command.
    pub(crate) next: Time,
    submit: Time,
    latency: Time,
    /// Transfer time per byte, fixed point.
    transfer: u64,
    depth: u64,
    /// The last kind of command, and its time: most jobs have one kind.
    kind: u64,
    step: Time,
    rates: Rates,
    think: Time,
    think_blocks: u64,
    until_think: u64,
    /// Whether there is neither a rate nor a think time.
    free: bool,
    /// Time per byte, fixed point, if shares set the pace.
    share: Option<u64>,
    /// Whether only written bytes count for shares.
    writes: bool,
}

impl Clock {
    pub(crate) fn new(spec: &JobSpec, service: &ServiceConfig, start: Time) -> Self {
        let bandwidth = service.bandwidth.0.max(1) as f64;
        let think = spec.thinktime_us.saturating_mul(1_000_000);
        // As in fio, the delay counts from the start of the run, also after a `stonewall`.
        let start = start.max(time(spec.start_delay));
        let rates = Rates::new(spec, start, SECOND as u64, None);
        Clock {
            next: start,
            submit: time(service.submit_us / 1e6),
            latency: time(service.latency_us / 1e6),
            transfer: (SECOND / bandwidth * FRACTION).round() as u64,
            depth: u64::from(spec.iodepth.max(1)),
            kind: UNKNOWN,
            step: 0,
            think,
            think_blocks: spec.thinktime_blocks.max(1),
            until_think: spec.thinktime_blocks.max(1),
            free: think == 0 && rates.is_empty(),
            rates,
            share: None,
            writes: !matches!(spec.direction, Direction::Read | Direction::Trim),
        }
    }

    /// Returns the time that a command of `bytes` bytes takes in the closed loop; at least 1 ps, so that time advances.
    fn service(&self, bytes: u64) -> Time {
        let transfer = (u128::from(bytes) * u128::from(self.transfer)) >> 32;
        let alone = self.latency.saturating_add(transfer as u64);
        (alone / self.depth).max(self.submit).max(1)
    }

    /// Returns the bytes per second that count for shares at the job's own pace, with `mean` bytes per command, of
    /// which the fraction `written` is written.
    pub(crate) fn own_rate(&self, mean: f64, written: f64) -> f64 {
        let mut seconds = self.service(mean as u64) as f64 / SECOND;
        seconds = seconds.max(self.rates.seconds(mean));
        seconds += self.think as f64 / SECOND / self.think_blocks as f64;
        mean * if self.writes { written } else { 1.0 } / seconds
    }

    /// Paces the job to `rate` counted bytes per second from `now` on, and scales its current wait. With rate 0, it
    /// waits until the next change.
    pub(crate) fn pace(&mut self, now: Time, rate: f64) {
        // A share of zero is a very slow pace, so the wait can be rescaled later.
        let per_byte = (SECOND / rate.max(1e-3) * FRACTION).round();
        let new = (per_byte as u64).max(1);
        self.kind = UNKNOWN;
        if let Some(old) = self.share.replace(new)
            && self.next > now
            && old != new
        {
            let wait = u128::from(self.next - now) * u128::from(new) / u128::from(old);
            self.next = now.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX));
        }
    }

    /// Advances `next` past a command issued at that time, and returns it.
    #[inline]
    pub(crate) fn advance(&mut self, command: &Command) -> Time {
        self.next = self.next.saturating_add(self.step(command));
        if !self.free && self.share.is_none() {
            self.limit(command);
        }
        self.next
    }

    /// Returns whether the pace depends only on the command.
    pub(crate) fn steady(&self) -> bool {
        self.free || self.share.is_some()
    }

    /// Returns the time that a command takes, rounded to picoseconds, which changes shares by less than one part in a
    /// million.
    #[inline]
    pub(crate) fn step(&mut self, command: &Command) -> Time {
        let kind = kind(command);
        if kind != self.kind {
            self.kind = kind;
            self.step = self.step_of(command);
        }
        self.step
    }

    #[inline(never)]
    fn step_of(&self, command: &Command) -> Time {
        match self.share {
            None => self.service(command.bytes()),
            Some(_) if self.writes && command.op != Op::Write => 0,
            Some(per_byte) => {
                let half = u128::from(per_byte) * u128::from(command.bytes()) + (1 << 31);
                u64::try_from(half >> 32).unwrap_or(u64::MAX).max(1)
            }
        }
    }

    /// Returns whether [`Self::choose`] chooses the direction of the next command.
    pub(crate) fn chooses(&self) -> bool {
        self.rates.chooses() && self.share.is_none()
    }

    /// Returns the direction of the next command, which the rates choose, and delays the command until they allow it.
    pub(crate) fn choose(&mut self, direction: usize) -> usize {
        let direction = self.rates.choose(direction, self.next);
        self.next = self.next.max(self.rates.due(direction));
        direction
    }

    /// Applies `rate`, `rate_iops` and `thinktime`.
    fn limit(&mut self, command: &Command) {
        let direction = match command.op {
            Op::Read => READ,
            Op::Write => WRITE,
            Op::Deallocate => TRIM,
            Op::Flush | Op::Update => return,
        };
        self.rates.issued(direction, command.bytes());
        if !self.rates.chooses() {
            self.next = self.next.max(self.rates.due(direction));
        }
        self.until_think -= 1;
        if self.until_think == 0 {
            self.until_think = self.think_blocks;
            self.next = self.next.saturating_add(self.think);
        }
    }
}
