//! A die as a state machine that looks at the clock at every event.

use std::collections::VecDeque;

use wafer_media::{Time, Work};

/// Background work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) work: Work,
    /// When its data is there.
    pub(super) ready: Time,
    pub(super) length: Time,
    /// Pages of hosts and of garbage collection in the buffer that it frees, and its number among all programs.
    pub(super) frees: [u64; 2],
    pub(super) program: u64,
    /// Distance of the points at which it gives way; 0: never.
    pub(super) slice: Time,
}

/// A read of one unit for a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRead {
    pub(super) request: usize,
    /// Which unit of the request.
    pub(super) unit: u32,
    pub(super) pages: u32,
    pub(super) arrived: Time,
    pub(super) length: Time,
    /// What was under way when it came as the first read.
    pub(super) behind: Option<Work>,
    /// When the cells were read from; set as it begins.
    pub(super) began: Time,
}

#[derive(Clone, Copy, Debug)]
enum Doing {
    Nothing,
    Reads { since: Time },
    Work { job: Job, since: Time, until: Time },
}

/// What a die has ended.
pub(super) enum Ended {
    Read(CellRead),
    Job(Job),
}

#[derive(Debug)]
pub(super) struct Die {
    doing: Doing,
    /// What each plane that reads by itself reads, and until when.
    planes: Vec<Option<(CellRead, Time)>>,
    reads: VecDeque<CellRead>,
    jobs: VecDeque<Job>,
    /// Work that has given way, and the time that it still needs.
    suspended: Option<(Job, Time)>,
    /// Points that the first waiting read still misses.
    misses: u64,
    /// Time in which it read for hosts.
    pub(super) read_time: Time,
}

impl Die {
    pub(super) fn new(planes: u32) -> Self {
        Die {
            doing: Doing::Nothing,
            planes: vec![None; planes as usize],
            reads: VecDeque::new(),
            jobs: VecDeque::new(),
            suspended: None,
            misses: 0,
            read_time: 0,
        }
    }

    pub(super) fn queue(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// A read comes. `misses` draws how many points it misses.
    pub(super) fn read(&mut self, mut read: CellRead, misses: impl FnOnce() -> u64) {
        if let Doing::Work { job, .. } = self.doing
            && self.reads.len() < self.planes.len()
        {
            read.behind = Some(job.work);
            if job.slice > 0 && self.reads.is_empty() {
                self.misses = misses();
            }
        }
        self.reads.push_back(read);
    }

    /// Ends what ends now.
    pub(super) fn end(&mut self, now: Time) -> Option<Ended> {
        match self.doing {
            Doing::Work { job, until, .. } if until == now => {
                self.doing = Doing::Nothing;
                Some(Ended::Job(job))
            }
            Doing::Reads { since } => {
                let is_over = |read: &&mut Option<(CellRead, Time)>| matches!(read, Some((_, until)) if *until == now);
                // Of several, the one that came first.
                let over = self.planes.iter_mut().filter(is_over);
                let (read, _) = over
                    .min_by_key(|read| {
                        let (read, _) = read.unwrap();
                        (read.request, read.unit)
                    })?
                    .take()?;
                if self.planes.iter().all(Option::is_none) {
                    self.read_time += now - since;
                    self.doing = Doing::Nothing;
                }
                Some(Ended::Read(read))
            }
            _ => None,
        }
    }

    /// Decides what to do from now on.
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
            self.doing = Doing::Nothing;
        }
        if let Doing::Work { .. } = self.doing {
            return;
        }
        for plane in self.planes.iter_mut().filter(|plane| plane.is_none()) {
            if let Some(mut read) = self.reads.pop_front() {
                read.began = now;
                *plane = Some((read, now + read.length));
                if let Doing::Nothing = self.doing {
                    self.doing = Doing::Reads { since: now };
                }
            }
        }
        if let Doing::Reads { .. } = self.doing {
            return;
        }
        if let Some((job, left)) = self.suspended.take() {
            self.doing = Doing::Work { job, since: now, until: now + left };
        } else if self.jobs.front().is_some_and(|job| job.ready <= now) {
            let job = self.jobs.pop_front().unwrap();
            self.doing = Doing::Work { job, since: now, until: now + job.length };
        }
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
