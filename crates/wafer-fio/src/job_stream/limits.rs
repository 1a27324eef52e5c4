//! The end of a job: `size`, `io_size`, `loops`, `number_ios`, `time_based`.
//!
//! fio works in passes over the region. A pass ends when no block is left: the random map is full, or a sequential job
//! has reached the end. If the I/O engine queues commands, it also ends after `size` bytes (`do_io` in fio's
//! backend.c); with other engines, a random job without a map never ends a pass. fio starts another pass while there
//! are `loops`, and then while `io_size` is not reached. Over all passes, it stops at `io_size * loops` bytes
//! (`keep_running` and `io_bytes_exceeded`; checked with fio 3.33).

use crate::job::{Direction, JobSpec};

/// The progress of a job towards its limits.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    time_based: bool,
    io_size: u64,
    /// Whether `io_size` differs from `size`.
    io_size_given: bool,
    loops: u64,
    max_block: u64,
    /// Counted bytes after which a pass ends.
    pass_bytes: u64,
    /// `io_size * loops`; bytes of the counted directions.
    pub(crate) byte_cap: u64,
    /// `number_ios * loops`; pairs in `trimwrite`.
    pub(crate) command_cap: u64,
    pub(crate) bytes: u64,
    pub(crate) commands: u64,
    passes: u64,
    /// Bytes when the pass began: a pass without any ends the job.
    pass_began: u64,
}

impl Limits {
    pub(crate) fn new(spec: &JobSpec, max_block: u64) -> Self {
        let loops = spec.loops.max(1);
        let per_ios = if spec.direction == Direction::TrimWrite { 2 } else { 1 };
        let ios = spec.number_ios.filter(|n| *n > 0);
        Limits {
            time_based: spec.time_based,
            io_size: spec.io_size,
            io_size_given: spec.io_size != spec.size,
            loops,
            max_block,
            pass_bytes: spec.pass_bytes.filter(|_| !spec.time_based).unwrap_or(u64::MAX),
            byte_cap: if spec.time_based { u64::MAX } else { spec.io_size.saturating_mul(loops) },
            command_cap: ios
                .filter(|_| !spec.time_based)
                .map_or(u64::MAX, |n| n.saturating_mul(loops).saturating_mul(per_ios)),
            bytes: 0,
            commands: 0,
            passes: 1,
            pass_began: 0,
        }
    }

    /// Returns whether the job has reached a limit.
    #[inline]
    pub(crate) fn reached(&self) -> bool {
        self.bytes >= self.byte_cap || self.commands >= self.command_cap
    }

    /// Returns whether a single pass has reached a limit of the whole job; fio then issues nothing more, not even a
    /// flush.
    pub(crate) fn reached_in_a_pass(&self) -> bool {
        self.bytes - self.pass_began >= self.byte_cap || self.commands >= self.command_cap
    }

    /// Returns whether the pass has transferred all its bytes.
    #[inline]
    pub(crate) fn pass_is_over(&self) -> bool {
        self.pass_room() == 0
    }

    fn pass_room(&self) -> u64 {
        self.pass_bytes.saturating_sub(self.bytes - self.pass_began)
    }

    /// Returns how many commands of `bytes` counted bytes may follow in this pass, at most `max`.
    pub(crate) fn room_in_the_pass(&self, bytes: u64, max: usize) -> usize {
        self.pass_room().div_ceil(bytes).min(max as u64) as usize
    }

    /// Returns how many commands of `bytes` counted bytes may follow, at most `max`.
    #[inline]
    pub(crate) fn room(&self, bytes: u64, max: usize) -> usize {
        let by_bytes = self.byte_cap.saturating_sub(self.bytes).div_ceil(bytes);
        let by_count = self.command_cap.saturating_sub(self.commands);
        by_bytes.min(by_count).min(max as u64) as usize
    }

    /// Ends a pass; returns whether there is another.
    pub(crate) fn next_pass(&mut self) -> bool {
        if self.bytes == self.pass_began || self.reached() {
            return false;
        }
        let more = self.time_based
            || self.passes < self.loops
            || self.io_size_given && self.io_size.saturating_sub(self.bytes) >= self.max_block;
        self.passes += 1;
        self.pass_began = self.bytes;
        more
    }

    /// Returns the counted bytes that a job will transfer; `None` if it is `time_based`. `pass` is the counted bytes of
    /// one pass, `None` for jobs whose passes do not end.
    pub(crate) fn total(&self, pass: Option<u64>, command: f64) -> Option<u64> {
        if self.time_based {
            return None;
        }
        let mut total = self.byte_cap;
        if let Some(pass) = pass {
            let wanted = if self.io_size_given { self.io_size.div_ceil(pass.max(1)) } else { 0 };
            total = total.min(pass.saturating_mul(self.loops.max(wanted)));
        }
        if self.command_cap != u64::MAX {
            total = total.min((self.command_cap as f64 * command) as u64);
        }
        Some(total)
    }
}
