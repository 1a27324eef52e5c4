//! Runs seeds of the simulation, and reports the first failure with the command that reproduces it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Parser;
use wafer_simulation::known::open;
use wafer_simulation::plan::{Action, Plan};
use wafer_simulation::{Outcome, run_plan};

/// Simulate a served drive with random faults.
#[derive(Parser)]
struct Args {
    /// Run only this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Run these seeds, excluding the last.
    #[arg(long, value_name = "N..M", conflicts_with = "seed")]
    seeds: Option<Seeds>,
    /// Run seeds for this many minutes, starting at a random one without `--seeds`.
    #[arg(long, conflicts_with = "seed")]
    minutes: Option<f64>,
    /// Number of threads, each of which runs different seeds.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Enable only these actions of the operator and the hosts, each at its maximum rate.
    #[arg(long, value_name = "ACTION", value_delimiter = ',')]
    only: Option<Vec<Action>>,
    /// Continue after a failing seed, and report each.
    #[arg(long)]
    all: bool,
    /// Print the events of the run.
    #[arg(long)]
    trace: bool,
}

#[derive(Clone)]
struct Seeds(Range<u64>);

impl FromStr for Seeds {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (from, to) = text.split_once("..").context("expected N..M")?;
        let range = from.parse()?..to.parse()?;
        if range.is_empty() {
            bail!("no seed lies between them");
        }
        Ok(Seeds(range))
    }
}

fn main() -> ExitCode {
    match simulate(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn simulate(args: &Args) -> anyhow::Result<()> {
    let run = |seed| {
        let plan = Plan::of(seed);
        let plan = match &args.only {
            Some(only) => plan.only(only),
            None => plan,
        };
        run_plan(plan, args.trace)
    };
    if let Some(seed) = args.seed {
        let outcome = run(seed);
        println!("{outcome:?}");
        return outcome
            .violation
            .map_or(Ok(()), |what| Err(anyhow::anyhow!("seed {seed}: {what}")));
    }
    let end = args.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(minutes * 60.0));
    let seeds = match (&args.seeds, end) {
        (Some(Seeds(seeds)), _) => seeds.clone(),
        (None, Some(_)) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
            let first = now.as_secs() << 20;
            first..u64::MAX
        }
        (None, None) => 0..1000,
    };
    let began = Instant::now();
    let next = AtomicU64::new(seeds.start);
    let (done, commands) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<Option<(u64, Outcome)>> = Mutex::new(None);
    let excuses: Mutex<BTreeMap<&str, u64>> = Mutex::default();
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let over = seed >= seeds.end || end.is_some_and(|end| Instant::now() >= end);
            let found = || failed.lock().is_ok_and(|failed| failed.is_some());
            if over || (!args.all && found()) {
                return;
            }
            let outcome = run(seed);
            done.fetch_add(1, Ordering::Relaxed);
            commands.fetch_add(outcome.commands, Ordering::Relaxed);
            if let (true, Some(what)) = (args.all, &outcome.violation) {
                println!("seed {seed}: {what}");
            }
            let violated = outcome.violation.as_deref();
            let excused = violated.and_then(open);
            if let Some(known) = excused
                && let Ok(mut excuses) = excuses.lock()
            {
                *excuses.entry(known.fault).or_insert(0) += 1;
            }
            if violated.is_some()
                && excused.is_none()
                && let Ok(mut failed) = failed.lock()
                && failed.as_ref().is_none_or(|(first, _)| seed < *first)
            {
                *failed = Some((seed, outcome));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..args.threads {
            scope.spawn(work);
        }
    });
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let done = done.into_inner();
    println!(
        "{done} seeds from {} in {minutes:.1} minutes, {:.0} a minute, {} commands a seed",
        seeds.start,
        done as f64 / minutes,
        commands.into_inner() / done.max(1)
    );
    for (fault, seeds) in excuses.into_inner().unwrap_or_default() {
        println!("{seeds} seeds ended at a known fault: {fault}");
    }
    match failed.into_inner() {
        Ok(Some((seed, outcome))) => {
            let what = outcome.violation.unwrap_or_default();
            bail!("seed {seed}: {what}\nrepeat it with: wafer-simulate --seed {seed} --trace")
        }
        _ => Ok(()),
    }
}
