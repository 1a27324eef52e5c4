//! Words errors in the terms of the command line.

use std::error::Error;

use wafer_config::{ConfigError, Overridden, Place};
use wafer_lab::LabError;
use wafer_record::RecordError;

/// The user stopped a command that writes nothing before its end.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl Error for Interrupted {}

/// Returns an error and its causes as one line.
pub(crate) fn line(error: &anyhow::Error) -> String {
    wafer_config::line(error.as_ref(), describe)
}

/// Returns a library error as one line.
pub(crate) fn lab(error: &LabError) -> String {
    wafer_config::line(error, describe)
}

/// Returns the exit status for an error.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(RecordError::Input { .. }) = error.downcast_ref::<RecordError>() {
        return 2;
    }
    if error.is::<Interrupted>() {
        return 130;
    }
    match error.downcast_ref::<LabError>() {
        Some(LabError::Cancelled) => 130,
        Some(error) => 1 + u8::from(error.is_usage()),
        None => 1 + u8::from(error.downcast_ref().is_some_and(ConfigError::is_usage)),
    }
}

/// Words an error: libraries name arguments by their role, which are options here.
fn describe(cause: &(dyn Error + 'static)) -> String {
    let config = match cause.downcast_ref() {
        Some(LabError::Config(config)) => Some(config),
        _ => cause.downcast_ref(),
    };
    let Some(ConfigError::Invalid { place, reason, overrides }) = config else {
        return cause.to_string();
    };
    let with = match overrides.as_slice() {
        [] => String::new(),
        all => format!(" (with --set {})", all.join(" --set ")),
    };
    format!("{}: {reason}{with}", option(place))
}

fn option(place: &Place) -> String {
    match place {
        Place::Override { of: Overridden::Device, key } => format!("--set {key}"),
        Place::Override { of: Overridden::Traces, key } => format!("--trace-set {key}"),
        // A positional argument.
        Place::Argument("name") => "NAME".to_owned(),
        Place::Argument("workload") => "--fio or --trace".to_owned(),
        Place::Argument(name) => format!("--{}", name.replace('_', "-")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_options_here() {
        let text = |place: Place| lab(&LabError::config(place, "wrong"));
        assert_eq!(text(Place::Argument("pace_from")), "--pace-from: wrong");
        let key = |of| Place::Override { of, key: "gc.policy".into() };
        assert_eq!(text(key(Overridden::Device)), "--set gc.policy: wrong");
        assert_eq!(text(key(Overridden::Traces)), "--trace-set gc.policy: wrong");
        let file = Place::File { file: "a.toml".into(), line: Some(3), key: Some("seed".into()) };
        assert_eq!(text(file.clone()), "a.toml:3: seed: wrong");
        let overrides = vec!["capacity=1GiB".into()];
        let error = ConfigError::Invalid { place: file, reason: "wrong".into(), overrides };
        assert_eq!(lab(&error.into()), "a.toml:3: seed: wrong (with --set capacity=1GiB)");
    }

    #[test]
    fn causes_follow_once() {
        let source = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let error = anyhow::Error::from(ConfigError::io("a", source));
        assert_eq!(line(&error), "a: no such file");
        assert_eq!(exit_code(&error), 1);
    }
}
