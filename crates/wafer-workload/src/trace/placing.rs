//! Placement identifiers for traces that carry none.
//!
//! To add a way: a variant of [`Simple`] or a condition of [`Rule`], and its line in [`Placer::place`].

use std::path::Path;
use std::str::FromStr;

use glob::Pattern;
use serde::{Deserialize, Serialize};
use wafer_core::{Bytes, Placement};

use super::TraceError;
use super::place_map::PlaceMap;
use super::request::{NO_PROCESS, Request};
use super::scan::{Scan, size_class};

/// Which placement identifier a write gets. In text: a word of `Simple`, `map:FILE.csv`, or rules
/// `HANDLE: CONDITION, CONDITION; HANDLE: ...; HANDLE`, of which the first that holds decides.
/// Conditions: `process=NAME*`, `volume=NAME`, `lba=FROM..TO` (bytes), `size>=64KiB`, `size<64KiB`,
/// `sequential`, `random`. A write that no rule matches names no placement. The rules may also be a list of
/// tables, `[{ handle = 1, process = "jbd2*" }, ...]` with the keys `handle`, `process`, `volume`, `from`,
/// `to`, `min_size`, `max_size`, `sequential`, or `rules:FILE.toml` with `[[rule]]` tables.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Spelling", into = "String")]
pub struct PlacementRules {
    text: String,
    kind: RuleKind,
}

#[derive(Clone, Debug, PartialEq)]
enum RuleKind {
    Simple(Simple),
    Map(String),
    File(String),
    List(Vec<Rule>),
}

/// How rules are written down.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "placement is text, or a list of tables with `handle` and conditions"
)]
enum Spelling {
    Text(String),
    Tables(Vec<toml::Table>),
}

/// A rule as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    handle: u16,
    process: Option<String>,
    #[serde(default, deserialize_with = "super::options::name")]
    volume: Option<String>,
    /// Bytes in the trace's volume.
    from: Option<Bytes>,
    to: Option<Bytes>,
    /// At least so many bytes.
    min_size: Option<Bytes>,
    /// At most so many bytes.
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
        Ok(Rule {
            handle: self.handle,
            process: pattern("process", self.process)?,
            volume: pattern("volume", self.volume)?,
            lba,
            at_least: self.min_size.map(|b| b.0),
            below: self.max_size.map(|b| b.0.saturating_add(1)),
            sequential: self.sequential,
        })
    }
}

/// The rules of a file of `[[rule]]` tables.
fn read_rules(path: &Path) -> Result<Vec<Rule>, TraceError> {
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

/// Ways with one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Simple {
    /// What the trace carries.
    Trace,
    /// No placement identifier: the namespace's first handle.
    None,
    /// One handle a volume, in order of appearance, starting over when they run out.
    Volume,
    /// One handle a process, those that write most first; all others share the last.
    Process,
    /// By size: up to 4, 16, 64, 256, 1024 KiB and more.
    Size,
    /// 1 where a write goes on where a recent one ended, else 0.
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
struct Rule {
    handle: u16,
    process: Option<Pattern>,
    volume: Option<Pattern>,
    lba: Option<(u64, u64)>,
    at_least: Option<u64>,
    below: Option<u64>,
    sequential: Option<bool>,
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
    Ok(rule)
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
    /// The rule in the one-line form.
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

/// Chooses placement identifiers for the writes of one trace.
#[derive(Clone, Debug)]
pub(super) struct Placer {
    way: Way,
    runs: Runs,
}

#[derive(Clone, Debug)]
enum Way {
    Trace,
    None,
    /// By volume index.
    Volume(Vec<u16>),
    /// By process index; the last entry is for unknown ones.
    Process(Vec<u16>),
    Size(u16),
    Sequential,
    Map(PlaceMap),
    List(Vec<Compiled>),
}

#[derive(Clone, Debug)]
struct Compiled {
    rule: Rule,
    /// Whether the rule's process condition holds, by process index, the last for unknown ones.
    processes: Vec<bool>,
    volumes: Vec<bool>,
}

impl Placer {
    /// For a trace on a namespace of `handles` placement handles. Relative files start at `folder`.
    pub(super) fn new(
        rules: &PlacementRules,
        scan: &Scan,
        handles: u16,
        folder: &Path,
    ) -> Result<Self, TraceError> {
        let last = handles.max(1) - 1;
        let way = match &rules.kind {
            RuleKind::Simple(Simple::Trace) => Way::Trace,
            RuleKind::Simple(Simple::None) => Way::None,
            RuleKind::Simple(Simple::Volume) => Way::Volume(
                (0..scan.volumes.len()).map(|i| (i % usize::from(last + 1)) as u16).collect(),
            ),
            RuleKind::Simple(Simple::Process) => Way::Process(by_process(scan, last)),
            RuleKind::Simple(Simple::Size) => Way::Size(last),
            RuleKind::Simple(Simple::Sequential) => Way::Sequential,
            RuleKind::Map(file) => Way::Map(PlaceMap::read(&folder.join(file))?),
            RuleKind::File(file) => {
                let rules = read_rules(&folder.join(file))?;
                Way::List(rules.iter().map(|r| compiled(r, scan)).collect())
            }
            RuleKind::List(list) => Way::List(list.iter().map(|r| compiled(r, scan)).collect()),
        };
        Ok(Placer { way, runs: Runs::default() })
    }

    /// The placement identifier of a write, which must be told of every write in order.
    #[inline]
    pub(super) fn place(&mut self, request: &Request) -> Placement {
        match &self.way {
            Way::Trace => request.placement,
            Way::None | Way::Map(_) => Placement::NONE,
            Way::Volume(handles) => at(handles, request.volume),
            Way::Process(handles) => at(handles, request.process),
            Way::Size(last) => Placement((size_class(request.bytes) as u16).min(*last)),
            Way::Sequential => Placement(u16::from(self.runs.goes_on(request))),
            Way::List(rules) => {
                let sequential = self.runs.goes_on(request);
                let found = rules.iter().find(|r| r.holds(request, sequential));
                found.map_or(Placement::NONE, |r| Placement(r.rule.handle))
            }
        }
    }

    /// Whether writes go where the trace says.
    pub(super) fn is_recorded(&self) -> bool {
        matches!(self.way, Way::Trace)
    }

    /// The map by device address, where there is one: pieces are placed after the remap.
    pub(super) fn map(&self) -> Option<&PlaceMap> {
        match &self.way {
            Way::Map(map) => Some(map),
            _ => None,
        }
    }
}

#[inline]
fn at(handles: &[u16], index: u32) -> Placement {
    let index = (index as usize).min(handles.len().saturating_sub(1));
    handles.get(index).map_or(Placement::NONE, |h| Placement(*h))
}

/// Handles by process: most bytes first.
fn by_process(scan: &Scan, last: u16) -> Vec<u16> {
    let mut order: Vec<usize> = (0..scan.processes.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(scan.processes[*i].1));
    let mut handles = vec![last; scan.processes.len() + 1];
    for (rank, process) in order.into_iter().enumerate() {
        handles[process] = u16::try_from(rank).unwrap_or(last).min(last);
    }
    handles
}

fn compiled(rule: &Rule, scan: &Scan) -> Compiled {
    let holds =
        |pattern: &Option<Pattern>, name: &str| pattern.as_ref().is_none_or(|p| p.matches(name));
    let mut processes: Vec<bool> =
        scan.processes.iter().map(|(name, _)| holds(&rule.process, name)).collect();
    processes.push(rule.process.is_none());
    let volumes = scan.volumes.iter().map(|v| holds(&rule.volume, &v.name)).collect();
    Compiled { rule: rule.clone(), processes, volumes }
}

impl Compiled {
    fn holds(&self, request: &Request, sequential: bool) -> bool {
        let rule = &self.rule;
        let process = match request.process {
            NO_PROCESS => self.processes.len() - 1,
            process => (process as usize).min(self.processes.len() - 1),
        };
        self.processes[process]
            && self.volumes.get(request.volume as usize).copied().unwrap_or(false)
            && rule.lba.is_none_or(|(from, to)| (from..to).contains(&request.offset))
            && rule.at_least.is_none_or(|size| request.bytes >= size)
            && rule.below.is_none_or(|size| request.bytes < size)
            && rule.sequential.is_none_or(|wanted| wanted == sequential)
    }
}

/// Where recent writes ended: a write that begins at one of these goes on.
#[derive(Clone, Debug)]
struct Runs {
    ends: [(u32, u64); Runs::WAYS],
    next: usize,
}

impl Default for Runs {
    fn default() -> Self {
        Runs { ends: [(u32::MAX, u64::MAX); Runs::WAYS], next: 0 }
    }
}

impl Runs {
    /// Streams followed at once.
    const WAYS: usize = 16;

    fn goes_on(&mut self, request: &Request) -> bool {
        let begins = (request.volume, request.offset);
        let ends = (request.volume, request.end());
        if let Some(found) = self.ends.iter_mut().find(|end| **end == begins) {
            *found = ends;
            return true;
        }
        self.ends[self.next] = ends;
        self.next = (self.next + 1) % Runs::WAYS;
        false
    }
}
