//! From an experiment's workload to a stream of commands.

use wafer_workload::fio::{self, JobFile, Jobs, Target};
use wafer_workload::{CommandStream, Mixer, MixerOptions, Pace, WorkloadError};

use crate::config::one_line;
use crate::record::IgnoredOption;
use crate::{Experiment, LabError};

/// A workload, ready to be written.
pub(crate) struct Built {
    pub(crate) stream: Box<dyn CommandStream>,
    /// Bytes that it will write, if it ends by itself.
    pub(crate) total_bytes: Option<u64>,
    /// Bytes of memory that it takes.
    pub(crate) memory_bytes: u64,
    /// Options of the job file without effect on what is written.
    pub(crate) ignored: Vec<IgnoredOption>,
}

/// Reads and prepares the workload of an experiment.
pub(crate) fn build(experiment: &Experiment) -> Result<Built, LabError> {
    let jobs = jobs(experiment)?;
    let refused = |e: WorkloadError| LabError::Workload(one_line(&e.to_string()));
    let pace = experiment.pace.as_deref().unwrap_or_default();
    let options = MixerOptions {
        seed: experiment.seed,
        service: experiment.device.config.service.clone(),
        pace: Pace::parse(pace, experiment.pace_from.as_deref()).map_err(refused)?,
        until_volume: experiment.volume.is_some(),
    };
    let ignored = ignored(&jobs);
    let mixer = Mixer::new(jobs.jobs, &options).map_err(refused)?;
    Ok(Built {
        total_bytes: mixer.total_bytes(),
        memory_bytes: mixer.memory_bytes(),
        stream: Box::new(mixer),
        ignored,
    })
}

/// The jobs of the file on the experiment's device.
fn jobs(experiment: &Experiment) -> Result<Jobs, LabError> {
    let geometry = &experiment.device.geometry;
    let target = Target {
        namespace_bytes: geometry.namespace_bytes(),
        namespace_handles: (geometry.namespace_handles.iter())
            .map(|handles| handles.len() as u16 * geometry.groups)
            .collect(),
        page_bytes: geometry.page_bytes,
    };
    let workload = &experiment.workload;
    JobFile::parse(&workload.text, &workload.path)
        .and_then(|file| file.resolve(&target))
        .map_err(|e| LabError::Workload(e.to_string()))
}

fn ignored(jobs: &Jobs) -> Vec<IgnoredOption> {
    let told = |option: &fio::IgnoredOption| IgnoredOption {
        option: option.name.to_owned(),
        file: option.file.display().to_string(),
        line: option.line,
        reason: option.reason.to_owned(),
    };
    jobs.ignored.iter().map(told).collect()
}
