//! The examples offered by a page: experiments of `configs/experiments/explore`.

use std::path::Path;

use toml::Value;
use wafer_config::Layers;
use wafer_lab::LabError;

use crate::settings::Settings;

/// An example.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Its title.
    pub title: String,
    /// Description of what it shows.
    pub text: String,
    /// Its settings.
    pub settings: Settings,
}

macro_rules! presets {
    ($($file:literal => $title:literal,)*) => {
        /// Titles, paths and texts of the examples; a page without an experiment starts with the first.
        const PRESETS: &[(&str, &str, &str)] = &[$((
            $title,
            concat!("configs/experiments/explore/", $file),
            include_str!(concat!("../../../configs/experiments/explore/", $file)),
        ),)*];
    };
}

presets! {
    "one-stream.toml" => "Random writes",
    "noisy-ruh.toml" => "Noisy RUH",
    "save-sequential.toml" => "Save Sequential",
    "ii-pi.toml" => "II against PI",
    "f2fs-warm.toml" => "F2FS's warm data",
}

impl Preset {
    /// Reads an experiment file for a page; `title` is used if it has no name of its own.
    ///
    /// # Errors
    /// Those of [`Settings::read`].
    pub fn read(title: &str, path: &Path, text: &str) -> Result<Self, LabError> {
        let settings = Settings::read(path, text)?;
        let layers = Layers::from_text(&path.display().to_string(), text)?;
        let described = layers.get("description").and_then(Value::as_str).unwrap_or_default();
        let known = PRESETS.iter().find(|(_, _, of)| *of == text).map(|(title, ..)| *title);
        let title = known.unwrap_or(title).to_owned();
        Ok(Preset { title, text: described.to_owned(), settings })
    }
}

/// Returns the examples.
///
/// # Errors
/// If a shipped file is invalid, which a test rules out.
pub fn presets() -> Result<Vec<Preset>, LabError> {
    PRESETS.iter().map(|(title, path, text)| Preset::read(title, Path::new(path), text)).collect()
}
