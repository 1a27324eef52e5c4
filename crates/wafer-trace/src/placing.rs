//! Chooses the placement identifiers of a trace's writes.

use std::path::Path;

use glob::Pattern;
use wafer_interface::Placement;

use super::error::TraceError;
use super::place_map::PlaceMap;
use super::request::{NO_PROCESS, Request};
use super::rules::{PlacementRules, Rule, RuleKind, Simple, read_rules};
use super::scan::{Scan, size_class};

/// Chooses placement identifiers for the writes of one trace.
#[derive(Clone, Debug)]
pub(super) struct Placer {
    choice: Choice,
    runs: Runs,
}

#[derive(Clone, Debug)]
enum Choice {
    Trace,
    None,
    /// By volume index.
    Volume(Vec<u16>),
    /// By process index; the last entry is for unknown processes.
    Process(Vec<u16>),
    Size(u16),
    Sequential,
    Map(PlaceMap),
    List(Vec<Compiled>),
}

#[derive(Clone, Debug)]
struct Compiled {
    rule: Rule,
    /// Whether the rule's process condition holds, by process index; the last if unknown.
    processes: Vec<bool>,
    volumes: Vec<bool>,
}

impl Placer {
    /// Returns the placer of a trace on a namespace of `handles` handles. Paths are relative to `folder`.
    pub(super) fn new(
        rules: &PlacementRules,
        scan: &Scan,
        handles: u16,
        folder: &Path,
    ) -> Result<Self, TraceError> {
        let last = handles.max(1) - 1;
        let choice = match &rules.kind {
            RuleKind::Simple(Simple::Trace) => Choice::Trace,
            RuleKind::Simple(Simple::None) => Choice::None,
            RuleKind::Simple(Simple::Volume) => Choice::Volume(
                (0..scan.volumes.len()).map(|i| (i % usize::from(last + 1)) as u16).collect(),
            ),
            RuleKind::Simple(Simple::Process) => Choice::Process(by_process(scan, last)),
            RuleKind::Simple(Simple::Size) => Choice::Size(last),
            RuleKind::Simple(Simple::Sequential) => Choice::Sequential,
            RuleKind::Map(file) => {
                let path = folder.join(file);
                let map = PlaceMap::read(&path)?;
                check_handles(map.ranges().map(|(.., handle)| handle), handles, &path)?;
                Choice::Map(map)
            }
            RuleKind::File(file) => {
                let path = folder.join(file);
                let rules = read_rules(&path)?;
                check_handles(rules.iter().map(|rule| rule.handle), handles, &path)?;
                Choice::List(rules.iter().map(|r| compiled(r, scan)).collect())
            }
            RuleKind::List(list) => {
                check_handles(list.iter().map(|rule| rule.handle), handles, &scan.path)?;
                Choice::List(list.iter().map(|r| compiled(r, scan)).collect())
            }
        };
        Ok(Placer { choice, runs: Runs::default() })
    }

    /// Returns the placement identifier of a write. Must be called for every write in order.
    #[inline]
    pub(super) fn place(&mut self, request: &Request) -> Placement {
        match &self.choice {
            Choice::Trace => request.placement,
            Choice::None | Choice::Map(_) => Placement::NONE,
            Choice::Volume(handles) => at(handles, request.volume),
            Choice::Process(handles) => at(handles, request.process),
            Choice::Size(last) => Placement((size_class(request.bytes) as u16).min(*last)),
            Choice::Sequential => Placement(u16::from(self.runs.continues(request))),
            Choice::List(rules) => {
                let sequential = self.runs.continues(request);
                let found = rules.iter().find(|r| r.holds(request, sequential));
                found.map_or(Placement::NONE, |r| Placement(r.rule.handle))
            }
        }
    }

    /// Returns notices on conditions that match no process or volume of the trace, one line each.
    pub(super) fn unmet(&self, scan: &Scan) -> Vec<String> {
        let path = scan.path.display();
        match &self.choice {
            Choice::Process(_) if scan.processes.is_empty() => {
                vec![format!("{path}: no request names a process, so all writes go to one handle")]
            }
            Choice::List(rules) => {
                let processes = |of: &&Compiled| !of.processes.contains(&true);
                let volumes = |of: &&Compiled| !of.volumes.contains(&true);
                let process = rules.iter().filter(processes).map(|r| ("process", &r.rule.process));
                let volume = rules.iter().filter(volumes).map(|r| ("volume", &r.rule.volume));
                let text = |(key, name): (&str, &Option<Pattern>)| {
                    let name = name.as_ref()?;
                    Some(format!("{path}: no {key} matches `{name}`, so its rule places nothing"))
                };
                process.chain(volume).filter_map(text).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether writes keep the placement identifiers of the trace.
    pub(super) fn is_recorded(&self) -> bool {
        matches!(self.choice, Choice::Trace)
    }

    /// Returns the map by device address, if any: pieces are placed after remapping.
    pub(super) fn map(&self) -> Option<&PlaceMap> {
        match &self.choice {
            Choice::Map(map) => Some(map),
            _ => None,
        }
    }
}

/// Refuses handles that the namespace lacks. If it has only one, as without FDP, all writes go there.
fn check_handles(
    mut used: impl Iterator<Item = u16>,
    handles: u16,
    path: &Path,
) -> Result<(), TraceError> {
    match used.find(|handle| handles > 1 && *handle >= handles) {
        None => Ok(()),
        Some(handle) => Err(TraceError::Option {
            path: path.to_owned(),
            reason: format!(
                "placement: {handle} is not a placement index of the namespace (0 to {})",
                handles - 1
            ),
        }),
    }
}

#[inline]
fn at(handles: &[u16], index: u32) -> Placement {
    let index = (index as usize).min(handles.len().saturating_sub(1));
    handles.get(index).map_or(Placement::NONE, |h| Placement(*h))
}

/// Assigns handles to processes in descending order of written bytes.
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

/// The ends of recent writes: a write that begins at one of them continues that stream.
#[derive(Clone, Debug)]
struct Runs {
    ends: [(u32, u64); Runs::STREAMS],
    next: usize,
}

impl Default for Runs {
    fn default() -> Self {
        Runs { ends: [(u32::MAX, u64::MAX); Runs::STREAMS], next: 0 }
    }
}

impl Runs {
    /// Number of streams tracked at once.
    const STREAMS: usize = 16;

    fn continues(&mut self, request: &Request) -> bool {
        let begins = (request.volume, request.offset);
        let ends = (request.volume, request.end());
        if let Some(found) = self.ends.iter_mut().find(|end| **end == begins) {
            *found = ends;
            return true;
        }
        self.ends[self.next] = ends;
        self.next = (self.next + 1) % Runs::STREAMS;
        false
    }
}
