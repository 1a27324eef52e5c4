//! Runs several experiments with a progress bar, until Ctrl-C.

use std::sync::Mutex;

use wafer_cache::Cache;
use wafer_lab::{Batch, Checked, Experiment, LabError, SteadyStates};
use wafer_record::{Record, Snapshot};

use crate::cancel::{CANCEL, cancel_on_ctrl_c, is_cancelled};
use crate::errors;
use crate::progress::Bar;
use wafer_output as output;

/// Runs experiments in parallel within the available memory, and returns their results in order.
///
/// `finished` stores the record of a run as soon as the run ends. If it fails, its error becomes the
/// result of the run.
pub(crate) fn run_all(
    experiments: &[Checked],
    threads: Option<usize>,
    quiet: bool,
    watch: Option<&(dyn Fn(Snapshot) + Sync)>,
    finished: impl Fn(usize, &Record) -> Result<(), LabError> + Sync,
) -> anyhow::Result<Vec<Result<Record, LabError>>> {
    cancel_on_ctrl_c()?;
    let bar = Bar::new(experiments, quiet);
    let failed = Mutex::new(Vec::new());
    let cache = cache(quiet)?;
    let batch = Batch {
        threads,
        cancel: &CANCEL,
        progress: &|number, progress| bar.update(number, progress),
        watch,
        steady: cache.as_ref().map(|cache| cache as &dyn SteadyStates),
        finished: &|number, result| {
            let kept = result.as_ref().map_or(Ok(()), |record| finished(number, record));
            if let (Err(error), Ok(mut failed)) = (kept, failed.lock()) {
                failed.push((number, error));
            }
        },
    };
    let results = batch.run(experiments);
    bar.finish();
    let mut results = results?;
    for (number, error) in failed.into_inner().unwrap_or_default() {
        results[number] = Err(error);
    }
    Ok(results)
}

/// Returns the last failure, after it has printed the others.
pub(crate) fn failed(mut failures: Vec<LabError>) -> Result<(), LabError> {
    let Some(last) = failures.pop() else { return Ok(()) };
    // After a cancellation, all runs failed for the same reason.
    failures.iter().filter(|_| !is_cancelled()).for_each(|e| output::error(&errors::lab(e)));
    Err(last)
}

/// Checks all experiments before any of them runs.
pub(crate) fn check_all<'a>(
    experiments: impl IntoIterator<Item = &'a Experiment>,
) -> Result<Vec<Checked>, LabError> {
    experiments.into_iter().map(|experiment| experiment.clone().check()).collect()
}

/// Returns the folder of drives in steady state, if there is one.
pub(crate) fn cache(quiet: bool) -> anyhow::Result<Option<Cache>> {
    let program = std::env::current_exe().unwrap_or_default();
    Ok(Cache::of_environment(&program, move |text| output::notice(quiet, text))?)
}
