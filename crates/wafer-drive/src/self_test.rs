//! Device Self-test, in the background.
//!
//! Segment 1 checks that the drive can be saved. Segment 2 checks that the data of namespaces can be read: the first
//! and last MiB of each in a short test, all of it in an extended test. An extended test restarts from the beginning
//! when the drive is opened again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use wafer_nvme::{SelfTestCode, SelfTestOutcome, Status};

use super::change::Change;
use super::namespace::Retired;
use super::operations::{RunningTest, SelfTestResult};
use super::{Drive, Inner};

/// Time that each call of [`Drive::maintain`] spends testing.
const TURN: Duration = Duration::from_millis(250);
/// Bytes read at a time, and at each end of a namespace by a short test.
const SLICE: u64 = 1 << 20;
const HOUR: u64 = 3600;

/// Segments of a test.
const HEALTH: u8 = 1;
const READ: u8 = 2;

/// The progress of the current test.
#[derive(Debug, Default)]
pub(crate) struct Testing(Mutex<Position>);

#[derive(Debug, Default)]
struct Position {
    /// Number of completed namespaces.
    done: usize,
    /// Offset of the first unread byte of the current namespace.
    at: u64,
}

/// The outcome of a test.
struct End {
    outcome: SelfTestOutcome,
    segment: u8,
    unreadable: Option<(u32, u64)>,
}

impl End {
    fn of(outcome: SelfTestOutcome) -> Self {
        End { outcome, segment: 0, unreadable: None }
    }

    fn removed(why: Retired) -> Self {
        End::of(match why {
            Retired::Deleted => SelfTestOutcome::ABORTED_BY_NAMESPACE_REMOVAL,
            Retired::Formatted => SelfTestOutcome::ABORTED_BY_FORMAT,
        })
    }
}

impl Drive {
    /// Begins a test of the drive and of namespaces, on behalf of a controller; [`Self::maintain`] continues.
    ///
    /// # Errors
    /// `SELF_TEST_IN_PROGRESS`.
    pub fn begin_self_test(
        &self,
        code: SelfTestCode,
        nsids: Vec<u32>,
        controller: u16,
    ) -> Result<(), Status> {
        let mut position = self.testing.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut inner = self.lock();
        if inner.self_tests.running.is_some() {
            return Err(Status::SELF_TEST_IN_PROGRESS);
        }
        *position = Position::default();
        inner.self_tests.running = Some(RunningTest { code: code.0, nsids, controller });
        self.keep_self_tests(&mut inner);
        Ok(())
    }

    /// Aborts the test in progress, if any.
    pub fn abort_self_test(&self) {
        self.end_self_test(&mut self.lock(), End::of(SelfTestOutcome::ABORTED_BY_COMMAND));
    }

    /// Aborts a short test started by a controller that is being reset.
    pub fn reset_self_test(&self, controller: u16) {
        let mut inner = self.lock();
        let short = |r: &RunningTest| r.code == SelfTestCode::SHORT.0 && r.controller == controller;
        if inner.self_tests.running.as_ref().is_some_and(short) {
            self.end_self_test(&mut inner, End::of(SelfTestOutcome::ABORTED_BY_RESET));
        }
    }

    /// Aborts the test in progress because of a Sanitize operation.
    pub(crate) fn sanitize_ends_self_test(&self, inner: &mut Inner) {
        self.end_self_test(inner, End::of(SelfTestOutcome::ABORTED_BY_SANITIZE));
    }

    /// Aborts the test in progress if it tests a namespace that is being removed.
    pub(crate) fn removal_ends_self_test(&self, inner: &mut Inner, nsid: u32, why: Retired) {
        if inner.self_tests.running.as_ref().is_some_and(|test| test.nsids.contains(&nsid)) {
            self.end_self_test(inner, End::removed(why));
        }
    }

    /// Returns the test in progress and its progress in percent.
    pub fn running_self_test(&self) -> Option<(SelfTestCode, u8)> {
        let position = self.testing.0.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = self.lock();
        let running = inner.self_tests.running.as_ref()?;
        let code = SelfTestCode(running.code);
        let bytes = |nsid: &u32| self.namespace(*nsid).map_or(0, |n| u128::from(n.bytes));
        let total: u128 = running.nsids.iter().map(bytes).sum();
        let done: u128 = running.nsids.iter().take(position.done).map(bytes).sum();
        let percent = (done + u128::from(position.at)) * 100 / total.max(1);
        Some((code, u8::try_from(percent).unwrap_or(99).min(99)))
    }

    /// Returns the latest results, newest first.
    pub fn self_test_results(&self) -> Vec<SelfTestResult> {
        self.lock().self_tests.results.iter().cloned().collect()
    }

    /// Tests for one turn, if a test is in progress.
    pub(crate) fn self_test(&self) {
        if self.lock().self_tests.running.is_none() {
            return;
        }
        let until = self.uptime() + TURN;
        let mut buffer = vec![0; SLICE as usize];
        loop {
            // A command may end the test between slices.
            let mut position = self.testing.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(running) = self.lock().self_tests.running.clone() else { return };
            if let Some(end) = self.self_test_slice(&running, &mut position, &mut buffer) {
                self.end_self_test(&mut self.lock(), end);
                return;
            }
            drop(position);
            if self.uptime() >= until {
                return;
            }
        }
    }

    fn self_test_slice(
        &self,
        running: &RunningTest,
        position: &mut Position,
        buffer: &mut [u8],
    ) -> Option<End> {
        if !self.is_saved() {
            return Some(End { segment: HEALTH, ..End::of(SelfTestOutcome::FAILED_SEGMENT) });
        }
        let Some(nsid) = running.nsids.get(position.done).copied() else {
            return Some(End::of(SelfTestOutcome::PASSED));
        };
        let Some(namespace) = self.namespace(nsid) else {
            return Some(End::removed(Retired::Deleted));
        };
        if let Some(why) = namespace.retired() {
            return Some(End::removed(why));
        }
        let at = position.at;
        let count = SLICE.min(namespace.bytes - at);
        let data = &mut buffer[..count as usize];
        let failed = namespace.media_error(at, count);
        let failed = failed.or_else(|| namespace.store.read(at, data).err().map(|_| at));
        if let Some(first) = failed {
            let unreadable = Some((nsid, first >> namespace.lba_shift));
            let outcome = SelfTestOutcome::FAILED_SEGMENT;
            return Some(End { outcome, segment: READ, unreadable });
        }
        position.at += count;
        if running.code == SelfTestCode::SHORT.0 {
            position.at = position.at.max(namespace.bytes.saturating_sub(SLICE));
        }
        if at + count >= namespace.bytes {
            *position = Position { done: position.done + 1, at: 0 };
        }
        None
    }

    fn end_self_test(&self, inner: &mut Inner, end: End) {
        let hours = self.life(inner).power_on_seconds / HOUR;
        let Some(result) = inner.self_tests.end(end.outcome, hours) else { return };
        result.segment = end.segment;
        result.unreadable = end.unreadable;
        self.keep_self_tests(inner);
    }

    /// Journals tests and results. A drive that cannot be saved keeps them in memory only.
    fn keep_self_tests(&self, inner: &mut Inner) {
        let change = Change::SelfTests(inner.self_tests.clone());
        self.note(inner, &change);
    }
}
