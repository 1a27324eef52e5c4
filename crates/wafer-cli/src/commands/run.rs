//! `wafer run`

use std::io::Write as _;
use std::path::{Path, PathBuf};

use wafer_lab::{Checked, Experiment, LabError, NOT_SIMULATED, Reference};
#[cfg(feature = "serve")]
use wafer_record::Snapshot;
use wafer_record::{Outputs, Record, RecordError, write_json};

#[cfg(feature = "serve")]
use super::live;
use super::summary;
use crate::args::RunArgs;
use crate::batch::{check_all, failed, run_all};
use crate::cancel::is_cancelled;
use wafer_output as output;

pub(crate) fn run(args: &RunArgs, quiet: bool) -> anyhow::Result<()> {
    let experiments = experiments(args)?;
    if args.json.as_deref().is_some_and(is_folder) {
        let is_outside = |e: &&Experiment| Path::new(&e.name).file_name() != Some(e.name.as_ref());
        if let Some(Experiment { name, .. }) = experiments.iter().find(is_outside) {
            let why = format!("the folder cannot hold a file of the experiment `{name}`");
            return Err(LabError::config("--json", why).into());
        }
    }
    if args.fio_json.is_some() && experiments.len() > 1 {
        return Err(LabError::config("--fio-json", "takes the results of one run").into());
    }
    let target = Target::new(args.json.as_deref(), experiments.len() > 1)?;
    let references =
        experiments.iter().map(reference).collect::<Result<Vec<Option<Reference>>, LabError>>()?;
    let outputs = check_outputs(args, &experiments, &target)?;
    if args.table && outputs.has_stdout() {
        return Err(LabError::config("--table", "stdout has JSON").into());
    }
    let checked = check_all(&experiments)?;
    let mut shown: Vec<String> = Vec::new();
    for notice in checked.iter().flat_map(notices) {
        if !shown.contains(&notice) {
            output::notice(quiet, &notice);
            shown.push(notice);
        }
    }

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
    let results = run_all(&checked, args.threads, quiet, watch, |_, record| target.each(record))?;

    let mut records = Vec::new();
    // The position of each record's experiment.
    let mut ran = Vec::new();
    let mut failures = Vec::new();
    for (at, (experiment, result)) in experiments.iter().zip(results).enumerate() {
        match result {
            Ok(record) => {
                records.push(record);
                ran.push(at);
            }
            Err(error) if experiments.len() > 1 && !is_cancelled() => {
                failures.push(error.of(&format!("{}, seed {}", experiment.name, experiment.seed)));
            }
            Err(error) => failures.push(error),
        }
    }
    for record in &records {
        wafer_lab::warnings(record).iter().for_each(|text| output::warning(text));
        output::notices(quiet, wafer_lab::early_end(record).iter());
    }
    if failures.is_empty() || (!records.is_empty() && !is_cancelled()) {
        target.all(&records)?;
        if let (Some(path), [record]) = (&args.fio_json, &records[..]) {
            output::json_to(path, &wafer_fio_json::fio_json(record))?;
        }
        if (args.json.is_none() && !outputs.has_stdout()) || args.table {
            let seeds = args.seeds.unwrap_or(1).max(1) as usize;
            let groups: Vec<usize> = ran.iter().map(|at| at / seeds).collect();
            let of = ran.iter().map(|at| (&experiments[*at], &references[*at]));
            print(&of.collect::<Vec<_>>(), &records, &groups)?;
        }
    }
    failed(failures)?;
    #[cfg(feature = "serve")]
    if let Some(live) = live {
        live.linger(quiet);
    }
    Ok(())
}

/// Returns every experiment with every seed.
fn experiments(args: &RunArgs) -> Result<Vec<Experiment>, LabError> {
    let options = args.options();
    let mut given = if args.experiments.is_empty() {
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
    if let Some(name) = &args.name {
        let [one] = &mut given[..] else {
            return Err(LabError::config("--name", "names one experiment".to_owned()));
        };
        one.name.clone_from(name);
    }
    let seeds = args.seeds.unwrap_or(1);
    Ok(given.iter().flat_map(|experiment| experiment.with_seeds(seeds)).collect())
}

/// Returns notes about an experiment to be printed before it runs.
fn notices(checked: &Checked) -> Vec<String> {
    let mut notices = checked.experiment.device.notices.clone();
    notices.extend(checked.notices.iter().cloned());
    let (path, timed) = (checked.experiment.workload.path(), checked.experiment.timed);
    // Without a clock, nothing takes time.
    let (untimed, ignored): (Vec<_>, Vec<_>) = checked
        .ignored
        .iter()
        .partition(|option| timed && option.reason.starts_with(NOT_SIMULATED));
    let on = if timed { "no effect on bytes or time" } else { "no effect on what is written" };
    for (what, options) in [(NOT_SIMULATED, untimed), (on, ignored)] {
        let mut names: Vec<&str> = options.iter().map(|option| option.option.as_str()).collect();
        names.dedup();
        if !names.is_empty() {
            notices.push(format!("{path}: {what}: {}", names.join(", ")));
        }
    }
    notices.extend(checked.experiment.unusual_end(checked.total_bytes));
    notices
}

/// Returns the outputs; refuses one that is also an input or another output.
fn check_outputs(
    args: &RunArgs,
    experiments: &[Experiment],
    target: &Target,
) -> Result<Outputs, RecordError> {
    let mut outputs = Outputs::default();
    args.experiments.iter().for_each(|path| outputs.input(path));
    experiments.iter().flat_map(Experiment::files).for_each(|path| outputs.input(&path));
    args.fio_json.iter().try_for_each(|path| outputs.output_or_stdout(path))?;
    match target {
        Target::Nowhere => {}
        Target::File { path, .. } => outputs.output_or_stdout(path)?,
        Target::Folder(folder) => experiments
            .iter()
            .try_for_each(|e| outputs.output(&folder.join(file_name(&e.name, e.seed))))?,
    }
    Ok(outputs)
}

/// Returns whether a path names a folder, which need not exist yet.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

/// Returns the file name of a record in a folder.
fn file_name(name: &str, seed: u64) -> String {
    format!("{name}-seed{seed}.json")
}

fn reference(experiment: &Experiment) -> Result<Option<Reference>, LabError> {
    experiment.compare.as_deref().map(Reference::read).transpose()
}

/// Prints records with their experiments and references; those of a group differ by their seeds.
fn print(
    experiments: &[(&Experiment, &Option<Reference>)],
    records: &[Record],
    groups: &[usize],
) -> anyhow::Result<()> {
    let mut out = output::styled();
    match records {
        [record] => {
            summary::one(&mut out, record)?;
            if let Some(time) = &record.time {
                output::timed(&mut out, time)?;
            }
        }
        _ => summary::many(&mut out, records, groups)?,
    }
    for (record, (experiment, reference)) in records.iter().zip(experiments) {
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

/// Destination of the JSON.
enum Target {
    Nowhere,
    /// A file or stdout; several runs give an array.
    File {
        path: PathBuf,
        array: bool,
    },
    /// One file per run.
    Folder(PathBuf),
}

impl Target {
    /// Checks the destination before anything runs.
    fn new(json: Option<&Path>, several: bool) -> Result<Self, LabError> {
        let Some(path) = json else { return Ok(Target::Nowhere) };
        let wrong = |reason: String| LabError::config(format!("--json {}", path.display()), reason);
        if is_folder(path) {
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

    /// Writes a record when its run ends.
    fn each(&self, record: &Record) -> Result<(), LabError> {
        if let Target::Folder(folder) = self {
            write_json(&folder.join(file_name(&record.name, record.seed())), record)?;
        }
        Ok(())
    }

    /// Writes the records when all runs have ended.
    fn all(&self, records: &[Record]) -> anyhow::Result<()> {
        match (self, records) {
            (Target::File { path, array: false }, [record]) => output::json_to(path, record),
            (Target::File { path, .. }, records) => output::json_to(path, &records),
            (Target::Nowhere | Target::Folder(_), _) => Ok(()),
        }
    }
}
