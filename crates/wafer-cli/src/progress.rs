//! The progress bar: on stderr, only on a terminal, only for what takes over a second.

use std::fmt::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{
    DecimalBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use wafer_lab::{Checked, Progress, Stage};

/// Delay before anything is drawn.
const DELAY: Duration = Duration::from_secs(1);

/// One bar for all runs together.
pub(crate) struct Bar {
    bar: ProgressBar,
    start: Instant,
    runs: Mutex<State>,
    quiet: bool,
}

struct State {
    runs: Vec<Run>,
    shown: bool,
}

#[derive(Clone, Copy, Default)]
struct Run {
    /// Bytes of preconditioning, done and in all.
    precondition: (u64, u64),
    /// Bytes of the run.
    run: (u64, Option<u64>),
}

impl Bar {
    pub(crate) fn new(experiments: &[Checked], quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let run = |c: &Checked| Run { run: (0, c.experiment.volume_bytes()), ..Run::default() };
        let state = State { runs: experiments.iter().map(run).collect(), shown: false };
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

/// A bar of steps of about the same length.
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
    pub(crate) fn update(&self, done: usize, all: usize) {
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
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
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

/// Bytes a second since the start: the bar's own estimate would begin only when it is first drawn.
fn mean_rate(state: &ProgressState) -> f64 {
    state.pos() as f64 / state.elapsed().as_secs_f64().max(1e-3)
}
