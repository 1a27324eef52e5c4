//! The requests of the page to the module, one at a time, and their answers.

use std::path::Path;
use std::time::Duration;
use wafer_config::ConfigError;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wafer_config::Place;
use wafer_config::profiles;
use wafer_config::{line, load_device};
use wafer_device::policy::POLICIES;
use wafer_lab::{Checked, Experiment, LabError, Options, Steps};

use crate::settings::Settings;

/// Name of the experiment in messages and records.
const NAME: &str = "explore.toml";

/// A request from the page.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", tag = "do", deny_unknown_fields)]
enum Request {
    /// Lists the choices.
    About,
    /// Reads the settings of an experiment file.
    Read { text: String },
    /// Checks whether settings can run, and returns their text forms.
    Check { settings: Value },
    /// Starts a run; drops one in progress.
    Start { settings: Value },
    /// Continues the run.
    Advance { milliseconds: f64 },
    /// Returns the record of the run so far.
    Record,
}

/// An error for the page.
#[derive(Debug, Serialize)]
struct Refusal {
    /// One-line message.
    text: String,
    /// Invalid key, if there is one.
    key: Option<String>,
}

/// The state of a page: at most one run.
#[derive(Default)]
pub struct Session {
    run: Option<Steps>,
}

impl Session {
    /// Returns the answer to a request, both JSON: `{ "ok": ... }`, or `{ "error": { "text", "key" } }`.
    pub fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        let answer = match serde_json::from_slice(request) {
            Ok(request) => self.obey(request),
            Err(error) => Err(Refusal { text: error.to_string(), key: None }),
        };
        let answer = match answer {
            Ok(value) => json!({ "ok": value }),
            Err(refusal) => json!({ "error": refusal }),
        };
        serde_json::to_vec(&answer).unwrap_or_default()
    }

    fn obey(&mut self, request: Request) -> Result<Value, Refusal> {
        let value = match request {
            Request::About => about()?,
            Request::Read { text } => value(&Settings::read(Path::new(NAME), &text)?)?,
            Request::Check { settings } => {
                let settings = read(&settings)?;
                let checked = checked(&settings)?;
                let device = &checked.experiment.device;
                json!({
                    "experiment": settings.experiment(),
                    "command": settings.command(),
                    "job_file": settings.job_file(),
                    "device": value(&device.summary())?,
                    "config": value(&device.config)?,
                    "volume_bytes": checked.experiment.volume_bytes(),
                    "memory_bytes": checked.memory_bytes,
                    "notices": checked.notices,
                })
            }
            Request::Start { settings } => {
                self.run = None;
                self.run = Some(Steps::new(&checked(&read(&settings)?)?.experiment)?);
                Value::Null
            }
            Request::Advance { milliseconds } => {
                let run = self.run()?;
                let most = Duration::try_from_secs_f64(milliseconds / 1e3).unwrap_or_default();
                let left = run.advance(most)?;
                json!({ "left": left, "preparing": run.is_preparing(), "total": run.total() })
            }
            Request::Record => value(&self.run()?.record())?,
        };
        Ok(value)
    }

    fn run(&mut self) -> Result<&mut Steps, Refusal> {
        self.run.as_mut().ok_or_else(|| Refusal { text: "nothing runs".to_owned(), key: None })
    }
}

/// Reads settings; an error names the key.
fn read(settings: &Value) -> Result<Settings, Refusal> {
    serde_path_to_error::deserialize(settings).map_err(|error| {
        let key = error.path().to_string();
        Refusal { text: format!("{key}: {}", error.inner()), key: Some(key) }
    })
}

/// What is wrong with an experiment without a volume.
pub const WITHOUT_VOLUME: &str = "missing; the run in a page has no other end";

/// Returns the experiment of settings, checked and ready to run.
fn checked(settings: &Settings) -> Result<Checked, Refusal> {
    let text = settings.experiment();
    let experiment = Experiment::from_text(Path::new(NAME), &text, &Options::default())?;
    if experiment.volume.is_none() {
        let text = format!("{NAME}: volume: {WITHOUT_VOLUME}");
        return Err(Refusal { text, key: Some("volume".to_owned()) });
    }
    Ok(experiment.check()?)
}

/// Returns the choices.
fn about() -> Result<Value, Refusal> {
    let device = |name: &str| -> Result<Value, Refusal> {
        let device = load_device(name, &[]).map_err(LabError::from)?;
        Ok(json!({ "summary": value(&device.summary())?, "config": value(&device.config)? }))
    };
    let devices: Result<Vec<Value>, Refusal> =
        profiles().iter().map(|profile| device(&profile.name)).collect();
    let policies = POLICIES.iter().map(|p| json!({ "name": p.name, "summary": p.summary }));
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "git": wafer_lab::GIT,
        "devices": devices?,
        "policies": policies.collect::<Vec<Value>>(),
    }))
}

fn value(of: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(of).map_err(|error| Refusal { text: error.to_string(), key: None })
}

impl From<LabError> for Refusal {
    fn from(error: LabError) -> Self {
        let key = match error.innermost() {
            LabError::Config(ConfigError::Invalid { place, .. }) => match place {
                Place::File { key, .. } => key.clone(),
                Place::Override { key, .. } => Some(key.clone()),
                Place::Argument(name) => Some((*name).to_owned()),
                Place::Named(_) => None,
            },
            LabError::JobFile(_) | LabError::Jobs(_) => Some("workload".to_owned()),
            _ => None,
        };
        Refusal { text: line(&error, |cause| cause.to_string()), key }
    }
}
