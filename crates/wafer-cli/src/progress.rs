//! Shows progress on stderr after a second: a bar on a terminal, a line per minute elsewhere.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{
    DecimalBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use wafer_lab::{Checked, Progress, Stage};
use wafer_output as output;

/// Delay before anything is shown.
const DELAY: Duration = Duration::from_secs(1);
/// Time between lines if there is no terminal.
const MINUTE: Duration = Duration::from_secs(60);

/// A common bar for all runs.
pub(crate) struct Bar {
    bar: ProgressBar,
    start: Instant,
    runs: Mutex<State>,
    quiet: bool,
}

struct State {
    runs: Vec<Run>,
    shown: bool,
    /// Number of lines so far; `None` on a terminal.
    lines: Option<u32>,
}

#[derive(Clone, Copy, Default)]
struct Run {
    /// Bytes of preconditioning: done, and in total.
    precondition: (u64, u64),
    /// Bytes of the run.
    run: (u64, Option<u64>),
}

impl Bar {
    pub(crate) fn new(experiments: &[Checked], quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let run = |c: &Checked| Run { run: (0, c.experiment.volume_bytes()), ..Run::default() };
        let lines = (!std::io::stderr().is_terminal()).then_some(0);
        let state = State { runs: experiments.iter().map(run).collect(), shown: false, lines };
        Bar { bar, start: Instant::now(), runs: Mutex::new(state), quiet }
    }

    /// Records the progress of run `number`.
    pub(crate) fn update(&self, number: usize, progress: Progress) {
        if self.quiet {
            return;
        }
        let Ok(mut state) = self.runs.lock() else { return };
        let run = &mut state.runs[number];
        match progress.stage {
            Stage::Preconditioning => {
                run.precondition = (progress.done, progress.total.unwrap_or(progress.done));
            }
            Stage::Running => run.run = (progress.done, progress.total),
        }
        let done: u64 = state.runs.iter().map(|r| r.precondition.0 + r.run.0).sum();
        let total = state.runs.iter().map(|r| Some(r.precondition.1 + r.run.1?)).sum();
        if let Some(lines) = &mut state.lines {
            let elapsed = self.start.elapsed();
            if elapsed >= MINUTE * (*lines + 1) {
                *lines = (elapsed.as_secs() / MINUTE.as_secs()) as u32;
                output::notice(false, &line(done, total, elapsed));
            }
            return;
        }
        if !state.shown && self.start.elapsed() >= DELAY {
            state.shown = true;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.set_style(style(total));
        }
        self.bar.set_message(match progress.stage {
            Stage::Preconditioning => "preconditioning",
            Stage::Running => "writing",
        });
        if let Some(total) = total {
            self.bar.set_length(total);
        }
        self.bar.set_position(done);
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns a progress line after `done` bytes.
fn line(done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-3);
    let written = output::bytes(done);
    let speed = output::bytes(rate as u64);
    let Some(total) = total else { return format!("{written} written, {speed}/s") };
    let left = output::seconds(total.saturating_sub(done) as f64 / rate.max(1.0));
    let share = output::percent(done as f64 / total.max(1) as f64);
    format!("{share}: {written} of {}, {speed}/s, {left} left", output::bytes(total))
}

/// A bar of steps with similar durations.
pub(crate) struct Steps {
    bar: ProgressBar,
    start: Instant,
    quiet: bool,
    message: &'static str,
}

impl Steps {
    pub(crate) fn new(message: &'static str, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Steps { bar, start: Instant::now(), quiet, message }
    }

    /// Records that `done` of `all` steps are done.
    pub(crate) fn update(&self, done: u64, all: u64) {
        if self.quiet {
            return;
        }
        if self.bar.is_hidden() && self.start.elapsed() >= DELAY {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg} [{bar:30}] {percent:>3} %");
            self.bar.set_style(
                style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "),
            );
            self.bar.set_message(self.message);
        }
        self.bar.set_length(all);
        self.bar.set_position(done);
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(total: Option<u64>) -> ProgressStyle {
    let template = match total {
        Some(_) => {
            "{msg} [{bar:30}] {percent:>3} %  {decimal_bytes} of {decimal_total_bytes}  \
             {rate}/s  {left} left"
        }
        None => "{msg} {spinner} {decimal_bytes}  {rate}/s  {elapsed}",
    };
    let style = ProgressStyle::with_template(template);
    style
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
            _ = write!(out, "{}", DecimalBytes(mean_rate(state) as u64));
        })
        .with_key("left", |state: &ProgressState, out: &mut dyn Write| {
            let bytes = state.len().unwrap_or(0).saturating_sub(state.pos()) as f64;
            let seconds = (bytes / mean_rate(state).max(1.0)).min(1e9);
            _ = write!(out, "{}", HumanDuration(Duration::from_secs_f64(seconds)));
        })
        .progress_chars("=> ")
}

/// Returns the mean rate: the bar's own estimate would begin only when it is first drawn.
fn mean_rate(state: &ProgressState) -> f64 {
    state.pos() as f64 / state.elapsed().as_secs_f64().max(1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_share_rate_and_what_is_left() {
        let minute = Duration::from_secs(60);
        assert_eq!(
            line(30 << 30, Some(120 << 30), minute),
            "25.0 %: 32.2 GB of 129 GB, 537 MB/s, 3 min left"
        );
        assert_eq!(line(6_000_000_000, None, minute), "6.00 GB written, 100 MB/s");
        assert_eq!(line(0, Some(0), Duration::ZERO), "0.0 %: 0 B of 0 B, 0 B/s, 0 ms left");
    }
}
