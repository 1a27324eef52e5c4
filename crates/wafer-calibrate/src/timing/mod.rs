//! Fits the times of a device to measured latency.
//!
//! `measured.rs` and `fio.rs` read measurements, `jobs.rs` the jobs they were made with. `writes.rs` computes the
//! highest rate and the waits of writes in closed form. `reads.rs` searches for what reads wait for by running a scaled
//! drive (`bench.rs`). `edit.rs` writes the device file, and `result.rs` holds the results.

mod bench;
mod edit;
mod fio;
mod jobs;
mod measured;
mod reads;
mod result;
mod writes;

use std::path::Path;
use std::sync::atomic::AtomicBool;

pub use measured::{Latency, Measured, Row};
pub use result::{Calibration, Figure, Parameter, Role, RowResult};
use wafer_config::load_device;
use wafer_config::profile;
use wafer_interface::{GcPacing, OneOrMany, TimingConfig};
use wafer_lab::{Control, FilledDrives, LabError, SteadyStates};
use wafer_record::files::read_text;

use self::bench::{Bench, Outcome};
use self::edit::Change;
use self::measured::Pace;
use self::reads::Effort;
use self::writes::{Amplification, Cost, Knee, Saturation};

/// Maximum share of the highest rate for a row that is not saturated.
const UNSATURATED: f64 = 0.97;
/// Maximum factor by which a measured highest rate may change the program time.
const MOST_FACTOR: f64 = 2.0;
/// Maximum further change by a run, as a share.
const MOST_CORRECTION: f64 = 0.2;
/// Minimum share of such a limit that is tried, and number of tries.
const LEAST_LIMIT: f64 = 0.75;
const LIMITS: usize = 6;
/// Number of longer program times tried for a saturated row, and the share of its latency that counts as equal.
const LENGTHS: usize = 7;
const SAME: f64 = 0.97;
/// Minimum share of the device's single-read latency at which a measured one fits.
const FITS: f64 = 0.9;
/// Model seconds of runs: for the grid, for a step, for displayed figures, and for measuring the WAF.
const COARSE: f64 = 1.0;
const FINE: f64 = 2.0;
const SHOWN: f64 = 3.0;
const SHORT: f64 = 0.5;
/// Ratio of the knee to a rate slightly above it.
const KNEE_BELOW: f64 = 0.95;
/// Maximum width of the knee's range for it to count as identified.
const NARROW: f64 = 0.25;
/// Number of seeds over which figures are averaged.
const SEEDS: u64 = 4;

/// Input of a fit.
#[derive(Clone, Debug)]
pub struct Task {
    /// Device profile or file.
    pub device: String,
    /// Measured rows.
    pub measured: Measured,
    /// Number of rows predicted instead of fitted.
    pub hold_out: usize,
    /// Rows that are only predicted.
    pub predict: Option<Measured>,
    /// Random seed.
    pub seed: u64,
}

/// Lets a caller follow and stop a fit.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Set to stop soon.
    pub cancel: &'a AtomicBool,
    /// Called with the number of finished runs and the total.
    pub progress: &'a dyn Fn(usize, usize),
}

/// Counts runs on the scaled drive.
struct Runs<'a> {
    bench: Bench,
    /// Filled drives: their state before a row does not depend on the times.
    filled: FilledDrives<'static>,
    seed: u64,
    watch: Watch<'a>,
    done: usize,
    all: usize,
}

impl Runs<'_> {
    /// Runs with the first seed.
    fn one(&mut self, timing: &TimingConfig, row: &Row, seconds: f64) -> Result<Outcome, LabError> {
        let outcome = self.run(timing, row, seconds, self.seed)?;
        self.step();
        Ok(outcome)
    }

    /// Returns the means over several seeds: the seed sets the phase between timed requests and programs.
    fn mean(
        &mut self,
        timing: &TimingConfig,
        row: &Row,
        seconds: f64,
    ) -> Result<Outcome, LabError> {
        let seeds = (0..SEEDS).map(|more| self.seed.wrapping_add(more));
        let all = seeds.map(|seed| self.run(timing, row, seconds, seed));
        let all = all.collect::<Result<Vec<Outcome>, LabError>>()?;
        self.step();
        let mean = |of: fn(&Outcome) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Ok(Outcome {
            read: Latency::mean_of(&all.iter().map(|one| one.read).collect::<Vec<_>>()),
            write: Latency::mean_of(&all.iter().map(|one| one.write).collect::<Vec<_>>()),
            work: Amplification::mean_of(all.iter().map(|one| one.work)),
            writes_per_s: mean(|one| one.writes_per_s),
        })
    }

    fn run(
        &self,
        timing: &TimingConfig,
        row: &Row,
        seconds: f64,
        seed: u64,
    ) -> Result<Outcome, LabError> {
        let steady = Some(&self.filled as &dyn SteadyStates);
        let control = Control { cancel: self.watch.cancel, steady, ..Control::unattended() };
        self.bench.run(timing, row, seconds, seed, control)
    }

    fn step(&mut self) {
        self.done += 1;
        (self.watch.progress)(self.done.min(self.all), self.all);
    }
}

/// Fits the times of a device to measured rows.
///
/// # Errors
/// If the device cannot be loaded or lacks `timing`, no row is left to fit, or the run was stopped.
pub fn calibrate(task: &Task, watch: Watch<'_>) -> Result<Calibration, LabError> {
    let device = load_device(&task.device, &[])?;
    let text = match profile(&task.device) {
        Some(profile) => profile.text,
        None => read_text(Path::new(&task.device))?,
    };
    let Some(before) = device.config.timing.clone() else {
        let place = format!("device {}", task.device);
        return Err(LabError::config(
            place,
            "`timing` is missing; latency cannot be fitted without it",
        ));
    };
    let all = &task.measured.rows;
    if task.hold_out >= all.len() {
        let reason = format!("{} of {} rows leaves none to fit", task.hold_out, all.len());
        return Err(LabError::argument("hold_out", reason));
    }
    let fitted = kept(all, all.len() - task.hold_out, Saturation::of(all, &before));
    let held: Vec<&Row> = (0..all.len()).filter(|i| !fitted.contains(i)).map(|i| &all[i]).collect();
    let fitted: Vec<&Row> = fitted.into_iter().map(|i| &all[i]).collect();
    let others = task.predict.iter().flat_map(|measured| &measured.rows);
    let predicted: Vec<&Row> = held.into_iter().chain(others).collect();
    // Does not use the held-out rows.
    let saturation = Saturation::of(fitted.iter().copied(), &before);
    let (saturated, open): (Vec<&Row>, Vec<&Row>) =
        fitted.iter().partition(|row| saturation.has_reached(row));
    let paced: Vec<&Row> = open.iter().copied().filter(|row| row.pace != Pace::Queue).collect();
    let read: Vec<&Row> = (open.iter().copied())
        .filter(|row| row.read.figures().any(|(_, us)| us.is_some()))
        .collect();

    let searched = if read.is_empty() { 0 } else { reads::RUNS * read.len() };
    let rest = searched + fitted.len() + predicted.len();
    let bench = Bench::new(&device, &text)?;
    let filled = FilledDrives::default();
    let mut runs = Runs { bench, filled, seed: task.seed, watch, done: 0, all: 1 + LIMITS + rest };
    let mut timing = before.clone();
    let mut parameters = Vec::new();
    let mut notices = task.measured.notices.clone();
    notices.extend(task.predict.iter().flat_map(|measured| measured.notices.clone()));

    if before.gc_pacing == GcPacing::Burst {
        notices
            .push(format!("{}: shown without its bursts: write waits are too short", task.device));
    }
    let page = device.geometry.page_bytes;
    let busiest = fitted.iter().copied().max_by(|a, b| a.writes_per_s.total_cmp(&b.writes_per_s));
    // Rows with few or no writes do not reveal the WAF.
    let writing = Row::writing();
    let busiest = busiest.filter(|row| row.tells_waf()).unwrap_or(&writing);
    let work = runs.one(&timing, busiest, SHORT)?.work;
    highest_rate(&mut timing, work, page, &saturated, &open, &mut parameters, &mut notices);
    if let Some(program) = parameters.last_mut() {
        match program.identified {
            true => {
                refine_program(&mut timing, program, work, page, &saturated, &mut runs)?;
                let open = highest_of(&open);
                let cost = Cost::of(&timing, work, page);
                let longest = cost.factor(open).filter(|f| open > 0.0 && *f < MOST_FACTOR);
                let longest = longest.unwrap_or(MOST_FACTOR) * timing.program_us;
                let notice =
                    lengthen_program(&mut timing, program, longest, &saturated, &mut runs)?;
                notices.extend(notice);
            }
            false => limit_program(&mut timing, program, &open, &mut runs)?,
        }
    }
    runs.all = runs.done + rest;
    let highest = Cost::of(&timing, work, page).highest();
    writes_alone(&mut timing, &paced, &mut parameters, &mut notices);
    knee(&mut timing, highest, &paced, &mut parameters, &mut notices);

    if read.is_empty() {
        for (i, key) in reads::KEYS.into_iter().enumerate() {
            let value = [timing.read_overhead_us, timing.slice_us, timing.missed_slices][i];
            parameters.push(Parameter::kept(key, value, "no row has reads below saturation"));
        }
    } else {
        for row in read.iter().filter(|row| reads::is_bursty(row, &timing)) {
            notices.push(format!(
                "row {}: the p99 of reads is longer than a program: reads wait for bursts of garbage collection, which \
                 are not fitted",
                row.name
            ));
        }
        shorten_cells(&mut timing, &read, &mut parameters);
        let start = [timing.read_overhead_us, timing.slice_us, timing.missed_slices];
        let fit = reads::fit(&timing, &read, |timing, row, effort| {
            Ok(match effort {
                Effort::Coarse => runs.one(timing, row, COARSE)?.read,
                Effort::Fine => runs.mean(timing, row, FINE)?.read,
            })
        })?;
        let mut values = fit.values.map(rounded);
        let yields = fit.identified[1] && fit.values[1] < 0.99 * timing.program_us;
        if timing.slice_us == 0.0 && !yields {
            values[1] = 0.0;
        }
        for (i, key) in reads::KEYS.into_iter().enumerate() {
            parameters.push(Parameter {
                key,
                before: start[i],
                after: values[i],
                interval: Some((rounded(fit.intervals[i].0), rounded(fit.intervals[i].1))),
                identified: fit.identified[i],
                why: "what reads wait for".to_owned(),
            });
        }
        // Values that are not identified stay near the device's, because of their priors.
        timing = reads::with(&timing, values);
    }
    parameters.push(Parameter::kept(
        "erase_slice_us",
        timing.erase_slice_us,
        "erases are too rare",
    ));

    let mut rows = Vec::new();
    let role_of = |row: &Row| match saturation.has_reached(row) {
        true => Role::Saturated,
        false => Role::Fitted,
    };
    for (row, role) in (fitted.iter().map(|row| (*row, role_of(row))))
        .chain(predicted.iter().map(|row| (*row, Role::Predicted)))
    {
        let ours = runs.mean(&timing, row, SHOWN)?;
        rows.push(RowResult::of(row, role, &ours.read, &ours.write));
    }
    notices.extend(rows.iter().flat_map(RowResult::misfits));
    rows.sort_by(|a, b| a.writes_per_s.total_cmp(&b.writes_per_s));
    let files: Vec<String> = task.measured.files.iter().map(|f| f.display().to_string()).collect();
    let names: Vec<&str> = fitted.iter().map(|row| row.name.as_str()).collect();
    let heading = [format!(
        "Times fitted by `wafer calibrate` to {}: rows {}.",
        files.join(", "),
        names.join(", ")
    )];
    let changes: Vec<Change> = parameters.iter().filter_map(Parameter::change).collect();
    let toml = edit::apply(&device.name, &text, &heading, &changes)?;
    let toml = toml.replace('\r', "");
    wafer_config::device_from_text(&device.name, &toml, &[])?;
    Ok(Calibration {
        device: task.device.clone(),
        files,
        seed: task.seed,
        parameters,
        rows,
        notices,
        toml,
    })
}

/// Returns the positions of `count` rows spread over those below saturation, plus saturated ones if there are too few.
fn kept(rows: &[Row], count: usize, saturation: Saturation) -> Vec<usize> {
    let (saturated, open): (Vec<usize>, Vec<usize>) =
        (0..rows.len()).partition(|i| saturation.has_reached(&rows[*i]));
    let chosen = count.min(open.len());
    let mut kept: Vec<usize> = (0..chosen)
        .map(|i| open[if chosen == 1 { 0 } else { i * (open.len() - 1) / (chosen - 1) }])
        .collect();
    kept.extend(saturated.iter().take(count - chosen));
    kept.sort_unstable();
    kept
}

/// Rounds to four digits, as shown in files and tables.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Fits the program time to the highest rate, given by a saturated row or exceeded by another row.
fn highest_rate(
    timing: &mut TimingConfig,
    work: Amplification,
    page: u64,
    saturated: &[&Row],
    open: &[&Row],
    parameters: &mut Vec<Parameter>,
    notices: &mut Vec<String>,
) {
    let before = timing.program_us;
    let cost = Cost::of(timing, work, page);
    let most = highest_of(open);
    let (rate, identified, why) = match told_by(saturated) {
        Some(row) => (
            row.writes_per_s.max(most),
            true,
            "highest write rate, from a saturated row".to_owned(),
        ),
        None if most > cost.highest() => (
            most,
            false,
            format!("not saturated at {:.0} writes/s: an upper limit", UNSATURATED * most),
        ),
        None => {
            let why = format!("no row is saturated; {:.0} writes/s at most here", cost.highest());
            return parameters.push(Parameter::kept("program_us", before, &why));
        }
    };
    match cost.factor(rate).filter(|f| (1.0 / MOST_FACTOR..=MOST_FACTOR).contains(f)) {
        Some(factor) => {
            timing.program_us = rounded(before * factor);
            let interval =
                identified.then_some((0.98 * timing.program_us, 1.02 * timing.program_us));
            let interval = interval.map(|(low, high)| (rounded(low), rounded(high)));
            parameters.push(Parameter {
                key: "program_us",
                before,
                after: timing.program_us,
                interval,
                identified,
                why,
            });
        }
        None => {
            let mine = cost.highest();
            notices.push(format!(
                "the highest write rate is about {rate:.0}/s, but {mine:.0}/s here: too far for the time of a \
                 program; check over-provisioning and dies"
            ));
            parameters.push(Parameter::kept("program_us", before, "the device is too far off"));
        }
    }
}

/// Returns the minimum highest rate of a drive that keeps up with these rows; 0 without any.
fn highest_of(open: &[&Row]) -> f64 {
    open.iter().map(|row| row.writes_per_s / UNSATURATED).fold(0.0, f64::max)
}

/// Lengthens the program time until the writes of a saturated row wait as long as measured, or returns why it cannot.
/// Only the requested rate of such a row is known, and the rate that its latency allows is an upper bound: if the
/// controller takes commands from queues in turn, the probe waits less than the writers do.
fn lengthen_program(
    timing: &mut TimingConfig,
    program: &mut Parameter,
    longest: f64,
    saturated: &[&Row],
    runs: &mut Runs<'_>,
) -> Result<Option<String>, LabError> {
    let asked = saturated.iter().filter_map(|row| Some((row, row.asked?)));
    let deepest = asked.max_by(|a, b| a.1.total_cmp(&b.1));
    let middle = |write: &Latency| write.mean.or(write.percentiles[0]);
    let Some((row, measured)) = deepest.and_then(|(row, _)| Some((*row, middle(&row.write)?)))
    else {
        return Ok(None);
    };
    let mut waits = |program_us: f64| -> Result<f64, LabError> {
        let ours = runs.one(&TimingConfig { program_us, ..timing.clone() }, row, FINE)?.write;
        let ours = if row.write.mean.is_some() { ours.mean } else { ours.percentiles[0] };
        Ok(ours.unwrap_or(0.0))
    };
    let (mut short, mut long) = (timing.program_us, longest);
    let ours = waits(short)?;
    if ours > SAME * measured {
        return Ok(None);
    }
    if long <= short || waits(long)? < measured {
        return Ok(Some(format!(
            "row {}: writes wait {measured:.0} µs, {ours:.0} µs here: the drive queues commands in another way; see \
             timing.command_slots and timing.arbitration_burst",
            row.name
        )));
    }
    for _ in 0..LENGTHS {
        let tried = 0.5 * (short + long);
        *(if waits(tried)? < measured { &mut short } else { &mut long }) = tried;
    }
    timing.program_us = rounded(0.5 * (short + long));
    program.after = timing.program_us;
    program.interval = Some((rounded(0.98 * program.after), rounded(1.02 * program.after)));
    Ok(None)
}

/// Corrects a fitted program time: the rate of a run differs from the formula's by a few percent.
fn refine_program(
    timing: &mut TimingConfig,
    program: &mut Parameter,
    work: Amplification,
    page: u64,
    saturated: &[&Row],
    runs: &mut Runs<'_>,
) -> Result<(), LabError> {
    let Some(row) = told_by(saturated) else { return Ok(()) };
    let ours = runs.one(timing, row, FINE)?.writes_per_s;
    let cost = Cost::of(timing, work, page);
    let longer = (1.0 / cost.highest() - 1.0 / ours) * timing.program_us / cost.program;
    if ours > 0.0 && longer.abs() < MOST_CORRECTION * timing.program_us {
        timing.program_us = rounded(timing.program_us + longer);
        program.after = timing.program_us;
        program.interval = Some((rounded(0.98 * program.after), rounded(1.02 * program.after)));
    }
    Ok(())
}

/// Shortens a limit of the program time until requests of the fastest row wait no longer than measured.
fn limit_program(
    timing: &mut TimingConfig,
    program: &mut Parameter,
    open: &[&Row],
    runs: &mut Runs<'_>,
) -> Result<(), LabError> {
    let by_rate = |a: &&&Row, b: &&&Row| a.writes_per_s.total_cmp(&b.writes_per_s);
    let Some(row) = open.iter().max_by(by_rate).filter(|_| program.after != program.before) else {
        return Ok(());
    };
    let middles = |read: &Latency, write: &Latency| {
        [write.mean, write.percentiles[0], read.mean, read.percentiles[0]]
    };
    let measured = middles(&row.read, &row.write);
    let (mut short, mut long) = (LEAST_LIMIT * program.after, program.after);
    let mut tried = long;
    for _ in 0..LIMITS {
        let ours = runs.one(&TimingConfig { program_us: tried, ..timing.clone() }, row, FINE)?;
        let ours = middles(&ours.read, &ours.write);
        let mut both = ours.into_iter().zip(measured);
        let waits = both.find_map(|(ours, measured)| Some(ours? > measured?)).unwrap_or(false);
        *(if waits { &mut long } else { &mut short }) = tried;
        if short == long {
            break;
        }
        tried = 0.5 * (short + long);
    }
    timing.program_us = rounded(short);
    program.after = timing.program_us;
    Ok(())
}

/// Returns the row that determines the highest rate. Writers without a rate reach that rate itself; rows with a rate
/// may request more than was reached.
fn told_by<'a>(saturated: &[&'a Row]) -> Option<&'a Row> {
    let by_rate = |a: &&Row, b: &&Row| a.writes_per_s.total_cmp(&b.writes_per_s);
    let (reached, asked): (Vec<&Row>, Vec<&Row>) =
        saturated.iter().partition(|row| row.pace == Pace::Queue);
    reached.into_iter().max_by(by_rate).or_else(|| asked.into_iter().min_by(by_rate))
}

/// Fits the time of a single write.
fn writes_alone(
    timing: &mut TimingConfig,
    paced: &[&Row],
    parameters: &mut Vec<Parameter>,
    notices: &mut Vec<String>,
) {
    let before = timing.write_overhead_us;
    let Some(alone) = writes::alone(paced.iter().copied(), timing) else {
        let why = "no row has writes at a rate below saturation, or one at a time";
        return parameters.push(Parameter::kept("write_overhead_us", before, why));
    };
    if alone < 0.1 {
        let why = "write_iops and link_write alone take longer than the fastest measured write";
        notices.push(format!("write_overhead_us: {why}; check them"));
        return parameters.push(Parameter::kept("write_overhead_us", before, why));
    }
    timing.write_overhead_us = rounded(alone);
    parameters.push(Parameter {
        key: "write_overhead_us",
        before,
        after: timing.write_overhead_us,
        interval: Some((
            rounded((timing.write_overhead_us - 0.5).max(0.0)),
            timing.write_overhead_us + 0.5,
        )),
        identified: true,
        why: "a single write, less controller and transfer".to_owned(),
    });
}

/// Fits the rate at which writes begin to wait.
fn knee(
    timing: &mut TimingConfig,
    highest: f64,
    paced: &[&Row],
    parameters: &mut Vec<Parameter>,
    notices: &mut Vec<String>,
) {
    let before = timing.gc_knee;
    if timing.gc_credit.is_none() {
        return parameters.push(Parameter::kept(
            "gc_knee",
            before,
            "has no effect without gc_credit",
        ));
    }
    let share = |rate: f64| (rate / highest).clamp(0.01, 1.0);
    let found = Knee::of(paced.iter().copied());
    if let Some((rate, tail)) =
        found.waiting.filter(|(rate, tail)| share(*rate) < 0.5 && *tail > 500.0)
    {
        notices.push(format!(
            "writes wait {tail:.0} µs at {rate:.0} writes/s, far below the highest rate: the drive collects garbage in \
             bursts, which are not fitted; read tails during them are too short here"
        ));
    }
    let quiet = found.quiet.map(share);
    let waiting = found.waiting.map(|(rate, _)| share(rate));
    if quiet.is_none() && waiting.is_none() {
        return parameters.push(Parameter::kept(
            "gc_knee",
            before,
            "no row has the tail of writes",
        ));
    }
    // Slightly above the knee some writes already wait, and others do not yet.
    let interval = (KNEE_BELOW * quiet.unwrap_or(0.0), waiting.unwrap_or(1.0));
    let after = before.min(KNEE_BELOW * interval.1).max(quiet.unwrap_or(0.0));
    let identified = quiet.is_some() && waiting.is_some() && interval.1 - interval.0 < NARROW;
    timing.gc_knee = rounded(after);
    parameters.push(Parameter {
        key: "gc_knee",
        before,
        after: timing.gc_knee,
        interval: Some((rounded(interval.0), rounded(interval.1))),
        identified,
        why: "share of the highest rate from which writes wait".to_owned(),
    });
}

/// Shortens the cell read time if the drive's single reads are faster than the device's.
fn shorten_cells(timing: &mut TimingConfig, rows: &[&Row], parameters: &mut Vec<Parameter>) {
    let alone =
        rows.iter().filter_map(|row| row.read.percentiles[0].or(row.read.mean)).reduce(f64::min);
    let OneOrMany::One(before) = timing.read_us else { return };
    let controller = timing.read_iops.map_or(0.0, |iops| 1e6 / iops);
    let rates = [timing.channel_rate.0, timing.link_read.0].map(|rate| 4096e6 / rate as f64);
    let shortest = before + controller + rates.iter().sum::<f64>();
    let fits = |alone: f64| alone > shortest.max(FITS * (shortest + timing.read_overhead_us));
    if let Some(alone) = alone.filter(|alone| *alone < 1.4 * before && !fits(*alone)) {
        let after = rounded(0.65 * alone);
        timing.read_us = OneOrMany::One(after);
        parameters.push(Parameter {
            key: "read_us",
            before,
            after,
            interval: None,
            identified: false,
            why: "0.65 of a read alone: an upper limit".to_owned(),
        });
    }
}

#[cfg(test)]
mod tests;
