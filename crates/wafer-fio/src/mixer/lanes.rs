//! Merges a few jobs, each with commands of equal duration: the tight loop of most mixed runs.

use wafer_interface::Command;

use super::clock::Time;

/// Number of jobs merged at once.
pub(crate) const LANES: usize = 3;

/// Commands of one job, `step` apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane<'a> {
    /// Issue time of the command at position `at`.
    pub(crate) time: Time,
    pub(crate) step: Time,
    pub(crate) ready: &'a [Command],
    /// Number of commands taken.
    pub(crate) at: usize,
}

impl Lane<'_> {
    /// No job.
    pub(crate) const EMPTY: Self = Lane { time: Time::MAX, step: 0, ready: &[], at: 0 };
}

/// Moves up to `n` commands to `out` in order of time, ties in order of lanes, and stops early at the end of a lane.
/// Returns the issue time of the last one, if any was moved.
///
/// The comparisons are branches on purpose: the pattern of a few regular jobs is predicted well, and no command waits
/// for the result of the previous choice.
pub(crate) fn merge(
    lanes: &mut [Lane<'_>; LANES],
    n: usize,
    out: &mut Vec<Command>,
) -> Option<Time> {
    let [mut a, mut b, mut c] = *lanes;
    let before = out.len();
    let mut last = 0;
    out.reserve(n);
    // Each lane has its own copy of the code, which keeps its state in registers.
    macro_rules! take {
        ($lane:ident) => {{
            let Some(command) = $lane.ready.get($lane.at) else { break };
            out.push(*command);
            $lane.at += 1;
            last = $lane.time;
            $lane.time = $lane.time.saturating_add($lane.step);
        }};
    }
    for _ in 0..n {
        if a.time <= b.time {
            if a.time <= c.time {
                take!(a);
            } else {
                take!(c);
            }
        } else if b.time <= c.time {
            take!(b);
        } else {
            take!(c);
        }
    }
    *lanes = [a, b, c];
    (out.len() > before).then_some(last)
}

/// Does the same for a single lane.
pub(crate) fn take(lane: &mut Lane<'_>, n: usize, out: &mut Vec<Command>) -> Option<Time> {
    let n = n.min(lane.ready.len());
    out.extend_from_slice(&lane.ready[..n]);
    lane.at = n;
    let steps = (n as u64).checked_sub(1)?;
    let last = lane.time.saturating_add(lane.step.saturating_mul(steps));
    lane.time = last.saturating_add(lane.step);
    Some(last)
}
