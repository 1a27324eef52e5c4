//! The state of operations that outlive a server: Sanitize and Device Self-test. The journal and checkpoints hold it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wafer_nvme::{SelfTestCode, SelfTestOutcome};

/// Number of self-test results kept, as many as fit in the log page.
const RESULTS: usize = 20;

/// The state of the last Sanitize operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SanitizeState {
    /// There has been none.
    #[default]
    Never,
    /// It succeeded.
    Completed,
    /// It is in progress.
    InProgress,
    /// It failed, and the drive is in the failure mode.
    Failed,
    /// It failed, and a host exited the failure mode.
    Left,
}

/// The last Sanitize operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sanitized {
    pub(crate) state: SanitizeState,
    /// Command dword 10.
    pub(crate) cdw10: u32,
    /// Host bytes written over the life of the drive when the operation succeeded.
    pub(crate) clean_at: Option<u64>,
}

/// The result of a Device Self-test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelfTestResult {
    /// Test type: a [`SelfTestCode`].
    pub code: u8,
    /// A [`SelfTestOutcome`].
    pub outcome: u8,
    /// The segment that failed first, from 1; 0 if none failed.
    pub segment: u8,
    /// Power-on time when it ended, hours.
    pub power_on_hours: u64,
    /// The namespace and logical block that could not be read.
    pub unreadable: Option<(u32, u64)>,
}

/// A Device Self-test in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunningTest {
    pub(crate) code: u8,
    /// Namespaces to test.
    pub(crate) nsids: Vec<u32>,
    /// The controller that received the command.
    pub(crate) controller: u16,
}

/// The test in progress and the latest results, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelfTests {
    pub(crate) running: Option<RunningTest>,
    pub(crate) results: VecDeque<SelfTestResult>,
}

impl SelfTests {
    /// Ends a short test, which does not outlive a power cycle.
    pub(crate) fn after_power_cycle(mut self, power_on_hours: u64) -> Self {
        if self.running.as_ref().is_some_and(|running| running.code == SelfTestCode::SHORT.0) {
            self.end(SelfTestOutcome::ABORTED_BY_RESET, power_on_hours);
        }
        self
    }

    /// Ends the test in progress, if any. Returns its result.
    pub(crate) fn end(
        &mut self,
        outcome: SelfTestOutcome,
        power_on_hours: u64,
    ) -> Option<&mut SelfTestResult> {
        let RunningTest { code, .. } = self.running.take()?;
        self.results.truncate(RESULTS - 1);
        self.results.push_front(SelfTestResult {
            code,
            outcome: outcome.0,
            segment: 0,
            power_on_hours,
            unreadable: None,
        });
        self.results.front_mut()
    }
}
