//! Random reads and writes at a queue depth.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore as _, SeedableRng as _};
use serde::Serialize;

use crate::command::Io;
use crate::host::Host;
use crate::options::HostOptions;
use crate::protocol::HostError;
use crate::queue::Queue;
use crate::stamps::{Stamps, Verified};

/// The operation of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Random reads.
    Read,
    /// Random writes.
    Write,
}

/// A load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Reads or writes.
    pub pattern: Pattern,
    /// Bytes per command; a multiple of the logical block size.
    pub bytes: u32,
    /// Outstanding commands per connection.
    pub depth: u16,
    /// Number of connections.
    pub connections: u16,
    /// Duration.
    pub time: Duration,
    /// Stop after this many commands on each connection.
    pub commands: Option<u64>,
    /// Number of blocks to use, from the first; 0 uses all.
    pub span: u64,
    /// Placement identifiers that writes use in turn. If empty, writes carry no directive.
    pub pids: Vec<u16>,
    /// Random seed of the addresses.
    pub seed: u64,
    /// Whether to verify data: writes stamp every block with its address and a serial number, and at the end all
    /// written blocks are read and compared. To keep the expected data known, connections use separate addresses and
    /// never have two writes to the same address in flight.
    pub verify: bool,
}

/// The result of a load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadResult {
    /// Completed commands.
    pub commands: u64,
    /// Failed commands.
    pub failed: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Commands per second.
    pub iops: f64,
    /// Latency percentiles, microseconds: 50, 99, 99.9.
    pub latency_us: [u64; 3],
    /// With [`Load::verify`]: number of commands whose data was read back.
    pub verified: u64,
    /// Number of those whose data was not the data written last.
    pub wrong: u64,
}

/// The results of one connection.
#[derive(Default)]
struct Done {
    failed: u64,
    verified: Verified,
}

impl Load {
    /// Runs the load on namespace `nsid`.
    ///
    /// # Errors
    /// A connection broke or was refused.
    pub fn run(
        &self,
        address: SocketAddr,
        options: &HostOptions,
        nsid: u32,
    ) -> Result<LoadResult, HostError> {
        let mut host = Host::connect(address, options.clone())?;
        let id: wafer_nvme::IdentifyNamespace = host.identify(wafer_nvme::Cns::NAMESPACE, nsid)?;
        let lbads = id.lbaf[usize::from(id.flbas & 0x0f)].lbads;
        let all = id.nsze.get();
        let blocks = self.bytes >> lbads;
        let span = if self.span == 0 { all } else { self.span.min(all) };
        let slots = span.checked_div(u64::from(blocks)).unwrap_or(0);
        if slots == 0 {
            let reason = "commands smaller than a logical block, or larger than the namespace";
            return Err(HostError::Protocol(reason.to_owned()));
        }
        let mut queues = Vec::new();
        for qid in 1..=self.connections {
            queues.push(host.io_queue(qid)?);
        }
        if self.verify && (self.pattern == Pattern::Read || slots < u64::from(self.connections)) {
            let reason = "verifying needs writes, and an address for each connection";
            return Err(HostError::Protocol(reason.to_owned()));
        }
        let workers: Vec<_> = queues
            .into_iter()
            .enumerate()
            .map(|(at, queue)| {
                let load = self.clone();
                std::thread::spawn(move || load.worker(queue, at as u64, nsid, blocks, slots))
            })
            .collect();
        let mut all = Histogram::<u64>::new(3).expect("three digits");
        let mut sum = Done::default();
        let mut seconds = 0.0f64;
        for worker in workers {
            let (histogram, done, took) =
                worker.join().map_err(|_| HostError::Protocol("a worker's panic".to_owned()))??;
            all.add(&histogram).expect("the same digits");
            sum.failed += done.failed;
            sum.verified.read += done.verified.read;
            sum.verified.wrong += done.verified.wrong;
            seconds = seconds.max(took);
        }
        Ok(LoadResult {
            commands: all.len(),
            failed: sum.failed,
            seconds,
            iops: all.len() as f64 / seconds,
            latency_us: [50.0, 99.0, 99.9].map(|p| all.value_at_percentile(p) / 1000),
            verified: sum.verified.read,
            wrong: sum.verified.wrong,
        })
    }

    fn worker(
        &self,
        mut queue: Queue,
        number: u64,
        nsid: u32,
        blocks: u32,
        slots: u64,
    ) -> Result<(Histogram<u64>, Done, f64), HostError> {
        let io = Io { nsid };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ (number << 32));
        let mut histogram = Histogram::new(3).expect("three digits");
        let mut data = vec![0; self.bytes as usize];
        rng.fill_bytes(&mut data);
        let mut stamps = self.verify.then(|| {
            let step = u64::from(self.connections);
            Stamps::new(number, step, (slots - number).div_ceil(step), blocks)
        });
        let started = Instant::now();
        let end = started + self.time;
        let limit = self.commands.unwrap_or(u64::MAX);
        let (mut sent, mut turn) = (0, 0);
        let mut done = Done::default();
        let mut times = vec![Instant::now(); 1 << 16];
        let mut some = Vec::new();
        loop {
            let now = Instant::now();
            let open = now < end;
            while open && sent < limit && queue.outstanding() < usize::from(self.depth) {
                let among = stamps.as_ref().map_or(slots, |s| s.last.len() as u64);
                let mut slot = ((u128::from(rng.next_u64()) * u128::from(among)) >> 64) as u64;
                if let Some(stamps) = &mut stamps {
                    match stamps.stamp(slot, &mut data) {
                        Some(free) => slot = free,
                        None => break,
                    }
                }
                let lba = slot * u64::from(blocks);
                let cid = match self.pattern {
                    Pattern::Read => queue.submit(io.read(lba, blocks), &[], self.bytes as usize),
                    Pattern::Write => {
                        let pid =
                            (!self.pids.is_empty()).then(|| self.pids[turn % self.pids.len()]);
                        turn += 1;
                        queue.submit(io.write(lba, blocks, pid), &data, 0)
                    }
                };
                if let Some(stamps) = &mut stamps {
                    stamps.of_cid.insert(cid, slot);
                }
                times[usize::from(cid)] = now;
                sent += 1;
            }
            if queue.outstanding() == 0 {
                break;
            }
            queue.complete_some(&mut some)?;
            for completion in some.drain(..) {
                done.failed += u64::from(!completion.status.is_success());
                let nanoseconds = times[usize::from(completion.cid)].elapsed().as_nanos() as u64;
                let _ = histogram.record(nanoseconds);
                if let Some(stamps) = &mut stamps {
                    stamps.completed(completion.cid);
                }
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        if let Some(stamps) = stamps {
            done.verified = stamps.verify(&mut queue, io, self.bytes as usize)?;
        }
        Ok((histogram, done, seconds))
    }
}
