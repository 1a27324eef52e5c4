//! `wafer run`

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use wafer_lab::{Batch, Checked, Experiment, LabError, Reference};
#[cfg(feature = "serve")]
use wafer_record::Snapshot;
use wafer_record::{Cause, Record, write_json};

#[cfg(feature = "serve")]
use super::live;
use super::summary;
use crate::args::RunArgs;
use crate::output;
use crate::progress::Bar;

/// Set by Ctrl-C.
pub(crate) static CANCEL: AtomicBool = AtomicBool::new(false);

pub(crate) fn run(args: &RunArgs, quiet: bool) -> anyhow::Result<()> {
    if args.table && args.json.as_deref() == Some(Path::new("-")) {
        return Err(LabError::config("--table", "stdout has the JSON of --json -").into());
    }
    let experiments = experiments(args)?;
    let target = Target::new(args.json.as_deref(), experiments.len() > 1)?;
    let references =
        experiments.iter().map(reference).collect::<Result<Vec<Option<Reference>>, LabError>>()?;
    let checked = experiments
        .iter()
        .map(|experiment| experiment.clone().check())
        .collect::<Result<Vec<Checked>, LabError>>()?;
    let mut told: Vec<String> = Vec::new();
    for notice in checked.iter().flat_map(notices) {
        if !told.contains(&notice) {
            output::notice(quiet, &notice);
            told.push(notice);
        }
    }
    cancel_on_ctrl_c()?;

    #[cfg(feature = "serve")]
    let live = live::of_run(&args.http, &checked, quiet)?;
    #[cfg(feature = "serve")]
    let watch = live.as_ref().map(|live| {
        let source = live.source.clone();
        move |snapshot: Snapshot| source.show(snapshot)
    });
    #[cfg(feature = "serve")]
    let watch = watch.as_ref().map(|watch| watch as &(dyn Fn(Snapshot) + Sync));
    #[cfg(not(feature = "serve"))]
    let watch = None;
    let bar = Bar::new(&experiments, quiet);
    let written: Mutex<Result<(), LabError>> = Mutex::new(Ok(()));
    let batch = Batch {
        threads: args.threads,
        cancel: &CANCEL,
        progress: &|number, progress| bar.update(number, progress),
        watch,
        finished: &|_, result| {
            let Ok(record) = result else { return };
            if let (Err(error), Ok(mut first)) = (target.each(record), written.lock()) {
                *first = std::mem::replace(&mut *first, Ok(())).and(Err(error));
            }
        },
    };
    let results = batch.run(&checked);
    bar.finish();

    let mut records = Vec::new();
    let mut failures = Vec::new();
    for result in results? {
        match result {
            Ok(record) => records.push(record),
            Err(error) => failures.push(error),
        }
    }
    for record in &records {
        early_end(record, quiet);
        rejected(record);
    }
    if failures.is_empty() || (!records.is_empty() && !CANCEL.load(Ordering::Relaxed)) {
        target.all(&records)?;
        if args.json.is_none() || args.table {
            print(&experiments, &records, &references)?;
        }
    }
    written.into_inner().unwrap_or(Ok(()))?;
    if let Some(error) = failures.into_iter().next() {
        return Err(error.into());
    }
    #[cfg(feature = "serve")]
    if let Some(live) = live {
        live.linger(quiet);
    }
    Ok(())
}

/// Makes Ctrl-C set [`CANCEL`]; the second one does not wait for the runs to stop.
pub(crate) fn cancel_on_ctrl_c() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        if CANCEL.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
}

/// Every experiment with every seed.
fn experiments(args: &RunArgs) -> Result<Vec<Experiment>, LabError> {
    let options = args.options();
    let given = if args.experiments.is_empty() {
        let missing = |option: &str, what: &str| {
            LabError::config(option, format!("missing; give {what}, or an experiment file"))
        };
        if options.device.is_none() {
            return Err(missing("--device", "a device"));
        }
        if options.fio.is_none() && options.traces.is_empty() && options.trace_set.is_empty() {
            return Err(missing("--fio", "a job file, or a trace with --trace"));
        }
        vec![Experiment::from_options(&options)?]
    } else {
        let files = args.experiments.iter();
        files.map(|path| Experiment::from_file(path, &options)).collect::<Result<_, _>>()?
    };
    let seeds = args.seeds.unwrap_or(1);
    Ok(given
        .iter()
        .flat_map(|e| (0..seeds).map(|more| e.with_seed(e.seed.wrapping_add(more))))
        .collect())
}

/// What is worth knowing before an experiment runs.
fn notices(checked: &Checked) -> Vec<String> {
    let mut notices = checked.experiment.device.notices.clone();
    notices.extend(checked.notices.iter().cloned());
    let mut ignored: Vec<&str> = checked.ignored.iter().map(|i| i.option.as_str()).collect();
    ignored.dedup();
    if !ignored.is_empty() {
        let path = checked.experiment.workload.path();
        notices.push(format!("{path}: no effect on what is written: {}", ignored.join(", ")));
    }
    notices.extend(long_run(checked));
    notices
}

/// Multiples of the capacity that somebody who gave no volume may not have meant to write.
const MANY_VOLUMES: u64 = 100;

/// A run without a volume that its jobs end late, or only by their own clock.
fn long_run(checked: &Checked) -> Option<String> {
    let experiment = &checked.experiment;
    let path = experiment.workload.path();
    let hint = "--volume 5x ends the run after five capacities";
    match (experiment.volume, checked.total_bytes) {
        (None, None) => Some(format!("{path}: runs until the jobs' own runtime is over; {hint}")),
        (None, Some(total)) => {
            let volumes = total / experiment.device.logical_bytes().max(1);
            (volumes >= MANY_VOLUMES)
                .then(|| format!("{path}: writes {volumes} times the capacity; {hint}"))
        }
        (Some(_), _) => None,
    }
}

/// Tells of a workload that ended by itself before the volume was reached.
fn early_end(record: &Record, quiet: bool) {
    let Some(volume) = record.provenance.workload.as_ref().and_then(|w| w.volume) else { return };
    if record.summary.host_bytes < volume.bytes(record.logical_bytes()) {
        let name = &record.name;
        let reached = output::bytes(record.summary.host_bytes);
        output::notice(quiet, &format!("{name}: the jobs ended after {reached}, before {volume}"));
    }
}

/// Warns of a workload whose commands were mostly rejected, also with --quiet.
fn rejected(record: &Record) {
    let findings = record.findings.iter().flatten();
    for finding in findings.filter(|f| matches!(f.cause, Cause::MostlyRejected { .. })) {
        output::warning(&format!("{}: {finding}", record.name));
    }
}

fn reference(experiment: &Experiment) -> Result<Option<Reference>, LabError> {
    experiment.compare.as_deref().map(Reference::read).transpose()
}

fn print(
    experiments: &[Experiment],
    records: &[Record],
    references: &[Option<Reference>],
) -> anyhow::Result<()> {
    let mut out = output::styled();
    match records {
        [record] => summary::one(&mut out, record)?,
        _ => summary::many(&mut out, &records.iter().collect::<Vec<_>>())?,
    }
    for record in records {
        let found = experiments
            .iter()
            .zip(references)
            .find(|(e, _)| e.name == record.name && e.seed == record.seed());
        let Some((experiment, reference)) = found else { continue };
        let mut rate = experiment.device.write_rate;
        if let (Some(path), Some(reference)) = (&experiment.compare, reference) {
            rate = reference.write_rate.or(rate);
            summary::comparison(&mut out, &reference.compare(path, record))?;
        }
        if records.len() == 1 || reference.is_some() {
            summary::speed(&mut out, record, rate.map(|rate| rate.0))?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Where the JSON goes.
enum Target {
    Nowhere,
    Stdout {
        array: bool,
    },
    File {
        path: PathBuf,
        array: bool,
    },
    /// A file per run.
    Folder(PathBuf),
}

impl Target {
    /// Checks the place before anything runs.
    fn new(json: Option<&Path>, several: bool) -> Result<Self, LabError> {
        let Some(path) = json else { return Ok(Target::Nowhere) };
        if path.as_os_str() == "-" {
            return Ok(Target::Stdout { array: several });
        }
        let wrong = |reason: String| LabError::config(format!("--json {}", path.display()), reason);
        if path.is_dir() || path.to_string_lossy().ends_with('/') {
            std::fs::create_dir_all(path)
                .map_err(|e| wrong(format!("cannot make the folder: {e}")))?;
            return Ok(Target::Folder(path.to_owned()));
        }
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(wrong(format!("no folder {}", folder.display())));
        }
        Ok(Target::File { path: path.to_owned(), array: several })
    }

    /// Called as a run ends.
    fn each(&self, record: &Record) -> Result<(), LabError> {
        if let Target::Folder(folder) = self {
            let name = format!("{}-seed{}.json", record.name, record.seed());
            write_json(&folder.join(name), record)?;
        }
        Ok(())
    }

    /// Called when all runs have ended.
    fn all(&self, records: &[Record]) -> anyhow::Result<()> {
        match (self, records) {
            (Target::Stdout { array: false }, [record]) => output::json(record),
            (Target::Stdout { .. }, records) => output::json(&records),
            (Target::File { path, array: false }, [record]) => Ok(write_json(path, record)?),
            (Target::File { path, .. }, records) => Ok(write_json(path, &records)?),
            (Target::Nowhere | Target::Folder(_), _) => Ok(()),
        }
    }
}
