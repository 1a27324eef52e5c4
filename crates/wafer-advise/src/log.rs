//! The traffic in memory: writes and deallocates in order, with labels.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use wafer_config::ResolvedDevice;
use wafer_device::Geometry;
use wafer_interface::{Batch, Command, LBA_BYTES, NsId, Op, Placement};
use wafer_lab::source::{Built, SourceTarget, Workload};
use wafer_lab::{LabError, TraceFile, TraceSource};
use wafer_trace::PlacementRules;

use super::advice::AdviseOptions;

/// A label for each command, such as its process.
pub(super) struct Labels {
    /// Kind of label, such as "processes" or "volumes".
    pub(super) what: &'static str,
    /// Whether the labels are the placement requested by the workload.
    pub(super) recorded: bool,
    /// Names by label.
    pub(super) names: Vec<String>,
    /// The label of each command.
    pub(super) of: Vec<u16>,
}

/// The traffic.
pub(super) struct Log {
    /// Writes and deallocates, without their placement.
    pub(super) commands: Vec<Command>,
    /// Labels of every kind with more than one.
    pub(super) labels: Vec<Labels>,
    /// Pages written, partly or wholly.
    pub(super) pages: u64,
    /// Logical blocks of a page.
    pub(super) page_blocks: u64,
    pub(super) notices: Vec<String>,
}

/// Maximum number of commands: 1 GiB of memory.
const MOST: usize = 1 << 26;
/// Maximum number of labels of one kind; further ones share the last label.
const MOST_LABELS: u16 = 256;

/// Returns a command for a drive whose namespaces are joined: its address follows the preceding namespaces, and its
/// placement is the handle that its own namespace assigns.
fn joined(command: Command, geometry: &Geometry) -> Command {
    let [_, _, ..] = geometry.namespaces.as_slice() else { return command };
    let at = command.namespace.index();
    let first = geometry.namespaces.get(at).map_or(0, |n| n.start);
    let handle = geometry.handle(command.namespace, command.placement);
    Command {
        lba: first * geometry.blocks_per_page() + command.lba,
        placement: handle.map_or(Placement::NONE, |handle| Placement(handle.0)),
        namespace: NsId(0),
        ..command
    }
}

impl Log {
    pub(super) fn record(
        device: &ResolvedDevice,
        workload: &Workload,
        traces: Option<&TraceSource>,
        options: &AdviseOptions,
        cancel: &AtomicBool,
    ) -> Result<Self, LabError> {
        let target = SourceTarget {
            device,
            seed: options.seed,
            until_volume: traces.is_none(),
            timed: false,
            without_reads: false,
            pace: options.pace.as_deref(),
            pace_from: options.pace_from.as_deref(),
            pace_place: options.pace_place.as_ref(),
        };
        let page_blocks = device.geometry.blocks_per_page();
        let mut log = Log {
            commands: Vec::new(),
            labels: Vec::new(),
            pages: 0,
            page_blocks,
            notices: Vec::new(),
        };
        let volume = match traces {
            Some(_) => u64::MAX,
            None => options.volume.unwrap_or(4 * device.logical_bytes()),
        };
        let built = workload.build(&target)?;
        log.notices.extend(built.notices.iter().cloned());
        let mut recorded = Vec::new();
        let full = pull(built, volume, cancel, |command| {
            let command = joined(command, &device.geometry);
            recorded.push(command.placement);
            log.commands.push(Command { placement: Placement::NONE, ..command });
            log.commands.len() < MOST
        })?;
        if full {
            log.notices.push(format!("only the first {MOST} writes and deallocates are used"));
        }
        let count =
            |c: &Command| if c.op == Op::Write { pages(c, page_blocks).count() as u64 } else { 0 };
        log.pages = log.commands.iter().map(count).sum();
        log.add_labels("recorded placement", true, &recorded, |id| match id {
            u16::MAX => "none".to_owned(),
            id => id.to_string(),
        });
        if let Some(traces) = traces {
            log.add_trace_labels(traces, &target, cancel)?;
        }
        log.add_sizes();
        log.add_sequential();
        Ok(log)
    }

    /// Labels commands by process and volume, which only traces have.
    fn add_trace_labels(
        &mut self,
        traces: &TraceSource,
        target: &SourceTarget<'_>,
        cancel: &AtomicBool,
    ) -> Result<(), LabError> {
        let scans = traces.scans()?;
        let [scan] = &scans[..] else { return Ok(()) };
        let mut order: Vec<usize> = (0..scan.processes.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(scan.processes[*i].1));
        let processes: Vec<String> = order.iter().map(|i| scan.processes[*i].0.clone()).collect();
        let volumes: Vec<String> = scan.volumes.iter().map(|v| v.name.clone()).collect();
        for (what, rule, names) in
            [("processes", "process", processes), ("volumes", "volume", volumes)]
        {
            if names.len() < 2 {
                continue;
            }
            let placement: PlacementRules =
                rule.parse().map_err(|e| LabError::Run(format!("{rule}: {e}")))?;
            let again: Vec<TraceFile> = traces
                .traces()
                .iter()
                .map(|t| TraceFile {
                    file: t.file.clone(),
                    options: wafer_trace::TraceOptions {
                        placement: placement.clone(),
                        ..t.options.clone()
                    },
                })
                .collect();
            // One handle per label, so that labels do not share handles.
            let mut device = target.device.clone();
            let list = (0..MOST_LABELS.min(names.len() as u16 + 1)).collect();
            device.geometry.namespace_handles = vec![list];
            let source = traces.again(again);
            let built =
                wafer_lab::Source::build(&source, &SourceTarget { device: &device, ..*target })?;
            let mut of = Vec::with_capacity(self.commands.len());
            let most = self.commands.len();
            pull(built, u64::MAX, cancel, |command| {
                of.push(command.placement);
                of.len() < most
            })?;
            self.add_labels(what, false, &of, |id| {
                names.get(usize::from(id)).cloned().unwrap_or_else(|| "others".to_owned())
            });
        }
        Ok(())
    }

    /// Labels writes by `placements`, numbered from 0 in order of first use.
    fn add_labels(
        &mut self,
        what: &'static str,
        recorded: bool,
        placements: &[Placement],
        name: impl Fn(u16) -> String,
    ) {
        let mut numbers: Vec<u16> = Vec::new();
        let mut of = Vec::with_capacity(placements.len());
        for (command, placement) in self.commands.iter().zip(placements) {
            if command.op != Op::Write {
                of.push(0);
                continue;
            }
            let number = match numbers.iter().position(|n| *n == placement.0) {
                Some(number) => number,
                None if numbers.len() < usize::from(MOST_LABELS) => {
                    numbers.push(placement.0);
                    numbers.len() - 1
                }
                None => numbers.len() - 1,
            };
            of.push(number as u16);
        }
        of.resize(self.commands.len(), 0);
        if numbers.len() > 1 {
            let names = numbers.into_iter().map(name).collect();
            self.labels.push(Labels { what, recorded, names, of });
        }
    }

    fn add_sizes(&mut self) {
        let class = |c: &Command| match c.bytes() {
            0..=0x1000 => 0,
            0x1001..=0x4000 => 1,
            0x4001..=0x10000 => 2,
            0x10001..=0x40000 => 3,
            _ => 4,
        };
        let names = ["<= 4 KiB", "<= 16 KiB", "<= 64 KiB", "<= 256 KiB", "> 256 KiB"];
        let placements: Vec<Placement> =
            self.commands.iter().map(|c| Placement(class(c))).collect();
        self.add_labels("sizes", false, &placements, |id| names[usize::from(id).min(4)].to_owned());
    }

    /// Labels writes that begin where one of the last 16 ended as sequential, others as random.
    fn add_sequential(&mut self) {
        const ENDS: usize = 16;
        let mut ends = [(u8::MAX, u64::MAX); ENDS];
        let mut next = 0;
        let mut placements = Vec::with_capacity(self.commands.len());
        for command in &self.commands {
            if command.op != Op::Write {
                placements.push(Placement(0));
                continue;
            }
            let begins = (command.namespace.0, command.lba);
            let after = (command.namespace.0, command.lba + u64::from(command.blocks));
            let goes_on = match ends.iter_mut().find(|end| **end == begins) {
                Some(end) => {
                    *end = after;
                    1
                }
                None => {
                    ends[next] = after;
                    next = (next + 1) % ENDS;
                    0
                }
            };
            placements.push(Placement(goes_on));
        }
        let names = ["random", "sequential"];
        self.add_labels("random and sequential", false, &placements, |id| {
            names[usize::from(id).min(1)].to_owned()
        });
    }

    /// Returns the pages of the device that a command writes partly or wholly, or deallocates.
    pub(super) fn device_pages(&self, command: &Command, geometry: &Geometry) -> Range<u64> {
        let first = geometry.namespaces.get(command.namespace.index()).map_or(0, |n| n.start);
        let pages = match command.op {
            Op::Write => pages(command, self.page_blocks),
            _ => whole_pages(command, self.page_blocks),
        };
        first + pages.start..first + pages.end
    }

    /// Returns the number of distinct pages written.
    pub(super) fn touched_pages(&self, geometry: &Geometry) -> u64 {
        let mut touched = vec![false; geometry.logical_pages as usize];
        for command in self.commands.iter().filter(|command| command.op == Op::Write) {
            let pages = self.device_pages(command, geometry);
            let end = pages.end.min(touched.len() as u64) as usize;
            touched[(pages.start as usize).min(end)..end].fill(true);
        }
        touched.iter().filter(|touched| **touched).count() as u64
    }

    /// Returns the number of pages that the first `commands` write.
    pub(super) fn pages_of(&self, commands: usize) -> u64 {
        let writes = self.commands[..commands].iter().filter(|c| c.op == Op::Write);
        writes.map(|c| pages(c, self.page_blocks).count() as u64).sum()
    }
}

/// Returns the pages that a write touches.
pub(super) fn pages(command: &Command, page_blocks: u64) -> Range<u64> {
    let end = command.lba + u64::from(command.blocks);
    command.lba / page_blocks..end.div_ceil(page_blocks)
}

/// Returns the pages that a deallocate unmaps: those wholly within its range.
fn whole_pages(command: &Command, page_blocks: u64) -> Range<u64> {
    let end = (command.lba + u64::from(command.blocks)) / page_blocks;
    command.lba.div_ceil(page_blocks).min(end)..end
}

/// Passes writes and deallocates to `keep` until it returns false, the volume is written or the stream
/// ends. Returns whether `keep` ended it.
fn pull(
    mut built: Built,
    volume: u64,
    cancel: &AtomicBool,
    mut keep: impl FnMut(Command) -> bool,
) -> Result<bool, LabError> {
    let mut batch = Batch::default();
    let mut written = 0;
    loop {
        batch.clear();
        let _ = built.stream.next(&mut batch, 4096);
        if batch.is_empty() {
            return Ok(false);
        }
        if cancel.load(Ordering::Relaxed) {
            return Err(LabError::Cancelled);
        }
        let changes = |c: &Command| matches!(c.op, Op::Write | Op::Deallocate) && c.blocks > 0;
        for mut command in batch.commands.iter().copied().filter(changes) {
            if command.op == Op::Write {
                // As in a run: the last write ends at the volume.
                let over = (written + command.bytes()).saturating_sub(volume);
                command.blocks -= (over / LBA_BYTES) as u32;
                written += command.bytes();
            }
            if command.blocks > 0 && !keep(command) {
                return Ok(true);
            }
            if written >= volume {
                return Ok(false);
            }
        }
    }
}
