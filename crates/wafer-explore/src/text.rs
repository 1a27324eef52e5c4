//! Writes settings as an experiment file and as a command line.

use serde_json::Value;

use crate::settings::{Settings, WorkloadSettings};

/// First line of an experiment file.
const MADE_BY: &str = "# Made with `wafer explore`.\n";

impl Settings {
    /// Returns the experiment file, with which `wafer run` gives the same result.
    pub fn experiment(&self) -> String {
        let mut text = String::from(MADE_BY);
        let mut line = |key: &str, value: Option<String>| {
            text += &value.map(|value| format!("{key} = {value}\n")).unwrap_or_default();
        };
        line("volume", self.volume.as_deref().map(string));
        line("seed", Some(self.seed.to_string()));
        line("samples", self.samples.map(|samples| samples.to_string()));
        line("precondition", self.precondition.as_deref().map(string));
        line("pace", self.pace().as_deref().map(string));
        line("attribution", self.attribution.then(|| "true".to_owned()));
        text += "\n[device]\n";
        if let Some(device) = &self.device {
            text += &format!("profile = {}\n", string(device));
        }
        for (key, value) in &self.set {
            text += &format!("{key} = {}\n", inline(value));
        }
        text += "\n";
        match (&self.workload, self.job_file()) {
            (WorkloadSettings::Toml(toml), _) => text += toml,
            (_, job_file) => {
                text += "[workload]\nfio_text = ";
                text += &lines(&job_file.unwrap_or_default());
                text += "\n";
            }
        }
        text
    }

    /// Returns a shell command for the same run.
    pub fn command(&self) -> String {
        let nested = |value: &Value| value.is_object() || value.is_array();
        let (words, input) = match (&self.device, self.job_file()) {
            (Some(device), Some(jobs)) if !self.set.values().any(nested) => {
                (self.options(device), jobs)
            }
            _ => (vec!["wafer".into(), "run".into(), "/dev/stdin".into()], self.experiment()),
        };
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let end = (0..).map(|n| if n == 0 { "END".to_owned() } else { format!("END{n}") });
        let end = end.into_iter().find(|end| !input.lines().any(|line| line == end));
        let (end, feed) = (end.unwrap_or_default(), if input.ends_with('\n') { "" } else { "\n" });
        format!("{} <<'{end}'\n{input}{feed}{end}\n", words.join(" "))
    }

    fn options(&self, device: &str) -> Vec<String> {
        let mut words: Vec<String> = vec!["wafer".into(), "run".into()];
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        };
        option("--device", Some(device.to_owned()));
        for (key, value) in &self.set {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            option("--set", Some(format!("{key}={value}")));
        }
        option("--fio", Some("/dev/stdin".into()));
        option("--volume", self.volume.clone());
        option("--pace", self.pace());
        option("--precondition", self.precondition.clone());
        option("--seed", Some(self.seed.to_string()));
        option("--samples", self.samples.map(|samples| samples.to_string()));
        words.extend(self.attribution.then(|| "--attribution".to_owned()));
        words
    }
}

/// Returns text as a TOML string.
fn string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Returns text as a multi-line TOML string, literal if TOML allows it.
fn lines(text: &str) -> String {
    let literal = |c: char| c == '\n' || c == '\t' || !c.is_control();
    match text.chars().all(literal) && !text.contains("'''") && !text.ends_with('\'') {
        true => format!("'''\n{text}'''"),
        false => string(text),
    }
}

/// Returns a value as one line of TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => string(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{} = {}", string(key), inline(value));
            format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_=.,:/%+-".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
