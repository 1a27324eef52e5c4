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
    /// By volume: the last placement index of its namespace.
    last: Vec<u16>,
    runs: Runs,
}

#[derive(Clone, Debug)]
enum Choice {
    Trace,
    None,
    /// By volume index.
    Volume(Vec<u16>),
    /// By process index; the last entry is for unknown processes. Capped by what the namespace has.
    Process(Vec<u16>),
    Size,
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
    /// Returns the placer of a trace; `handles` is the number of handles of each volume's namespace. Paths are relative
    /// to `folder`.
    pub(super) fn new(
        rules: &PlacementRules,
        scan: &Scan,
        handles: &[u16],
        folder: &Path,
    ) -> Result<Self, TraceError> {
        let last: Vec<u16> = handles.iter().map(|handles| handles.max(&1) - 1).collect();
        let list = |rules: &[Rule], path: &Path| {
            let compiled: Vec<Compiled> = rules.iter().map(|rule| compiled(rule, scan)).collect();
            for rule in &compiled {
                let applies = last.iter().zip(&rule.volumes).filter(|(_, applies)| **applies);
                check_handles([rule.rule.handle], applies.map(|(last, _)| *last), path)?;
            }
            Ok(Choice::List(compiled))
        };
        let choice = match &rules.kind {
            RuleKind::Simple(Simple::Trace) => Choice::Trace,
            RuleKind::Simple(Simple::None) => Choice::None,
            RuleKind::Simple(Simple::Volume) => Choice::Volume(
                last.iter()
                    .enumerate()
                    .map(|(i, last)| (i % (usize::from(*last) + 1)) as u16)
                    .collect(),
            ),
            RuleKind::Simple(Simple::Process) => Choice::Process(by_process(scan)),
            RuleKind::Simple(Simple::Size) => Choice::Size,
            RuleKind::Simple(Simple::Sequential) => Choice::Sequential,
            RuleKind::Map(file) => {
                let path = folder.join(file);
                let map = PlaceMap::read(&path)?;
                check_handles(
                    map.ranges().map(|(.., handle)| handle),
                    last.iter().copied(),
                    &path,
                )?;
                Choice::Map(map)
            }
            RuleKind::File(file) => {
                let path = folder.join(file);
                list(&read_rules(&path)?, &path)?
            }
            RuleKind::List(rules) => list(rules, &scan.path)?,
        };
        Ok(Placer { choice, last, runs: Runs::default() })
    }

    /// Returns the placement identifier of a write. Must be called for every write in order.
    #[inline]
    pub(super) fn place(&mut self, request: &Request) -> Placement {
        let handle = match &self.choice {
            Choice::Trace => return request.placement,
            Choice::None | Choice::Map(_) => None,
            Choice::Volume(handles) => at(handles, request.volume),
            Choice::Process(handles) => at(handles, request.process),
            Choice::Size => Some(size_class(request.bytes) as u16),
            Choice::Sequential => Some(u16::from(self.runs.continues(request))),
            Choice::List(rules) => {
                let sequential = self.runs.continues(request);
                let found = rules.iter().find(|r| r.holds(request, sequential));
                found.map(|r| r.rule.handle)
            }
        };
        let last = self.last.get(request.volume as usize).copied().unwrap_or(0);
        handle.map_or(Placement::NONE, |handle| Placement(handle.min(last)))
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

/// Refuses placement indices that a namespace lacks, given the last index of each. If it has only one, as without FDP,
/// all writes go there.
fn check_handles(
    used: impl IntoIterator<Item = u16>,
    last: impl Iterator<Item = u16>,
    path: &Path,
) -> Result<(), TraceError> {
    let Some(fewest) = last.filter(|last| *last > 0).min() else { return Ok(()) };
    match used.into_iter().find(|handle| *handle > fewest) {
        None => Ok(()),
        Some(handle) => Err(TraceError::Option {
            path: path.to_owned(),
            reason: format!(
                "placement: {handle} is not a placement index of the namespace (0 to {fewest})"
            ),
        }),
    }
}

#[inline]
fn at(handles: &[u16], index: u32) -> Option<u16> {
    let index = (index as usize).min(handles.len().saturating_sub(1));
    handles.get(index).copied()
}

/// Assigns handles to processes in descending order of written bytes.
fn by_process(scan: &Scan) -> Vec<u16> {
    let mut order: Vec<usize> = (0..scan.processes.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(scan.processes[*i].1));
    let mut handles = vec![u16::MAX; scan.processes.len() + 1];
    for (rank, process) in order.into_iter().enumerate() {
        handles[process] = u16::try_from(rank).unwrap_or(u16::MAX);
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
