//! The Latency Monitor of OCP: counts slow reads, writes and deallocates, measured from arrival to completion.
//!
//! It is off until a host enables it. While it is on, queues record the time of each command; otherwise they only
//! check one flag per batch.

use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use wafer_drive::Drive;
use wafer_nvme::zerocopy::IntoBytes as _;
use wafer_nvme::{
    Fid, LATENCY_MONITOR_GUID, NvmOpcode, OcpLatencies, OcpLatencyLog, OcpLatencyMonitor, Sqe,
};

/// Unit of thresholds.
const THRESHOLD: Duration = Duration::from_millis(5);
/// Unit of the bucket timer.
const BUCKET_TIMER: Duration = Duration::from_secs(300);
/// Unit of the minimum window.
const WINDOW: Duration = Duration::from_millis(100);
const BUCKETS: usize = 4;
const KINDS: usize = 3;
/// Timestamp of a bucket without a measured latency.
const NO_STAMP: u64 = u64::MAX;

/// The kind of a command, in the order of the log page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Deallocate,
    Write,
    Read,
}

impl Kind {
    fn of(sqe: &Sqe) -> Option<Self> {
        match NvmOpcode(sqe.opcode) {
            NvmOpcode::READ => Some(Kind::Read),
            NvmOpcode::WRITE => Some(Kind::Write),
            NvmOpcode::DATASET_MANAGEMENT => Some(Kind::Deallocate),
            _ => None,
        }
    }
}

/// Returns the settings of a new drive: thresholds of 30, 100, 155 and 235 ms, a bucket timer of a week, greatest
/// latencies at most once per second; disabled.
pub fn default_settings() -> OcpLatencyMonitor {
    OcpLatencyMonitor {
        bucket_timer_threshold: 0x7e0.into(),
        thresholds_z: [0x05, 0x13, 0x1e, 0x2e],
        configuration: 0xfff.into(),
        minimum_window: 0x0a,
        ..Default::default()
    }
}

/// Bytes of the saved settings: all but reserved ones.
pub const SAVED: usize = offset_of!(OcpLatencyMonitor, rsvd13);

/// Returns the settings saved with a drive.
pub fn saved_settings(drive: &Drive) -> Option<OcpLatencyMonitor> {
    let saved = drive.saved_feature(Fid::OCP_LATENCY_MONITOR.0)?;
    let mut settings = OcpLatencyMonitor::default();
    settings.as_mut_bytes().get_mut(..saved.len())?.copy_from_slice(&saved);
    Some(settings)
}

/// The monitor of a drive.
pub struct LatencyMonitor {
    enabled: AtomicBool,
    state: Mutex<State>,
}

struct State {
    settings: OcpLatencyMonitor,
    /// Start of the bucket timer.
    since: Instant,
    active: OcpLatencies,
    /// Time at which each latency of `active` was measured.
    measured: [[Option<Instant>; KINDS]; BUCKETS],
    /// The last complete period of the bucket timer.
    fixed: OcpLatencies,
}

fn empty() -> OcpLatencies {
    OcpLatencies { stamps: [[NO_STAMP.into(); KINDS]; BUCKETS], ..Default::default() }
}

impl State {
    fn new(settings: OcpLatencyMonitor, now: Instant) -> Self {
        let measured = Default::default();
        State { settings, since: now, active: empty(), measured, fixed: empty() }
    }

    /// Ends the periods of the bucket timer that have elapsed.
    fn roll(&mut self, now: Instant) {
        let period = BUCKET_TIMER * u32::from(self.settings.bucket_timer_threshold.get());
        if period.is_zero() || now.duration_since(self.since) < period {
            return;
        }
        let periods = now.duration_since(self.since).as_millis() / period.as_millis();
        let last = std::mem::replace(&mut self.active, empty());
        self.fixed = if periods == 1 { last } else { empty() };
        self.measured = Default::default();
        self.since += period * u32::try_from(periods).unwrap_or(u32::MAX);
    }

    fn record(&mut self, kind: Kind, latency: Duration, now: Instant, timestamp: (u64, u8)) {
        self.roll(now);
        let exceeded = |z: &u8| latency >= THRESHOLD * (u32::from(*z) + 1);
        let Some(bucket) = self.settings.thresholds_z.iter().rposition(exceeded) else { return };
        let at = kind as usize;
        // The first counter of a bucket is reserved.
        let counter = &mut self.active.counters[bucket][at + 1];
        *counter = counter.get().saturating_add(1).into();
        // Bits are in the order read, write, deallocate.
        let bit = 1 << (bucket * KINDS + KINDS - 1 - at);
        let greatest = self.settings.configuration.get() & bit != 0;
        let window = WINDOW * u32::from(self.settings.minimum_window);
        let milliseconds = u16::try_from(latency.as_millis()).unwrap_or(u16::MAX);
        let replace = match self.measured[bucket][at] {
            None => true,
            Some(before) => {
                greatest
                    && now.duration_since(before) >= window
                    && milliseconds > self.active.latencies[bucket][at].get()
            }
        };
        if replace {
            self.measured[bucket][at] = Some(now);
            self.active.latencies[bucket][at] = milliseconds.into();
            self.active.stamps[bucket][at] = timestamp.0.into();
            let set_by_host = if timestamp.1 == 0 { 0 } else { bit };
            let units = self.active.stamp_units.get() & !bit | set_by_host;
            self.active.stamp_units = units.into();
        }
    }
}

impl LatencyMonitor {
    /// Creates a monitor with the settings saved with a drive.
    pub fn new(drive: &Drive) -> Self {
        let settings = saved_settings(drive).unwrap_or_else(default_settings);
        LatencyMonitor {
            enabled: AtomicBool::new(settings.enable & 1 == 1),
            state: Mutex::new(State::new(settings, Instant::now())),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the settings in effect.
    pub fn settings(&self) -> OcpLatencyMonitor {
        self.state().settings
    }

    /// Starts over with other settings.
    pub fn set(&self, settings: OcpLatencyMonitor) {
        *self.state() = State::new(settings, Instant::now());
        self.enabled.store(settings.enable & 1 == 1, Ordering::Relaxed);
    }

    /// Returns the log page.
    pub fn log(&self) -> OcpLatencyLog {
        let now = Instant::now();
        let mut state = self.state();
        state.roll(now);
        let State { settings, since, active, fixed, .. } = &*state;
        let timer = now.duration_since(*since).as_secs() / BUCKET_TIMER.as_secs();
        OcpLatencyLog {
            status: settings.enable & 1,
            bucket_timer: u16::try_from(timer).unwrap_or(u16::MAX).into(),
            bucket_timer_threshold: settings.bucket_timer_threshold,
            thresholds_z: settings.thresholds_z,
            configuration: settings.configuration,
            minimum_window: settings.minimum_window,
            active: *active,
            fixed: *fixed,
            version: 1.into(),
            guid: LATENCY_MONITOR_GUID,
            ..Default::default()
        }
    }
}

/// Measures the commands of a queue while the monitor is enabled.
#[derive(Default)]
pub struct Stopwatch {
    running: bool,
    /// Commands not yet completed, by identifier.
    open: Vec<(u16, Kind, Instant)>,
    /// Commands completed in this batch.
    done: Vec<(Kind, Instant)>,
}

impl Stopwatch {
    /// Begins a batch.
    pub fn begin_batch(&mut self, monitor: &LatencyMonitor) {
        self.running = monitor.enabled.load(Ordering::Relaxed);
    }

    /// Records the arrival of a command.
    pub fn begin(&mut self, sqe: &Sqe) {
        if self.running
            && let Some(kind) = Kind::of(sqe)
        {
            self.open.push((sqe.cid.get(), kind, Instant::now()));
        }
    }

    /// Records the completion of a command.
    pub fn end(&mut self, cid: u16) {
        if let Some(at) = self.open.iter().position(|(open, ..)| *open == cid) {
            let (_, kind, started) = self.open.swap_remove(at);
            self.done.push((kind, started));
        }
    }

    /// Adds the commands of a batch to the monitor, before their completions are sent.
    pub fn end_batch(&mut self, monitor: &LatencyMonitor, timestamp: impl Fn() -> (u64, u8)) {
        if self.done.is_empty() {
            return;
        }
        let now = Instant::now();
        let shortest = THRESHOLD;
        let mut slow = self.done.drain(..).filter(|(_, at)| now.duration_since(*at) >= shortest);
        let Some(first) = slow.next() else { return };
        let (mut state, stamp) = (monitor.state(), timestamp());
        for (kind, started) in std::iter::once(first).chain(slow) {
            state.record(kind, now.duration_since(started), now, stamp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn state(configuration: u16) -> (State, Instant) {
        let settings = OcpLatencyMonitor {
            bucket_timer_threshold: 1.into(),
            thresholds_z: [0, 1, 3, 7],
            configuration: configuration.into(),
            minimum_window: 1,
            ..Default::default()
        };
        let now = Instant::now();
        (State::new(settings, now), now)
    }

    fn counts(latencies: &OcpLatencies, kind: Kind) -> [u32; BUCKETS] {
        latencies.counters.map(|bucket| bucket[kind as usize + 1].get())
    }

    #[test]
    fn buckets_begin_at_their_thresholds() {
        let (mut state, now) = state(0xfff);
        for milliseconds in [4, 5, 9, 10, 19, 20, 39, 40, 70_000] {
            state.record(Kind::Read, MS * milliseconds, now, (7, 2));
        }
        state.record(Kind::Write, MS * 12, now, (8, 0));
        assert_eq!(counts(&state.active, Kind::Read), [2, 2, 2, 2]);
        assert_eq!(counts(&state.active, Kind::Write), [0, 1, 0, 0]);
        assert_eq!(counts(&state.active, Kind::Deallocate), [0; 4]);
        assert_eq!(state.active.stamps[1][Kind::Write as usize].get(), 8);
        assert_eq!(state.active.stamps[0][Kind::Write as usize].get(), NO_STAMP);
        // Only the host's timestamps are in host units: the bits of the reads.
        assert_eq!(state.active.stamp_units.get(), 0b001_001_001_001);
    }

    #[test]
    fn the_configuration_chooses_the_greatest_or_the_first_latency() {
        for (configuration, expected) in [(0xfff, 8), (0, 6)] {
            let (mut state, now) = state(configuration);
            let measured = |state: &State| state.active.latencies[0][Kind::Write as usize].get();
            state.record(Kind::Write, MS * 6, now, (1, 0));
            // Within the minimum window, nothing replaces it.
            state.record(Kind::Write, MS * 9, now + MS * 99, (2, 0));
            assert_eq!(measured(&state), 6);
            state.record(Kind::Write, MS * 8, now + MS * 100, (3, 0));
            state.record(Kind::Write, MS * 7, now + MS * 300, (4, 0));
            assert_eq!(measured(&state), expected);
            assert_eq!(counts(&state.active, Kind::Write), [4, 0, 0, 0]);
        }
    }

    #[test]
    fn the_bucket_timer_moves_active_values() {
        let (mut state, now) = state(0xfff);
        state.record(Kind::Read, MS * 6, now, (1, 0));
        state.record(Kind::Read, MS * 7, now + BUCKET_TIMER, (2, 0));
        let reads = |state: &State| {
            (counts(&state.fixed, Kind::Read)[0], counts(&state.active, Kind::Read)[0])
        };
        assert_eq!(reads(&state), (1, 1));
        assert_eq!(state.fixed.latencies[0][Kind::Read as usize].get(), 6);
        state.roll(now + BUCKET_TIMER * 2);
        assert_eq!(reads(&state), (1, 0));
        state.roll(now + BUCKET_TIMER * 5);
        assert_eq!(reads(&state), (0, 0));
    }

    #[test]
    fn counters_do_not_wrap() {
        let (mut state, now) = state(0xfff);
        state.active.counters[0][Kind::Read as usize + 1] = u32::MAX.into();
        state.record(Kind::Read, MS * 6, now, (1, 0));
        assert_eq!(counts(&state.active, Kind::Read)[0], u32::MAX);
    }
}
