//! The commands of one fio job, in fio's order and with fio's laws (checked against fio itself in
//! `tests/fidelity.rs`).
//!
//! Random numbers are not fio's, so single addresses differ; everything that can be counted does not.
//! Known differences: a sequential run inside a random job that reaches the end of the region continues
//! at a random block; with block sizes that differ between directions each direction has its own random
//! map (fio mixes units in one).

mod general;
mod limits;
mod placing;
mod plain;
mod position;
mod sizes;
mod state;

use plain::Plain;
use state::State;
use wafer_interface::Command;
use wafer_random::RandomMap;

use crate::address::Addresses;
use crate::error::WorkloadError;
use crate::job::{Direction, JobSpec, Order, READ, TRIM, WRITE};

/// The commands of one job.
#[derive(Clone, Debug)]
pub struct JobStream {
    state: State,
    /// Generates commands in a tight loop, where the job allows it.
    plain: Option<Plain>,
    /// Expected bytes written; `None` without an end.
    total_written: Option<u64>,
    ended: bool,
}

impl JobStream {
    /// Returns the commands of `spec`, job number `index` of a run with this seed (`spec.seed` comes first).
    ///
    /// # Errors
    /// When the job cannot be generated, naming the job and the option.
    pub fn new(spec: &JobSpec, seed: u64, index: u32) -> Result<Self, WorkloadError> {
        let state = State::new(spec, seed, index).map_err(|message| WorkloadError::Job {
            file: spec.source.0.clone(),
            line: spec.source.1,
            job: spec.name.clone(),
            message,
        })?;
        let plain = Plain::of(&state);
        let total_written = expect_written(&state);
        Ok(JobStream { state, plain, total_written, ended: false })
    }

    /// Returns the bytes that the job will write, as far as can be known: 0 for a job that only reads or
    /// trims, `None` for one without an end.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_written
    }

    /// Returns the mean bytes of a command, by the job's options.
    pub(crate) fn mean_command(&self) -> f64 {
        let State { spec, sizes, .. } = &self.state;
        match spec.direction {
            Direction::Read => sizes[READ].mean(),
            Direction::Write | Direction::TrimWrite => sizes[WRITE].mean(),
            Direction::Trim => sizes[TRIM].mean(),
            Direction::ReadWrite => {
                let reads = f64::from(spec.read_percent) / 100.0;
                reads * sizes[READ].mean() + (1.0 - reads) * sizes[WRITE].mean()
            }
        }
    }

    /// Returns the bytes of memory of random maps and tables.
    pub fn memory_bytes(&self) -> u64 {
        self.state.maps.iter().map(RandomMap::memory_bytes).sum::<u64>()
            + self.state.addresses.iter().map(Addresses::memory_bytes).sum::<u64>()
    }

    /// Returns whether the job has generated all its bytes or commands, in one pass.
    pub fn ends_at_limit(&self) -> bool {
        self.state.limits.reached_in_a_pass()
    }

    /// Returns the next command of a job that reads and writes; `choose` says in which direction it goes, given what
    /// `rwmixread` asks for.
    pub fn next_as(&mut self, choose: impl FnMut(usize) -> usize) -> Option<Command> {
        if self.ended {
            return None;
        }
        let next = self.state.next(choose);
        self.ended = next.is_none();
        next
    }

    /// Appends up to `max` commands; fewer only at the end of the job.
    pub fn fill(&mut self, out: &mut Vec<Command>, max: usize) {
        out.reserve(max);
        let end = out.len() + max;
        while out.len() < end && !self.ended {
            let left = end - out.len();
            self.ended = match &mut self.plain {
                Some(plain) => !plain.fill(&mut self.state, out, left),
                None => self.state.fill(out, left),
            };
        }
    }
}

/// Returns the bytes that a job is expected to write.
fn expect_written(state: &State) -> Option<u64> {
    let State { spec, sizes, .. } = state;
    let counted = match spec.direction {
        Direction::Trim => TRIM,
        Direction::Read => READ,
        _ => WRITE,
    };
    let block = sizes[counted].min;
    let ends = spec.order == Order::Sequential || !state.maps.is_empty();
    let holes = spec.order == Order::Sequential && spec.order_modifier > 0;
    let blocks = match holes && spec.namespace_bytes > spec.size {
        true => spec.size.div_ceil(block.saturating_add_signed(spec.order_modifier)),
        false => spec.size / block,
    };
    let pass = ends.then_some(blocks * block);
    let total = state.limits.total(pass, sizes[counted].mean())?;
    Some(match spec.direction {
        Direction::Read | Direction::Trim => 0,
        Direction::Write | Direction::TrimWrite => total,
        Direction::ReadWrite => {
            let writes = f64::from(100 - spec.read_percent) * sizes[WRITE].mean();
            let reads = f64::from(spec.read_percent) * sizes[READ].mean();
            (total as f64 * writes / (writes + reads)) as u64
        }
    })
}

#[cfg(test)]
mod tests;
