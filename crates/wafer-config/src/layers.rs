//! A TOML document that remembers where each key was set, for error messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use toml_edit::Document;

use crate::error::{ConfigError, Overridden, Place, one_line};
use crate::origins;
use crate::suggest::{did_you_mean, did_you_mean_in};

/// Where the value of a key was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file, by the name to show, and a line, from 1.
    File(Arc<str>, usize),
    /// An override, `KEY=VALUE`.
    Override,
}

/// Values with their origins. Upper layers override lower ones key by key.
#[derive(Clone, Debug)]
pub struct Layers {
    /// Name of the bottom file, for errors about keys that are not set.
    label: Arc<str>,
    values: Table,
    origins: BTreeMap<String, Origin>,
    /// The target of overrides, for messages.
    overridden: Overridden,
    /// Overrides, as given.
    overrides: Vec<String>,
}

/// Keys that exclude each other: one in an upper layer replaces the other.
const EXCLUSIVE: [&str; 2] = ["overprovisioning", "reclaim_unit.count"];

impl Layers {
    /// Reads one file's text; `label` is its name in messages.
    pub fn from_text(label: &str, text: &str) -> Result<Self, ConfigError> {
        let label: Arc<str> = label.into();
        let lines = origins::LineIndex::new(text);
        let syntax = |message: &str, span: Option<std::ops::Range<usize>>| {
            let line = span.clone().map(|s| lines.line(s.start));
            // The message about a duplicate key does not name it.
            let key = span.and_then(|s| text.get(s)).filter(|_| message == "duplicate key");
            let place = Place::File { file: label.to_string(), line, key: key.map(str::to_owned) };
            ConfigError::new(place, one_line(message))
        };
        let document = Document::parse(text).map_err(|e| syntax(e.message(), e.span()))?;
        let origins = origins::of_document(&document, &lines)
            .into_iter()
            .map(|(key, line)| (key, Origin::File(label.clone(), line)))
            .collect();
        let values: Table = toml::from_str(text).map_err(|e| syntax(e.message(), e.span()))?;
        Ok(Layers { values, origins, ..Layers::empty(label) })
    }

    /// Returns the options of traces that overrides set, on top of the defaults.
    pub fn of_traces(overrides: &[String]) -> Result<Self, ConfigError> {
        let label: Arc<str> = "options of traces".into();
        let mut layers = Layers { overridden: Overridden::Traces, ..Layers::empty(label) };
        layers.set_all(overrides)?;
        Ok(layers)
    }

    fn empty(label: Arc<str>) -> Self {
        Layers {
            label,
            values: Table::new(),
            origins: BTreeMap::new(),
            overridden: Overridden::Device,
            overrides: Vec::new(),
        }
    }

    /// Adds `upper` on top; its values take precedence.
    pub fn lay(&mut self, upper: Layers) {
        for (i, key) in EXCLUSIVE.iter().enumerate() {
            if upper.get(key).is_some() && upper.get(EXCLUSIVE[1 - i]).is_none() {
                self.remove(EXCLUSIVE[1 - i]);
            }
        }
        merge("", &mut self.values, upper.values, &mut |replaced| {
            self.origins.retain(|k, _| !is_at_or_under(k, replaced));
        });
        self.origins.extend(upper.origins);
        self.overrides.extend(upper.overrides);
    }

    /// Applies `KEY=VALUE` overrides, in order.
    pub fn set_all(&mut self, assignments: &[String]) -> Result<(), ConfigError> {
        for assignment in assignments {
            let (key, value) = parse_assignment(self.overridden, assignment)?;
            for (i, exclusive) in EXCLUSIVE.iter().enumerate() {
                let other = EXCLUSIVE[1 - i];
                if key == *exclusive && self.origins.get(other) != Some(&Origin::Override) {
                    self.remove(other);
                }
            }
            self.origins.retain(|k, _| !is_at_or_under(k, &key));
            insert(&mut self.values, self.overridden, &key, value)?;
            self.origins.insert(key, Origin::Override);
            self.overrides.push(assignment.clone());
        }
        Ok(())
    }

    /// Returns the value at a dotted key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let mut segments = key.split('.');
        let mut value = self.values.get(segments.next()?)?;
        for segment in segments {
            value = value.as_table()?.get(segment)?;
        }
        Some(value)
    }

    /// Reports whether an override set this key.
    pub fn is_overridden(&self, key: &str) -> bool {
        self.origins.get(key) == Some(&Origin::Override)
    }

    /// Reports whether a file or an override set this key.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Reports whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes a key and all keys under it, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.origins.retain(|k, _| !is_at_or_under(k, key));
        match key.rsplit_once('.') {
            None => self.values.remove(key),
            Some((parent, leaf)) => table_at(&mut self.values, parent)?.remove(leaf),
        }
    }

    /// Removes a table and returns it as new layers, with its origins. `Err` is a value that is not a table.
    pub fn split_off(&mut self, key: &str) -> Option<Result<Layers, Value>> {
        let origins = self
            .origins
            .iter()
            .filter_map(|(k, o)| {
                Some((k.strip_prefix(key)?.strip_prefix('.')?.to_owned(), o.clone()))
            })
            .collect();
        let label = self.label.clone();
        Some(match self.remove(key)? {
            Value::Table(values) => Ok(Layers { values, origins, ..Layers::empty(label) }),
            other => Err(other),
        })
    }

    /// Removes a list of tables and returns each as new layers, with its origins. `Err` is another kind of value.
    pub fn split_off_list(&mut self, key: &str) -> Option<Result<Vec<Layers>, Value>> {
        let origins = std::mem::take(&mut self.origins);
        let (under, rest) = origins.into_iter().partition(|(k, _)| is_at_or_under(k, key));
        self.origins = rest;
        let under: BTreeMap<String, Origin> = under;
        let list = match self.remove(key)? {
            Value::Array(list) if list.iter().all(Value::is_table) => list,
            other => return Some(Err(other)),
        };
        let layers = list.into_iter().enumerate().map(|(i, value)| {
            let prefix = format!("{key}[{i}]");
            let own = under.iter().filter_map(|(k, o)| {
                let rest = k.strip_prefix(&prefix)?;
                // The empty key has the table's own line, for errors about keys missing from it.
                let rest = if rest.is_empty() { "" } else { rest.strip_prefix('.')? };
                Some((rest.to_owned(), o.clone()))
            });
            let values = match value {
                Value::Table(values) => values,
                _ => Table::new(),
            };
            Layers { values, origins: own.collect(), ..Layers::empty(self.label.clone()) }
        });
        Some(Ok(layers.collect()))
    }

    /// Refuses top-level keys that are not among `known`.
    ///
    /// # Errors
    /// The error names the first other key, and suggests a known one.
    pub fn refuse_others(&self, known: &[String]) -> Result<(), ConfigError> {
        match self.values.keys().find(|key| !known.contains(key)) {
            Some(key) => Err(self.error(key, &format!("unknown key{}", did_you_mean(key, known)))),
            None => Ok(()),
        }
    }

    /// Removes top-level keys and deserializes them.
    pub fn take<T: DeserializeOwned>(&mut self, keys: &[String]) -> Result<T, ConfigError> {
        let mut part = self.clone();
        part.values.retain(|key, _| keys.iter().any(|one| one == key));
        let taken = part.read()?;
        for key in keys {
            self.remove(key);
        }
        Ok(taken)
    }

    /// Removes a key outside the typed part of the file and returns its string.
    pub fn take_string(&mut self, key: &str) -> Result<Option<String>, ConfigError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => {
                let text = text.clone();
                self.remove(key);
                Ok(Some(text))
            }
            Some(other) => {
                Err(self.error(key, &format!("expected a string, found {}", other.type_str())))
            }
        }
    }

    /// Deserializes the values.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        self.read_by(|values| serde_path_to_error::deserialize(Value::Table(values)))
    }

    /// Deserializes the values with `make`.
    pub fn read_by<T>(
        &self,
        make: impl FnOnce(Table) -> Result<T, serde_path_to_error::Error<toml::de::Error>>,
    ) -> Result<T, ConfigError> {
        make(self.values.clone()).map_err(|e| {
            let path = e.path().to_string();
            let parent = if path == "." { "" } else { &path };
            let message = one_line(e.inner().message());
            self.explain(parent, &message)
        })
    }

    /// Resolves the path at a key relative to a folder, if the value is a string.
    pub fn beside(&mut self, key: &str, folder: &std::path::Path) {
        if let Some(Value::String(path)) = self.values.get_mut(key) {
            *path = folder.join(&*path).to_string_lossy().into_owned();
        }
    }

    /// Returns the values as TOML.
    pub fn to_text(&self) -> String {
        self.values.to_string()
    }

    /// Returns an error about `key` that names where it was set.
    pub fn error(&self, key: &str, reason: &str) -> ConfigError {
        let overrides = match self.origin(key) {
            Some(Origin::File(..)) => self.overrides.clone(),
            _ => Vec::new(),
        };
        ConfigError::Invalid { place: self.place(key), reason: reason.to_owned(), overrides }
    }

    /// Returns where `key` was set: a line of a file, or an override.
    pub fn place(&self, key: &str) -> Place {
        let file = |file: &str, line| Place::File {
            file: file.to_owned(),
            line,
            key: Some(key.to_owned()),
        };
        match self.origin(key) {
            Some(Origin::Override) => Place::Override { of: self.overridden, key: key.to_owned() },
            Some(Origin::File(label, line)) => file(label, Some(*line)),
            None => file(&self.label, None),
        }
    }

    /// Turns a deserializer's message into an error about a key, with a suggestion.
    fn explain(&self, path: &str, message: &str) -> ConfigError {
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let join = |leaf: &str| {
            if path.is_empty() {
                leaf.to_owned()
            } else if path == leaf || path.ends_with(&format!(".{leaf}")) {
                path.to_owned()
            } else {
                format!("{path}.{leaf}")
            }
        };
        match quoted.split_first() {
            Some((key, known)) if message.starts_with("unknown field") => {
                let whole = join(key);
                let table = whole.strip_suffix(key).unwrap_or_default();
                self.error(&whole, &format!("unknown key{}", did_you_mean_in(table, key, known)))
            }
            Some((value, known)) if message.starts_with("unknown variant") => {
                self.error(path, &format!("unknown value `{value}`{}", did_you_mean(value, known)))
            }
            Some((key, _)) if message.starts_with("missing field") => {
                self.error(&join(key), "missing; it has no default")
            }
            // An enumeration of strings; serde does not report what it found.
            _ if message.ends_with(", expected string only") => {
                let found =
                    self.get(path).map_or(String::new(), |value| format!(", found {value}"));
                self.error(path, &format!("expected text{found}"))
            }
            _ => self.error(path, &in_plain_words(message)),
        }
    }

    /// Returns the origin of a key, or of the nearest key around it or under it.
    fn origin(&self, key: &str) -> Option<&Origin> {
        let mut at = key;
        loop {
            if let Some(origin) = self.origins.get(at) {
                return Some(origin);
            }
            match at.rfind(['.', '[']) {
                Some(end) => at = &at[..end],
                None => break,
            }
        }
        let under = self.origins.iter().find(|(k, _)| is_at_or_under(k, key));
        under.map(|(_, origin)| origin).or_else(|| self.origins.get(""))
    }
}

/// Rewords serde's "invalid type" and "invalid value" without names of Rust types.
fn in_plain_words(message: &str) -> String {
    if let Some((found, kind)) =
        message.strip_prefix("invalid value: integer ").and_then(|m| m.split_once(", expected "))
    {
        let most = match kind {
            "u8" => u64::from(u8::MAX),
            "u16" => u64::from(u16::MAX),
            "u32" => u64::from(u32::MAX),
            "u64" | "usize" => u64::MAX,
            _ => return message.to_owned(),
        };
        return format!(
            "expected a whole number from 0 to {most}, found {}",
            found.trim_matches('`')
        );
    }
    let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|m| m.split_once(", expected "))
    else {
        return message.to_owned();
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other if other.starts_with("struct ") || other == "a map" => "a table",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

fn is_at_or_under(key: &str, of: &str) -> bool {
    key.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn merge(prefix: &str, lower: &mut Table, upper: Table, replaced: &mut impl FnMut(&str)) {
    for (key, value) in upper {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match (lower.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => {
                merge(&path, below, above, replaced);
            }
            (_, value) => {
                replaced(&path);
                lower.insert(key, value);
            }
        }
    }
}

fn table_at<'a>(root: &'a mut Table, path: &str) -> Option<&'a mut Table> {
    path.split('.').try_fold(root, |table, key| table.get_mut(key)?.as_table_mut())
}

fn insert(root: &mut Table, of: Overridden, key: &str, value: Value) -> Result<(), ConfigError> {
    let place = || Place::Override { of, key: key.to_owned() };
    let bad = |part: &str| ConfigError::new(place(), format!("{part} has no keys"));
    let mut segments: Vec<&str> = key.split('.').collect();
    let leaf = segments.pop().unwrap_or_default();
    let mut table = root;
    for segment in segments {
        let next = table.entry(segment).or_insert_with(|| Value::Table(Table::new()));
        table = next.as_table_mut().ok_or_else(|| bad(&format!("`{segment}`")))?;
    }
    table.insert(leaf.to_owned(), value);
    Ok(())
}

fn parse_assignment(of: Overridden, text: &str) -> Result<(String, Value), ConfigError> {
    let wrong = |key: &str, reason: String| {
        Err(ConfigError::new(Place::Override { of, key: key.to_owned() }, reason))
    };
    let Some((key, value)) = text.split_once('=') else {
        return wrong(text, "expected KEY=VALUE, such as gc.policy=greedy".to_owned());
    };
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || key.split('.').any(str::is_empty) {
        return wrong(text, "expected a dotted key before `=`".to_owned());
    }
    if value.is_empty() {
        return wrong(key, "no value after `=`".to_owned());
    }
    let parsed = toml::from_str::<Table>(&format!("value = {value}"));
    match parsed.ok().and_then(|mut table| table.remove("value")) {
        Some(value) => Ok((key.to_owned(), value)),
        None if value.starts_with(['[', '{', '"', '\'']) => {
            wrong(key, format!("`{value}` is not a TOML value"))
        }
        None => Ok((key.to_owned(), Value::String(value.to_owned()))),
    }
}
