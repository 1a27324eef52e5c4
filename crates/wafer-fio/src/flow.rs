//! `flow`: jobs whose numbers of commands stay in proportion to their weights.
//!
//! As in fio, a job of a group (`flow_id`) stands still while its part of the group's commands exceeds its part of the
//! weights. The parts add up to less than the whole, so at least one job of a group may always continue.

use std::collections::BTreeMap;

/// What a job has of its group.
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
    /// Commands of its running jobs, and one.
    commands: u64,
    /// When the last of them went, or a job left.
    time: u64,
}

/// The jobs of a phase that have `flow`. Jobs are named by their positions among those of the phase; a time has any unit.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    groups: BTreeMap<u32, Group>,
    /// Of each job its flow, while it runs, and its commands.
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

    /// Returns whether a job stands still until others of its group have gone on.
    #[inline]
    pub fn holds(&self, job: usize) -> bool {
        self.group(job).is_some_and(|(group, flow, commands)| {
            let part = u128::from(commands) * u128::from(group.weight);
            part > u128::from(group.commands) * u128::from(flow.weight)
        })
    }

    /// Returns when the last command of the job's group went, or a job left it: one that was held continues then.
    #[inline]
    pub fn time(&self, job: usize) -> u64 {
        self.group(job).map_or(0, |(group, ..)| group.time)
    }

    /// Notes a command of a job.
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

    /// Lets a job that has ended at a time leave its group.
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
