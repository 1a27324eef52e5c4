//! Values that shells complete: names, and keys of configurations with their values.

use std::ffi::OsStr;

use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use wafer_config::{Key, keys, overridable_keys, profiles};
use wafer_lab::experiment_schema;
use wafer_studies::reproduce::Study;

/// Completes device profiles and device files.
pub(super) fn device() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let names = profiles().into_iter().map(|profile| (profile.name, String::new()));
        let mut found = starting_with(current, names);
        found.extend(PathCompleter::file().complete(current));
        found
    })
}

/// Completes `KEY=VALUE` of a device.
pub(super) fn device_keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| assignments(current, &overridable_keys()))
}

/// Completes `KEY=VALUE` of a trace.
pub(super) fn trace_keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let root = experiment_schema();
        let keys = keys(&root, &root["$defs"]["workload-trace"]);
        let options: Vec<Key> = keys.into_iter().filter(|key| key.name != "trace").collect();
        assignments(current, &options)
    })
}

/// Completes GC policies, and `all`.
pub(super) fn policies() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let policies = wafer_device::policy::POLICIES.iter();
        let named = policies.map(|policy| (policy.name.to_owned(), policy.summary.to_owned()));
        let all = ("all".to_owned(), "every policy".to_owned());
        starting_with(current, std::iter::once(all).chain(named))
    })
}

/// Completes application models.
pub(super) fn models() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let models = wafer_lab::models().iter();
        starting_with(current, models.map(|m| (m.name.to_owned(), m.summary.to_owned())))
    })
}

/// Completes studies.
pub(super) fn studies() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let names = Study::shipped_names();
        starting_with(current, names.into_iter().map(|name| (name, String::new())))
    })
}

/// Candidates for `KEY=`, or for the value once there is a `=`.
fn assignments(current: &OsStr, keys: &[Key]) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy();
    let Some((name, _)) = text.split_once('=') else {
        let named = keys.iter().map(|key| match key.name.strip_suffix('*') {
            Some(table) => (table.to_owned(), key.meaning.clone()),
            None => (format!("{}=", key.name), key.meaning.clone()),
        });
        return starting_with(current, named);
    };
    let same = |key: &&Key| match key.name.strip_suffix('*') {
        Some(table) => name.starts_with(table),
        None => key.name == name,
    };
    let Some(key) = keys.iter().find(same) else { return Vec::new() };
    let mut values = key.values.clone();
    if key.kind.starts_with("`true`") {
        values = ["true", "false"].map(|value| (value.to_owned(), String::new())).to_vec();
    }
    starting_with(
        current,
        values.into_iter().map(|(value, text)| (format!("{name}={value}"), text)),
    )
}

fn starting_with(
    current: &OsStr,
    candidates: impl Iterator<Item = (String, String)>,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let fits = candidates.filter(|(name, _)| name.starts_with(&*current));
    let candidate = |(name, text): (String, String)| {
        CompletionCandidate::new(name).help((!text.is_empty()).then(|| text.into()))
    };
    fits.map(candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(text: &str) -> Vec<String> {
        let found = assignments(OsStr::new(text), &overridable_keys());
        found.iter().map(|c| c.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn keys_and_their_values_are_completed() {
        assert_eq!(complete("gc.pol"), ["gc.policy="]);
        assert_eq!(complete("isolation="), ["isolation=initially", "isolation=persistently"]);
        assert_eq!(complete("handle_isolation.2=p"), ["handle_isolation.2=persistently"]);
        assert_eq!(complete("fdp=f"), ["fdp=false"]);
        assert!(complete("gc.policy=").contains(&"gc.policy=cost-benefit".to_owned()));
        assert!(complete("").len() > 20 && complete("colour").is_empty());
        // No key of the configuration: the device refuses it as an override.
        assert!(complete("description").is_empty());
    }
}
