//! Moves commands from a stream to a device, batch by batch.

use std::sync::atomic::Ordering;

use wafer_device::Device;
use wafer_interface::{
    Batch, Command, CommandStream, Completion, LBA_BYTES, Observer, Op, StreamDescription,
    StreamState,
};
use wafer_record::{Recorder, TimeRecord};

use super::PROGRESS_EVERY;
use crate::clock::Instant;
use crate::control::{Control, Progress, Stage};
use crate::drive::{Drive, snapshot};
use wafer_experiment::LabError;
use wafer_experiment::Placements;

/// Maximum number of commands requested from the stream at once.
pub(super) const BATCH: usize = 4096;
/// The limit counts as near from this many commands before it.
const NEAR: u64 = 64 * BATCH as u64;
/// Number of commands first requested from a stream, of which nothing is known yet.
const FIRST: usize = 16;
/// How many commands ahead memory is prefetched when commands are applied one by one.
const AHEAD: usize = 16;
/// Number of commands without a write after which a run stops with an error.
const MOST_WITHOUT_WRITE: u64 = 1 << 30;

/// Moves commands from one stream to a device.
pub(super) struct Pump {
    stage: Stage,
    /// Expected bytes, for progress reports.
    pub(super) total: Option<u64>,
    /// Host bytes at which to stop, exactly.
    pub(super) limit: Option<u64>,
    /// Whether to take the stream's load instead of its commands.
    pub(super) load: bool,
    /// Whether to skip reads.
    pub(super) without_reads: bool,
    description: StreamDescription,
    placements: Placements,
    batch: Batch,
    completions: Vec<Completion>,
    reported: Instant,
    without_write: u64,
    /// Maximum number of commands to request next.
    most: usize,
    /// Whether the limit is near or the stream has just begun. For speed, the sizes of writes are checked only then.
    is_near: bool,
    /// Bytes of the largest write checked.
    largest: u64,
    /// Host bytes written since the counters were reset.
    host: u64,
}

impl Pump {
    pub(super) fn new(
        device: &Drive,
        stream: &(impl CommandStream + ?Sized),
        stage: Stage,
    ) -> Self {
        let description = stream.description();
        Pump {
            stage,
            total: None,
            limit: None,
            load: false,
            without_reads: false,
            description,
            placements: Placements::of(device.geometry(), description),
            batch: Batch::with_capacity(BATCH),
            completions: Vec::new(),
            reported: Instant::now(),
            without_write: 0,
            most: FIRST,
            is_near: false,
            largest: LBA_BYTES,
            host: device.counters().host_bytes,
        }
    }

    /// Moves a batch. Returns whether more may follow, because the stream has not ended and the limit is not reached.
    pub(super) fn turn(
        &mut self,
        device: &mut Drive,
        stream: &mut (impl CommandStream + ?Sized),
        recorder: Option<&mut Recorder>,
        control: Control<'_>,
    ) -> Result<bool, LabError> {
        let writable = device.check_writable();
        if let (Err(ended), Stage::Preconditioning) = (writable, self.stage) {
            return Err(LabError::Run(format!("before the run begins, {ended}")));
        }
        if self.host < self.limit.unwrap_or(u64::MAX)
            && writable.is_ok()
            && self.moved(device, stream, recorder, control)?
        {
            if self.reported.elapsed() >= PROGRESS_EVERY {
                self.reported = Instant::now();
                self.report(device, self.host, None, control);
            }
            return Ok(true);
        }
        self.report(device, self.host, None, control);
        Ok(false)
    }

    /// Moves a batch; returns whether the stream had one.
    fn moved(
        &mut self,
        device: &mut Drive,
        stream: &mut (impl CommandStream + ?Sized),
        recorder: Option<&mut Recorder>,
        control: Control<'_>,
    ) -> Result<bool, LabError> {
        if control.cancel.load(Ordering::Relaxed) {
            return Err(LabError::Cancelled);
        }
        let most = self.next_batch();
        let batch = &mut self.batch;
        batch.clear();
        let state = match self.load {
            true => stream.load(batch, most),
            false => stream.next(batch, most),
        };
        if batch.is_empty() {
            if state == StreamState::Waiting {
                let reason = "the workload waits for a completion and no command is in flight";
                return Err(LabError::Run(reason.to_owned()));
            }
            return Ok(false);
        }
        self.placements.resolve(&mut batch.commands);
        let pulled = batch.len() as u64;
        if self.is_near {
            let largest = batch.commands.iter().map(Command::written_bytes).max();
            self.largest = largest.unwrap_or(0).max(self.largest);
        }
        if self.without_reads {
            batch.commands.retain(|command| command.op != Op::Read);
        }
        let before = self.host;
        let limit = self.limit.unwrap_or(u64::MAX);
        self.host = apply(device, &mut batch.commands, limit, before, recorder);
        if self.description.waits {
            let completion = |ticket: &u64| Completion { ticket: *ticket, time_ns: None };
            self.completions.clear();
            self.completions.extend(batch.tickets.iter().map(completion));
            stream.completed(&self.completions);
        }
        let idle = self.without_write + pulled;
        self.without_write = if self.host > before { 0 } else { idle };
        if self.without_write > MOST_WITHOUT_WRITE && self.limit.is_some() {
            return Err(LabError::Run(format!(
                "the workload sent {} commands without a write; the volume would never be reached",
                self.without_write
            )));
        }
        Ok(true)
    }

    /// Returns the number of commands to request. It is no more than the limit needs, because the figures of streams
    /// count all commands generated. Streams that wait for completions get full batches, since other batch sizes may
    /// change their order.
    fn next_batch(&mut self) -> usize {
        let Some(limit) = self.limit.filter(|_| !self.description.waits) else { return BATCH };
        let most = self.most;
        self.most = (2 * most).min(BATCH);
        let needed = (limit - self.host) / self.largest;
        self.is_near = most < BATCH || needed < NEAR;
        needed.clamp(1, most as u64) as usize
    }

    /// Reports progress, `done` host bytes. `clock` is the model time and the results so far of a run with a clock.
    pub(super) fn report(
        &self,
        device: &mut Drive,
        done: u64,
        clock: Option<(f64, TimeRecord)>,
        control: Control<'_>,
    ) {
        (control.progress)(Progress { stage: self.stage, done, total: self.total });
        if let Some(watch) = control.watch {
            watch(snapshot(device, self.stage, clock));
        }
    }
}

/// Applies one batch up to the limit and records the samples due within it. Returns the host bytes
/// written since the counters were reset.
fn apply(
    device: &mut Device<impl Observer>,
    batch: &mut [Command],
    limit: u64,
    mut host: u64,
    mut recorder: Option<&mut Recorder>,
) -> u64 {
    let mut rest = 0;
    loop {
        let due = recorder.as_ref().map_or(u64::MAX, |r| r.next()).min(limit);
        let Some(last) = crossing(&batch[rest..], due - host) else {
            apply_all(device, &batch[rest..]);
            return device.counters().host_bytes;
        };
        let last = rest + last;
        let over = host + written(&batch[rest..=last]);
        if over > limit {
            batch[last].blocks -= ((over - limit) / LBA_BYTES) as u32;
        }
        apply_all(device, &batch[rest..=last]);
        host = device.counters().host_bytes;
        if device.check_writable().is_err() {
            return host;
        }
        rest = last + 1;
        match recorder.as_deref_mut() {
            Some(recorder) if host >= recorder.next() => recorder.record(device),
            _ => {}
        }
        if host >= limit {
            return host;
        }
    }
}

/// Applies commands up to the one that makes the device read-only, where a run ends, however its commands are batched.
fn apply_all(device: &mut Device<impl Observer>, commands: &[Command]) {
    if device.spare_percent().is_none() {
        return device.apply(commands);
    }
    for (at, command) in commands.iter().enumerate() {
        commands.get(at + 2 * AHEAD).into_iter().for_each(|ahead| device.prefetch_map(ahead));
        commands.get(at + AHEAD).into_iter().for_each(|ahead| device.prefetch_segments(ahead));
        device.apply(std::slice::from_ref(command));
        if device.check_writable().is_err() {
            return;
        }
    }
}

fn written(commands: &[Command]) -> u64 {
    commands.iter().map(Command::written_bytes).sum()
}

/// Returns the position of the command with which `bytes` bytes are written.
fn crossing(commands: &[Command], bytes: u64) -> Option<usize> {
    if written(commands) < bytes {
        return None;
    }
    let mut sum = 0;
    commands.iter().position(|command| {
        sum += command.written_bytes();
        sum >= bytes
    })
}
