//! The commands of one fio job, in fio's order and by fio's rules (checked against fio itself in `tests/fidelity.rs`).
//!
//! Random numbers are not fio's, so individual addresses differ, but all statistics agree. Known differences: a
//! sequential run inside a random job that reaches the end of the region continues at a random block; if block sizes
//! differ between directions, each direction has its own random map (fio mixes units in one).

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
    /// Generates commands in a tight loop, if the job allows it.
    plain: Option<Plain>,
    /// Expected bytes written; `None` for a job without an end.
    total_written: Option<u64>,
    ended: bool,
}

impl JobStream {
    /// Creates the commands of `spec`, job number `index` of a run with this seed (`spec.seed` takes precedence).
    ///
    /// # Errors
    /// The job cannot be generated; the error names the job and the option.
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

    /// Returns the bytes that the job is expected to write: 0 for a job that only reads or trims, `None` for one
    /// without an end.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_written
    }

    /// Returns the mean size of a command in bytes, by the job's options.
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

    /// Returns the memory of random maps and tables in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.state.maps.iter().map(RandomMap::memory_bytes).sum::<u64>()
            + self.state.addresses.iter().map(Addresses::memory_bytes).sum::<u64>()
    }

    /// Returns whether the job has generated all its bytes or commands in one pass.
    pub fn ends_at_limit(&self) -> bool {
        self.state.limits.reached_in_a_pass()
    }

    /// Counts the commands for `number_ios` from `commands` on; a job that had ended because of them goes on.
    pub fn recount(&mut self, commands: u64) {
        self.state.limits.commands = commands;
        self.ended &= self.state.limits.reached();
    }

    /// Returns the next command of a job that reads and writes; `choose` maps the direction that `rwmixread` requests
    /// to the one used.
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
