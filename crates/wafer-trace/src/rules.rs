//! Parses the rules that choose the placement identifiers of a trace's writes.
//!
//! To add one, add a variant of [`Simple`] or a condition of [`Rule`], and its line in `placing.rs`.

use std::path::Path;
use std::str::FromStr;

use glob::Pattern;
use serde::{Deserialize, Serialize};
use wafer_interface::Bytes;

use super::error::TraceError;

/// The choice of placement identifiers. In text: a word of `Simple`, `map:FILE.csv`, or rules `HANDLE:
/// CONDITION, CONDITION; HANDLE: ...; HANDLE`, of which the first that matches applies. Conditions:
/// `process=NAME*`, `volume=NAME`, `lba=FROM..TO` (bytes), `size>=64KiB`, `size<64KiB`, `sequential`,
/// `random`. A write that matches no rule gets no placement directive. The rules may also be a list of
/// tables, `[{ handle = 1, process = "jbd2*" }, ...]` with the keys `handle`, `process`, `volume`, `from`,
/// `to`, `min_size`, `max_size`, `sequential`, or `rules:FILE.toml` with `[[rule]]` tables.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Spelling", into = "String")]
pub struct PlacementRules {
    text: String,
    pub(super) kind: RuleKind,
}

impl PlacementRules {
    /// Returns the file of a map or of rules.
    pub fn file(&self) -> Option<&str> {
        match &self.kind {
            RuleKind::Map(file) | RuleKind::File(file) => Some(file),
            RuleKind::Simple(_) | RuleKind::List(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum RuleKind {
    Simple(Simple),
    Map(String),
    File(String),
    List(Vec<Rule>),
}

/// The spellings of rules.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "placement is text, or a list of tables with `handle` and conditions"
)]
enum Spelling {
    Text(String),
    Tables(Vec<toml::Table>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    handle: u16,
    process: Option<String>,
    #[serde(default, deserialize_with = "name")]
    volume: Option<String>,
    /// Byte addresses in the trace's volume.
    from: Option<Bytes>,
    to: Option<Bytes>,
    /// Minimum bytes of a write.
    min_size: Option<Bytes>,
    /// Maximum bytes of a write.
    max_size: Option<Bytes>,
    sequential: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    rule: Vec<toml::Spanned<RuleTable>>,
}

impl RuleTable {
    fn rule(self) -> Result<Rule, String> {
        let pattern = |key: &str, text: Option<String>| {
            let made =
                text.map(|t| Pattern::new(&t).map_err(|e| format!("{key}: `{t}`: {}", e.msg)));
            made.transpose()
        };
        let lba = match (self.from, self.to) {
            (None, None) => None,
            (from, to) => Some((from.map_or(0, |b| b.0), to.map_or(u64::MAX, |b| b.0))),
        };
        let rule = Rule {
            handle: self.handle,
            process: pattern("process", self.process)?,
            volume: pattern("volume", self.volume)?,
            lba,
            at_least: self.min_size.map(|b| b.0),
            below: self.max_size.map(|b| b.0.saturating_add(1)),
            sequential: self.sequential,
        };
        rule.checked()
    }
}

/// Reads the rules from a file of `[[rule]]` tables.
pub(super) fn read_rules(path: &Path) -> Result<Vec<Rule>, TraceError> {
    let text = std::fs::read_to_string(path).map_err(|e| TraceError::io(path, e))?;
    let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let refuse = |reason: String| TraceError::Option { path: path.to_owned(), reason };
    let file: RuleFile = toml::from_str(&text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        let message = e.message().lines().next().unwrap_or_default();
        refuse(format!("line {}: {message}", line(at)))
    })?;
    if file.rule.is_empty() {
        return Err(refuse(
            "no rules; write [[rule]] tables with a handle and conditions".to_owned(),
        ));
    }
    let rules = file.rule.into_iter().map(|spanned| {
        let at = line(spanned.span().start);
        spanned.into_inner().rule().map_err(|e| refuse(format!("line {at}: {e}")))
    });
    rules.collect()
}

impl Default for RuleKind {
    fn default() -> Self {
        RuleKind::Simple(Simple::Trace)
    }
}

/// Choices named by a single word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Simple {
    /// The placement identifier recorded in the trace.
    Trace,
    /// No placement identifier: the namespace's first handle.
    None,
    /// One handle per volume, in order of appearance, starting over when they run out.
    Volume,
    /// One handle per process, the largest writers first; all others share the last.
    Process,
    /// By size: up to 4, 16, 64, 256, 1024 KiB and more.
    Size,
    /// 1 for a write that continues where a recent one ended, else 0.
    Sequential,
}

const WORDS: [(&str, Simple); 6] = [
    ("trace", Simple::Trace),
    ("none", Simple::None),
    ("volume", Simple::Volume),
    ("process", Simple::Process),
    ("size", Simple::Size),
    ("sequential", Simple::Sequential),
];

/// One rule: all of its conditions must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rule {
    pub(super) handle: u16,
    pub(super) process: Option<Pattern>,
    pub(super) volume: Option<Pattern>,
    pub(super) lba: Option<(u64, u64)>,
    pub(super) at_least: Option<u64>,
    pub(super) below: Option<u64>,
    pub(super) sequential: Option<bool>,
}

impl FromStr for PlacementRules {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let kind = if let Some((_, simple)) = WORDS.iter().find(|(word, _)| *word == trimmed) {
            RuleKind::Simple(*simple)
        } else if let Some(path) = trimmed.strip_prefix("map:") {
            RuleKind::Map(path.trim().to_owned())
        } else if let Some(path) = trimmed.strip_prefix("rules:") {
            RuleKind::File(path.trim().to_owned())
        } else {
            let rules = trimmed.split(';').filter(|r| !r.trim().is_empty()).map(rule);
            let rules = rules.collect::<Result<Vec<Rule>, String>>()?;
            if rules.is_empty() {
                return Err("no rules".to_owned());
            }
            RuleKind::List(rules)
        };
        Ok(PlacementRules { text: trimmed.to_owned(), kind })
    }
}

fn rule(text: &str) -> Result<Rule, String> {
    let (handle, conditions) = text.split_once(':').unwrap_or((text, ""));
    let handle = handle.trim().parse().map_err(|_| {
        let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        format!(
            "`{}` is neither one of {} nor a rule such as `1: process=jbd2*`",
            text.trim(),
            words.join(", ")
        )
    })?;
    let mut rule = Rule { handle, ..Rule::default() };
    for condition in conditions.split(',').map(str::trim).filter(|c| !c.is_empty()) {
        add_condition(&mut rule, condition).ok_or_else(|| {
            format!(
                "`{condition}` is no condition; known: process=NAME*, volume=NAME, lba=FROM..TO, \
                 size>=SIZE, size<SIZE, sequential, random"
            )
        })?;
    }
    rule.checked()
}

fn add_condition(rule: &mut Rule, text: &str) -> Option<()> {
    let size = |text: &str| text.trim().parse::<Bytes>().ok().map(|b| b.0);
    if text == "sequential" || text == "random" {
        rule.sequential = Some(text == "sequential");
    } else if let Some(value) = text.strip_prefix("size>=") {
        rule.at_least = Some(size(value)?);
    } else if let Some(value) = text.strip_prefix("size<") {
        rule.below = Some(size(value)?);
    } else {
        let (key, value) = text.split_once('=')?;
        let value = value.trim();
        match key.trim() {
            "process" => rule.process = Some(Pattern::new(value).ok()?),
            "volume" => rule.volume = Some(Pattern::new(value).ok()?),
            "lba" => {
                let (from, to) = value.split_once("..")?;
                let from = if from.trim().is_empty() { 0 } else { size(from)? };
                let to = if to.trim().is_empty() { u64::MAX } else { size(to)? };
                rule.lba = Some((from, to));
            }
            _ => return None,
        }
    }
    Some(())
}

impl TryFrom<Spelling> for PlacementRules {
    type Error = String;

    fn try_from(spelling: Spelling) -> Result<Self, String> {
        let tables = match spelling {
            Spelling::Text(text) => return text.parse(),
            Spelling::Tables(tables) => tables,
        };
        if tables.is_empty() {
            return Err("no rules".to_owned());
        }
        let mut rules = Vec::new();
        for table in tables {
            let table: RuleTable = table.try_into().map_err(|e: toml::de::Error| {
                format!("placement: {}", e.message().lines().next().unwrap_or_default())
            })?;
            rules.push(table.rule()?);
        }
        let text = rules.iter().map(Rule::to_text).collect::<Vec<_>>().join("; ");
        Ok(PlacementRules { text, kind: RuleKind::List(rules) })
    }
}

impl Rule {
    /// Refuses a rule that can match no write.
    fn checked(self) -> Result<Self, String> {
        if let Some((from, to)) = self.lba.filter(|(from, to)| from >= to) {
            return Err(format!("no address is from {} up to {}", Bytes(from), Bytes(to)));
        }
        match (self.at_least, self.below) {
            (Some(least), Some(below)) if least >= below => {
                Err(format!("no size is {} or more and less than {}", Bytes(least), Bytes(below)))
            }
            _ => Ok(self),
        }
    }

    /// Returns the rule in its one-line form.
    fn to_text(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.process.as_ref().map(|p| format!("process={p}")));
        parts.extend(self.volume.as_ref().map(|v| format!("volume={v}")));
        parts.extend(self.lba.map(|(from, to)| match to {
            u64::MAX => format!("lba={from}B.."),
            to => format!("lba={from}B..{to}B"),
        }));
        parts.extend(self.at_least.map(|size| format!("size>={size}B")));
        parts.extend(self.below.map(|size| format!("size<{size}B")));
        parts.extend(self.sequential.map(|s| if s { "sequential" } else { "random" }.to_owned()));
        format!("{}: {}", self.handle, parts.join(", "))
    }
}

impl From<PlacementRules> for String {
    fn from(rules: PlacementRules) -> String {
        if rules.text.is_empty() { "trace".to_owned() } else { rules.text }
    }
}

/// Reads a name, which in many traces is a number.
pub(super) fn name<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a name")]
    enum Name {
        Text(String),
        Number(u64),
    }
    Ok(Option::<Name>::deserialize(from)?.map(|name| match name {
        Name::Text(text) => text,
        Name::Number(number) => number.to_string(),
    }))
}
