//! Reads unmodified fio job files.
//!
//! A job file is read as fio 3.42 reads it: sections, `[global]`, `include`, `${VARIABLES}`, expressions, units, and
//! fio's own rules for every option (see fio's `options.c`, `init.c` and `filesetup.c`). Every option of fio is
//! declared in a table (`options.rs`, `ignored.rs`). It is followed; or accepted and reported because it does not
//! affect what is written; or refused, because it would change what is written and cannot be followed. Nothing is
//! skipped silently.
//!
//! # Stricter than fio
//! Input that fio accepts by accident is an error here: text after a number (to fio, `4q` is 4, `1.5m` is 1 and `60sec`
//! is 60 microseconds), a blank after `=` before a value with a unit (`bs = 4k` is 4), percentages above 100, negative
//! sizes, shares that add up to more than 100, a file without jobs, and a random job that extends beyond the namespace.
//!
//! # More than fio
//! Expressions are exact beyond 31 bits and may contain `-`. Included files and schemes are first looked for next to
//! the file that names them.
//!
//! # Depends on the device
//! Percentages, missing sizes and lists of placement indices need a [`Target`]. `filename` only chooses the namespace
//! and is not opened.
//!
//! # Not implemented
//! Several files per job, zoned devices, replay of traces, `random_distribution=sequence`, SPRandom, the streams
//! directive, `$mb_memory` and `$ncpus` (a workload must not depend on the machine).
//!
//! # Errors
//! [`FioError`]: one line with file, line and option. No file content causes a panic.

mod distribution;
mod engine;
mod error;
mod expand;
mod expr;
mod ignored;
mod ini;
mod nearest;
mod options;
mod phase;
mod placement;
mod read;
mod region;
mod resolve;
mod settings;
mod steady;
mod target;
mod value;

use std::path::{Path, PathBuf};

pub use error::FioError;
pub use ignored::NOT_SIMULATED;
use ini::Section;
use settings::{Context, Settings};
pub use target::{IgnoredOption, Jobs, Target};

/// Returns an environment variable.
pub fn environment(name: &str) -> Option<String> {
    // The environment cannot hold these names, and the standard library may panic on them.
    if name.is_empty() || name.contains(['=', '\0']) { None } else { std::env::var(name).ok() }
}

/// A job file, split into sections; its options are read by [`JobFile::resolve`].
#[derive(Clone, Debug)]
pub struct JobFile {
    sections: Vec<Section>,
    included: Vec<PathBuf>,
    text: String,
}

impl JobFile {
    /// Reads a job file and the files it includes.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FioError> {
        let path = path.as_ref();
        let text = ini::read_text(path).map_err(|why| FioError::file(path, why))?;
        Self::parse(&text, path)
    }

    /// Reads the text of a job file. Messages name `path`, and included files are looked for next to it.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, FioError> {
        let path = path.as_ref();
        let (sections, included, text) = ini::sections(text, path)?;
        if sections.iter().all(Section::is_global) {
            return Err(FioError::file(path, "defines no job (a section besides [global])"));
        }
        Ok(Self { sections, included, text })
    }

    /// Returns the files that the job file includes, and those that they include.
    pub fn included(&self) -> &[PathBuf] {
        &self.included
    }

    /// Returns the text with the text of included files in place of the `include` lines.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the jobs of the file on a device. `${VARIABLE}`s come from the environment.
    pub fn resolve(&self, target: &Target) -> Result<Jobs, FioError> {
        self.resolve_with(target, &environment)
    }

    /// Like [`JobFile::resolve`], with the given `${VARIABLE}`s.
    pub fn resolve_with(
        &self,
        target: &Target,
        variables: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Jobs, FioError> {
        let mut context = Context { page_bytes: target.page_bytes, variables, ignored: Vec::new() };
        let mut global = Settings::of_fio();
        let mut all = Vec::new();
        for section in &self.sections {
            if section.is_global() {
                read::apply(&mut global, &section.lines, &mut context)?;
                continue;
            }
            let mut settings = global.clone();
            read::apply(&mut settings, &section.lines, &mut context)?;
            all.push(resolve::Job { section, settings });
        }
        let jobs = resolve::jobs(&all, target, &mut context)?;
        let files = all.iter().flat_map(resolve::Job::files).collect();
        let without_engine = all.iter().find(|job| job.is_without_engine());
        let without_engine = without_engine.map(|job| job.name().to_owned());
        Ok(Jobs { jobs, files, without_engine, ignored: context.ignored })
    }
}
