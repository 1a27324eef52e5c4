//! Latencies of a run: by direction, job, handle and namespace.

use std::collections::BTreeMap;

use wafer_interface::{Command, Op, Placement, stream};
use wafer_media::{Done, Latencies};

use super::series::Series;

/// Reads and writes.
#[derive(Default)]
pub(super) struct Pair {
    pub(super) read: Latencies,
    pub(super) write: Latencies,
}

/// What a run has measured.
pub(super) struct Statistics {
    /// Jobs by number; clones share a name.
    pub(super) jobs: Vec<Pair>,
    pub(super) names: Vec<String>,
    pub(super) namespaces: Vec<Pair>,
    /// Writes by the placement index that they name.
    pub(super) handles: BTreeMap<u16, Latencies>,
    pub(super) series: Series,
}

impl Statistics {
    pub(super) fn new(jobs: &[String], namespaces: usize) -> Self {
        let mut names: Vec<String> = Vec::new();
        for job in jobs {
            if !names.contains(job) {
                names.push(job.clone());
            }
        }
        Statistics {
            jobs: jobs.iter().map(|_| Pair::default()).collect(),
            names: jobs.to_vec(),
            namespaces: (0..namespaces).map(|_| Pair::default()).collect(),
            handles: BTreeMap::new(),
            series: Series::default(),
        }
    }

    pub(super) fn add(&mut self, done: &Done, (command, ticket): (Command, u64)) {
        let is_read = match command.op {
            Op::Read => true,
            Op::Write => false,
            Op::Deallocate | Op::Flush | Op::Update => return,
        };
        let latency = done.time - done.request.submitted;
        let bytes = done.request.bytes;
        let job = self.jobs.get_mut(stream::job_of(ticket));
        let namespace = self.namespaces.get_mut(command.namespace.index());
        for pair in job.into_iter().chain(namespace) {
            let latencies = if is_read { &mut pair.read } else { &mut pair.write };
            latencies.add(latency, bytes, &done.parts);
        }
        if !is_read && command.placement != Placement::NONE {
            let handle = self.handles.entry(command.placement.0).or_default();
            handle.add(latency, bytes, &done.parts);
        }
        self.series.add(done.time, is_read, latency, bytes);
    }
}
