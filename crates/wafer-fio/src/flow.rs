//! `flow`: jobs whose numbers of commands stay in proportion to their weights.
//!
//! As in fio, a job of a group (`flow_id`) pauses while its share of the group's commands exceeds its share of the
//! weights. The shares of commands add up to less than 1, so at least one job of a group can always continue.

use std::collections::BTreeMap;

/// The flow of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// `flow_id`: its group.
    pub id: u32,
    /// `flow`: its weight, at least 1.
    pub weight: u32,
}

/// The running jobs of a group.
#[derive(Clone, Copy, Debug)]
struct Group {
    weight: u64,
    /// Commands of its running jobs, plus one.
    commands: u64,
    /// When the last of these commands was issued, or a job left.
    time: u64,
}

/// The jobs of a phase that have `flow`. Jobs are numbered by their position in the phase; times may be in any unit.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    groups: BTreeMap<u32, Group>,
    /// For each running job, its flow and its number of commands.
    jobs: Vec<Option<(Flow, u64)>>,
}

impl Flows {
    /// Starts the jobs of a phase, some of which have a flow.
    pub fn start(flows: impl IntoIterator<Item = Option<Flow>>) -> Self {
        let mut jobs: Vec<_> = flows.into_iter().map(|flow| Some((flow?, 0))).collect();
        if jobs.iter().all(Option::is_none) {
            jobs.clear();
        }
        let mut groups = BTreeMap::new();
        for (flow, _) in jobs.iter().flatten() {
            let group = groups.entry(flow.id).or_insert(Group { weight: 0, commands: 1, time: 0 });
            group.weight += u64::from(flow.weight);
        }
        Flows { groups, jobs }
    }

    /// Returns whether no job has a flow.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns whether a job has to wait for others of its group.
    #[inline]
    pub fn holds(&self, job: usize) -> bool {
        self.group(job).is_some_and(|(group, flow, commands)| {
            let part = u128::from(commands) * u128::from(group.weight);
            part > u128::from(group.commands) * u128::from(flow.weight)
        })
    }

    /// Returns when the last command of the job's group was issued, or a job left it: a waiting job continues then.
    #[inline]
    pub fn time(&self, job: usize) -> u64 {
        self.group(job).map_or(0, |(group, ..)| group.time)
    }

    /// Counts a command of a job.
    #[inline]
    pub fn issued(&mut self, job: usize, time: u64) {
        let Some(Some((flow, commands))) = self.jobs.get_mut(job) else { return };
        *commands += 1;
        if let Some(group) = self.groups.get_mut(&flow.id) {
            group.commands += 1;
            group.time = group.time.max(time);
        }
    }

    /// Returns whether a job belongs to a group that it has not left.
    pub fn has(&self, job: usize) -> bool {
        self.group(job).is_some()
    }

    /// Removes a job that ended at `time` from its group.
    pub fn leave(&mut self, job: usize, time: u64) {
        let Some((flow, commands)) = self.jobs.get_mut(job).and_then(Option::take) else { return };
        if let Some(group) = self.groups.get_mut(&flow.id) {
            group.weight -= u64::from(flow.weight);
            group.commands -= commands;
            group.time = group.time.max(time);
        }
    }

    fn group(&self, job: usize) -> Option<(&Group, Flow, u64)> {
        let (flow, commands) = (*self.jobs.get(job)?)?;
        Some((self.groups.get(&flow.id)?, flow, commands))
    }
}
