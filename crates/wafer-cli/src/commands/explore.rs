//! `wafer explore`

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use wafer_config::Layers;
use wafer_explore::{Preset, WITHOUT_VOLUME, presets};
use wafer_lab::LabError;
use wafer_record::files::read_text;
use wafer_record::{Outputs, write_text};
use wafer_web::explore;

use crate::args::ExploreArgs;
use wafer_output as output;

pub(crate) fn run(args: &ExploreArgs, quiet: bool) -> anyhow::Result<()> {
    let presets = presets()?;
    let first = match &args.experiment {
        Some(path) => read(path)?,
        None => presets.first().cloned().context("no example is shipped")?,
    };
    let mut outputs = Outputs::default();
    args.experiment.iter().chain(&files(&args.experiment)).for_each(|path| outputs.input(path));
    outputs.output_or_stdout(&args.output)?;
    let page = explore::page(&explore::Explore {
        title: args.title.clone().unwrap_or(first.title),
        text: first.text,
        settings: serde_json::to_value(first.settings)?,
        presets: presets.into_iter().map(preset).collect::<Result<_, _>>()?,
    })?;
    if outputs.has_stdout() {
        return output::text(&page);
    }
    write_text(&args.output, &page)?;
    let size = output::bytes(page.len() as u64);
    output::notice(quiet, &format!("{}: {size}", args.output.display()));
    Ok(())
}

/// Reads the experiment with which the page starts.
fn read(path: &Path) -> Result<Preset, LabError> {
    let text = read_text(path)?;
    let title = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let read = Preset::read(&title.unwrap_or_default(), path, &text)?;
    if read.settings.volume.is_none() {
        let layers = Layers::from_text(&path.display().to_string(), &text)?;
        return Err(layers.error("volume", WITHOUT_VOLUME).into());
    }
    Ok(read)
}

/// Returns the job file named by an experiment, which the page must not overwrite.
fn files(path: &Option<PathBuf>) -> Vec<PathBuf> {
    let experiment = path.as_deref().and_then(|path| {
        wafer_lab::Experiment::from_file(path, &wafer_lab::Options::default()).ok()
    });
    experiment.map(|experiment| experiment.files()).unwrap_or_default()
}

fn preset(preset: Preset) -> Result<explore::Preset, serde_json::Error> {
    let settings = serde_json::to_value(preset.settings)?;
    Ok(explore::Preset { title: preset.title, text: preset.text, settings })
}
