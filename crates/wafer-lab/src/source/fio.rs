//! Unmodified fio job files.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use wafer_workload::fio::{self, JobFile, Jobs, Target};
use wafer_workload::{Mixer, MixerOptions, Pace, WorkloadError};

use super::{Built, Kind, Source, SourceTarget, Workload};
use crate::LabError;
use crate::config::{Layers, one_line};
use crate::files::read_text;
use crate::record::IgnoredOption;

pub(super) const KIND: Kind = Kind { keys: &["fio", "fio_text"], parse };

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    /// A fio job file, relative to the experiment file.
    fio: Option<PathBuf>,
    /// The text of a fio job file.
    fio_text: Option<String>,
}

/// A fio job file.
#[derive(Clone, Debug)]
pub struct FioSource {
    /// Its name in messages; files that it names are looked for beside it.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl FioSource {
    /// Reads a job file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        Ok(FioSource { path: path.to_owned(), text: read_text(path)? })
    }

    /// The jobs of the file on a device.
    fn jobs(&self, target: &SourceTarget<'_>) -> Result<Jobs, LabError> {
        let geometry = &target.device.geometry;
        let target = Target {
            namespace_bytes: geometry.namespace_bytes(),
            namespace_handles: (geometry.namespace_handles.iter())
                .map(|handles| handles.len() as u16 * geometry.groups)
                .collect(),
            page_bytes: geometry.page_bytes,
        };
        JobFile::parse(&self.text, &self.path)
            .and_then(|file| file.resolve(&target))
            .map_err(|e| LabError::Workload(e.to_string()))
    }
}

impl Source for FioSource {
    fn kind(&self) -> &'static str {
        "fio"
    }

    fn path(&self) -> String {
        self.path.display().to_string()
    }

    fn text(&self) -> String {
        self.text.clone()
    }

    fn build(&self, target: &SourceTarget<'_>) -> Result<Built, LabError> {
        let jobs = self.jobs(target)?;
        let refused = |e: WorkloadError| match (e, target.pace_place) {
            (WorkloadError::Pace(reason), Some(place)) => LabError::config(place, reason),
            (e, _) => LabError::Workload(one_line(&e.to_string())),
        };
        let options = MixerOptions {
            seed: target.seed,
            service: target.device.config.service.clone(),
            pace: Pace::parse(target.pace.unwrap_or_default(), target.pace_from)
                .map_err(refused)?,
            until_volume: target.until_volume,
        };
        let ignored = ignored(&jobs);
        let mixer = Mixer::new(jobs.jobs, &options).map_err(refused)?;
        Ok(Built {
            total_bytes: mixer.total_bytes(),
            memory_bytes: mixer.memory_bytes(),
            stream: Box::new(mixer),
            ignored,
            notices: Vec::new(),
        })
    }
}

fn parse(table: Layers, folder: &Path, path: &Path) -> Result<Workload, LabError> {
    let file: WorkloadFile = table.read()?;
    let source = match (file.fio, file.fio_text) {
        (Some(fio), _) => FioSource::read(&folder.join(fio))?,
        (None, text) => {
            FioSource { path: path.with_extension("fio_text"), text: text.unwrap_or_default() }
        }
    };
    Ok(Workload::new(source))
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
