//! A die as a state machine that checks the clock at every event.

use std::collections::VecDeque;

use wafer_interface::RuId;
use wafer_media::{Time, Work};

/// Background work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) work: Work,
    /// When its data has arrived.
    pub(super) ready: Time,
    pub(super) length: Time,
    /// Pages of hosts and of garbage collection that it frees in the buffer, and its number among all programs.
    pub(super) frees: [u64; 2],
    pub(super) program: u64,
    /// Time between the points at which it gives way; 0: never.
    pub(super) slice: Time,
}

/// A read of one unit for a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRead {
    pub(super) request: usize,
    /// Which unit of the request.
    pub(super) unit: u32,
    /// What it reads: the reclaim unit, or none for the SLC cache, and the part, of those that are read at once. `None`
    /// for a part of the map, which no other read shares.
    pub(super) part: Option<(Option<RuId>, u64)>,
    pub(super) pages: u32,
    pub(super) arrived: Time,
    pub(super) length: Time,
    /// The work that was under way when this read arrived as the first.
    pub(super) behind: Option<Work>,
    /// When the read of the cells began; set at that time.
    pub(super) began: Time,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    Reads { since: Time },
    Work { job: Job, since: Time, until: Time },
}

/// What a die has finished.
pub(super) enum Ended {
    Read(CellRead),
    Job(Job),
}

#[derive(Debug)]
pub(super) struct Die {
    doing: Doing,
    /// The current read of each independent plane, and its end.
    planes: Vec<Option<(CellRead, Time)>>,
    /// The last read of each plane.
    registers: Vec<Option<(CellRead, Time)>>,
    /// The times at which it began or resumed work.
    began_work: Vec<Time>,
    reads: VecDeque<CellRead>,
    /// Reads of a part that another read brings.
    joined: Vec<CellRead>,
    jobs: VecDeque<Job>,
    /// Work that has given way, and the time that it still needs.
    suspended: Option<(Job, Time)>,
    /// Yield points that the first waiting read still misses.
    misses: u64,
    /// Time spent reading for hosts.
    pub(super) read_time: Time,
    /// The work that was resumed, and the extra time that it took.
    pub(super) resumed: Vec<(Work, Time)>,
}

impl Die {
    pub(super) fn new(planes: u32) -> Self {
        Die {
            doing: Doing::Nothing,
            planes: vec![None; planes as usize],
            registers: vec![None; planes as usize],
            began_work: Vec::new(),
            reads: VecDeque::new(),
            joined: Vec::new(),
            jobs: VecDeque::new(),
            suspended: None,
            misses: 0,
            read_time: 0,
            resumed: Vec::new(),
        }
    }

    pub(super) fn queue(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// Adds a read. `misses` draws how many yield points it misses. Returns the read if its data is in a register.
    pub(super) fn read(
        &mut self,
        mut read: CellRead,
        misses: impl FnOnce() -> u64,
    ) -> Option<CellRead> {
        let now = read.arrived;
        let is_same = |other: &CellRead| read.part.is_some() && other.part == read.part;
        let under_way = self.planes.iter().flatten().map(|(other, _)| other);
        if under_way.chain(&self.reads).any(is_same) {
            self.joined.push(read);
            return None;
        }
        // Planes that reads wait for are reused at this very moment.
        let held = self.idle_planes().skip(self.reads.len()).any(|plane| {
            let is_held = |(other, until): (CellRead, Time)| {
                is_same(&other)
                    && !self.began_work.iter().any(|began| until <= *began && *began < now)
            };
            self.registers[plane].is_some_and(is_held)
        });
        if held {
            return Some(CellRead { length: 0, began: now, ..read });
        }
        if let Doing::Work { job, .. } = self.doing
            && self.reads.len() < self.planes.len()
        {
            read.behind = Some(job.work);
            if job.slice > 0 && self.reads.is_empty() {
                self.misses = misses();
            }
        }
        self.reads.push_back(read);
        None
    }

    /// Finishes what ends now.
    pub(super) fn end(&mut self, now: Time) -> Option<Ended> {
        // Reads that joined one that has just ended.
        for (read, until) in self.registers.iter().flatten().filter(|(_, until)| *until == now) {
            if let Some(at) = self.joined.iter().position(|joined| joined.part == read.part) {
                let joined = self.joined.remove(at);
                let began = read.began.max(joined.arrived);
                let (length, behind) = (until - began, read.behind);
                return Some(Ended::Read(CellRead { length, behind, began, ..joined }));
            }
        }
        match self.doing {
            Doing::Work { job, until, .. } if until == now => {
                self.doing = Doing::Nothing;
                Some(Ended::Job(job))
            }
            Doing::Reads { since } => {
                let is_over = |read: &Option<(CellRead, Time)>| matches!(read, Some((_, until)) if *until == now);
                // Of several, the one that arrived first.
                let over = self.planes.iter_mut().enumerate().filter(|(_, read)| is_over(read));
                let (plane, read) = over.min_by_key(|(_, read)| {
                    let (read, _) = read.unwrap();
                    (read.request, read.unit)
                })?;
                let (read, _) = read.take()?;
                self.registers[plane] = Some((read, now));
                if self.planes.iter().all(Option::is_none) {
                    self.read_time += now - since;
                    self.doing = Doing::Nothing;
                }
                Some(Ended::Read(read))
            }
            _ => None,
        }
    }

    /// Decides what to do next.
    pub(super) fn go_on(&mut self, now: Time, resume: Time) {
        if let Doing::Work { job, since, until } = self.doing {
            let is_point = job.slice > 0 && now > since && (now - since).is_multiple_of(job.slice);
            if self.reads.is_empty() || !is_point {
                return;
            }
            if self.misses > 0 {
                self.misses -= 1;
                return;
            }
            self.suspended = Some((job, until - now + resume));
            self.resumed.push((job.work, resume));
            self.doing = Doing::Nothing;
        }
        if let Doing::Work { .. } = self.doing {
            return;
        }
        for plane in self.idle_planes() {
            if let Some(mut read) = self.reads.pop_front() {
                read.began = now;
                self.planes[plane] = Some((read, now + read.length));
                if let Doing::Nothing = self.doing {
                    self.doing = Doing::Reads { since: now };
                }
            }
        }
        if let Doing::Reads { .. } = self.doing {
            return;
        }
        if let Some((job, left)) = self.suspended.take() {
            self.began_work.push(now);
            self.doing = Doing::Work { job, since: now, until: now + left };
        } else if self.jobs.front().is_some_and(|job| job.ready <= now) {
            let job = self.jobs.pop_front().unwrap();
            self.began_work.push(now);
            self.doing = Doing::Work { job, since: now, until: now + job.length };
        }
    }

    /// Returns the idle planes, longest idle first.
    fn idle_planes(&self) -> impl Iterator<Item = usize> + use<> {
        let is_idle = |plane: &usize| self.planes[*plane].is_none();
        let mut idle: Vec<usize> = (0..self.planes.len()).filter(is_idle).collect();
        idle.sort_by_key(|plane| self.registers[*plane].map(|(_, until)| until));
        idle.into_iter()
    }

    /// Returns when it next has something to do, after `now`.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        match self.doing {
            Doing::Nothing => self.jobs.front().map(|job| job.ready),
            Doing::Reads { .. } => self.planes.iter().flatten().map(|(_, until)| *until).min(),
            Doing::Work { job, since, until } if job.slice > 0 && !self.reads.is_empty() => {
                let point = since + ((now - since) / job.slice + 1) * job.slice;
                Some(point.min(until))
            }
            Doing::Work { until, .. } => Some(until),
        }
    }

    /// Returns the numbers of the programs that will free room in the buffer.
    pub(super) fn programs(&self) -> impl Iterator<Item = u64> + '_ {
        let under_way = match self.doing {
            Doing::Work { job, .. } => Some(job),
            _ => None,
        };
        let suspended = self.suspended.map(|(job, _)| job);
        (under_way.into_iter().chain(suspended).chain(self.jobs.iter().copied()))
            .filter(|job| job.frees != [0, 0])
            .map(|job| job.program)
    }
}
