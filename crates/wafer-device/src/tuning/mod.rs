//! The adaptive policy: miniature simulations of the device, one for each arrangement of policy, destination and
//! separation, show which writes least under the current traffic (`docs/concepts/adaptive.md`).
//!
//! A miniature has as many reclaim units as the device, at most [`MOST_UNITS`], of at least [`LEAST_PAGES`] pages, and
//! receives the commands on a sample of the logical pages (`sample.rs`). The weight of its host writes and relocations
//! halves every [`HALF_LIFE`] device writes. The device changes to the arrangement that writes least once leads in
//! consecutive comparisons add up to [`ENOUGH`], or between comparisons if it writes far more than another would
//! (`guard.rs`). Its policy then continues with what the policy of the miniature has learned.

pub(crate) mod arrangement;
mod guard;
pub(crate) mod sample;
mod state;

use std::ops::Range;

use crate::config::{DeviceConfig, ReclaimUnitConfig};
use crate::device::Device;
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::slots::Slots;
use arrangement::Arrangement;
use guard::Guard;
use sample::Sample;
use serde::{Deserialize, Serialize};
use wafer_interface::{
    Bytes, Command, Counters, FirmwareConfig, InvalidKey, LBA_BYTES, NsId, Observer, Op, Placement,
};
use wafer_policies::GcConfig;
use wafer_policies::{self as policy, Smaller, adaptive};
use wafer_separation::{AutoStream, Rule, Separation, Separator as _};

/// Minimum pages per reclaim unit of a miniature.
const LEAST_PAGES: u64 = 32;
/// Minimum pages of a miniature, unless the device has fewer.
const LEAST_DEVICE: u64 = 16384;
/// Maximum reclaim units of a miniature. With fewer than the device has, open ones take too much of the spare space.
const MOST_UNITS: u64 = 2048;
/// Page size of a miniature. At the maximum size, even the smallest reclaim unit has few pages.
const PAGE_BYTES: u64 = 65536;
/// Pages that a miniature writes to the same reclaim group if no group was named, as a power of two.
const GROUP_SHIFT: u32 = 6;
/// Comparisons of the miniatures per device write.
const LOOKS: u64 = 4;
/// Device writes after which the weight of observations halves.
const HALF_LIFE: f64 = 1.0;
/// Sum of leads in consecutive comparisons at which the device changes. A lead is how much less the best arrangement
/// writes than the current one.
const ENOUGH: f64 = 0.06;
/// Smaller leads count as zero.
const LEAST_LEAD: f64 = 0.015;
/// Factor on the writes of `gittins` if few reclaim units are spare and the device follows another policy: `gittins`
/// can fail abruptly there, and a tie is not worth that risk.
const RISK: f64 = 1.01;
/// The same factor while relocations predict little.
const EARLY_RISK: f64 = 1.03;
/// How much more `look-ahead` writes on a device than in its miniature, relative to the others: the mean of the cases
/// for tuning (`docs/studies/policies.md`).
const LOOK_AHEAD: f64 = 1.012;
/// Initial device writes during which devices fill up and relocations predict little.
const UNKNOWN: u64 = 3;
/// Maximum number of changes kept; older ones are dropped.
const MOST_CHANGES: usize = 256;

/// The results of comparing the miniatures.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    /// The arrangement of the device.
    current: u16,
    /// Host pages of the device at each change, and the arrangement from then on. The last is the current one.
    changes: Vec<(u64, u16)>,
    /// Sum of the leads in the latest comparisons.
    lead: f64,
    /// Host pages of the miniatures at the last comparison.
    looked: u64,
    /// Host pages, and pages relocated by each arrangement, decayed.
    written: f64,
    relocated: Vec<f64>,
    /// Pages relocated by each miniature until the last comparison.
    before: Vec<u64>,
    guard: Guard,
}

impl Seen {
    /// Records that the device follows the current arrangement from this many host pages on.
    fn changed(&mut self, at: u64) {
        if self.changes.len() == MOST_CHANGES {
            self.changes.remove(0);
        }
        self.changes.push((at, self.current));
    }
}

/// The state of an adaptive device in addition to that of other devices.
pub(crate) struct Tuner {
    pub(crate) arrangements: Vec<Arrangement>,
    miniatures: Vec<Device<()>>,
    sample: Sample,
    /// Whether few reclaim units are spare.
    few_spare: bool,
    /// Host pages of a miniature between comparisons.
    interval: u64,
    seen: Seen,
    /// Streams of the device's writes, if an arrangement uses them. A miniature sees too little to count writes.
    streams: Option<AutoStream>,
    /// Commands for the miniatures, with the handle and stream of each; empty between commands of the device.
    batch: Vec<Command>,
    batch_streams: Vec<(u32, u8)>,
}

impl Tuner {
    /// Returns the tuner of a device whose policy is adaptive and whose size leaves a choice.
    pub(crate) fn new(
        config: &DeviceConfig,
        geometry: &Geometry,
        seed: u64,
    ) -> Result<Option<Tuner>, InvalidKey> {
        if config.gc.policy != adaptive::NAME {
            return Ok(None);
        }
        let (scaled, sample) = scaled(config, geometry);
        let mut arrangements = arrangement::arrangements(config, geometry);
        let Ok(small) = Geometry::resolve(&scaled) else { return Ok(None) };
        let fits = |of: &Arrangement| of.layout.missing(&small, 1) == 0;
        if !arrangements.first().is_some_and(fits) {
            return Ok(None);
        }
        arrangements.retain(fits);
        if arrangements.len() < 2 {
            return Ok(None);
        }
        let miniature = |Arrangement { gc, layout }: &Arrangement| {
            let numbering = Slots::new(&small, layout);
            let (policy, small) = (policy::make(gc)?, small.clone());
            let births = layout.separation.is_some();
            Device::assemble(small, layout.clone(), numbering, births, policy, seed, ())
        };
        let miniatures = arrangements.iter().map(miniature).collect::<Result<Vec<_>, _>>()?;
        let count = arrangements.len();
        let seen = Seen {
            current: 0,
            changes: vec![(0, 0)],
            lead: 0.0,
            looked: 0,
            written: 0.0,
            relocated: vec![0.0; count],
            before: vec![0; count],
            guard: Guard::new(count, UNKNOWN * sample.pages),
        };
        let interval = (sample.pages / LOOKS).max(1);
        let by_stream = |of: &&Arrangement| of.layout.separation == Some(Separation::AutoStream);
        let streams = arrangements.iter().find(by_stream);
        let streams = streams.map(|of| AutoStream::new(&of.layout.separation_sizes(geometry)));
        let (batch, batch_streams) = Default::default();
        Ok(Some(Tuner {
            arrangements,
            miniatures,
            sample,
            few_spare: arrangement::few_spare(geometry),
            interval,
            seen,
            streams,
            batch,
            batch_streams,
        }))
    }

    /// Returns the arrangement of the device.
    pub(crate) fn current(&self) -> &Arrangement {
        &self.arrangements[usize::from(self.seen.current)]
    }

    /// Selects the arrangement with this policy and separation.
    #[cfg(test)]
    pub(crate) fn choose(&mut self, policy: &str, separation: Separation) {
        let wanted =
            |of: &Arrangement| of.gc.policy == policy && of.layout.separation == Some(separation);
        self.seen.current = self.arrangements.iter().position(wanted).expect("no such") as u16;
    }

    /// Compares miniatures with these WAFs by configuration. Returns whether the arrangement changes.
    #[cfg(test)]
    pub(crate) fn compare_wafs(&mut self, waf: impl Fn(&GcConfig) -> f64) -> bool {
        self.seen.written = 1.0;
        self.seen.relocated = self.arrangements.iter().map(|of| waf(&of.gc) - 1.0).collect();
        self.compare()
    }

    /// Returns the garbage collection configurations that the device followed while it wrote these host pages, each
    /// with the number of pages before it.
    pub(crate) fn followed(&self, pages: Range<u64>) -> Vec<(u64, GcConfig)> {
        let changes = self.seen.changes.iter();
        let ends = changes.clone().skip(1).map(|(at, _)| *at).chain([u64::MAX]);
        (changes.zip(ends).filter(|(_, end)| *end > pages.start))
            .map(|((at, of), _)| {
                let gc = self.arrangements[usize::from(*of)].gc.clone();
                (at.saturating_sub(pages.start), gc)
            })
            .collect()
    }

    /// Returns the layouts of all arrangements.
    pub(crate) fn layouts(&self) -> impl Iterator<Item = &Layout> {
        self.arrangements.iter().map(|of| &of.layout)
    }

    /// Unmaps a run of pages.
    pub(crate) fn unmap(&mut self, pages: Range<u64>) {
        let pages = self.sample.of(pages);
        if !pages.is_empty() {
            for miniature in &mut self.miniatures {
                miniature.unmap(pages.start, pages.end - pages.start);
            }
        }
    }

    /// Returns the host pages of a miniature at which the next comparison or check is due.
    fn due(&self) -> u64 {
        self.seen.guard.due(self.interval).min(self.seen.looked + self.interval)
    }

    /// Examines the miniatures, which have executed all commands, and the counters of the device. Returns whether the
    /// arrangement changes.
    fn look(&mut self, device: &Counters) -> bool {
        let counters: Vec<Counters> = self.miniatures.iter().map(Device::counters).collect();
        let seen = &mut self.seen;
        let expected = |at: usize| seen.relocated[at] / seen.written.max(1.0);
        // A failing policy fails with every placement.
        let policy = |at: usize| &self.arrangements[at].gc.policy;
        let current = policy(usize::from(seen.current));
        let others = (0..counters.len()).filter(|at| policy(*at) != current);
        let sizes = (self.interval, 1 << self.sample.shift);
        let better = seen.guard.check(device, &counters, sizes, others, expected);
        let host = counters[0].host_pages;
        let mut changes = seen.looked + self.interval <= host && self.compare();
        if let (false, Some(better)) = (changes, better) {
            (self.seen.current, self.seen.lead) = (better as u16, 0.0);
            changes = true;
        }
        if changes {
            self.seen.guard.rest(host, self.interval);
        }
        changes
    }

    /// Compares the miniatures. Returns whether the arrangement changes.
    fn compare(&mut self) -> bool {
        let seen = &mut self.seen;
        let fade = (-1.0 / (LOOKS as f64 * HALF_LIFE)).exp2();
        let host = self.miniatures[0].counters().host_pages;
        seen.written = seen.written * fade + (host - seen.looked) as f64;
        seen.looked = host;
        for (at, miniature) in self.miniatures.iter().enumerate() {
            let relocated = miniature.counters().relocated_pages;
            let since = (relocated - seen.before[at]) as f64;
            seen.relocated[at] = seen.relocated[at] * fade + since;
            seen.before[at] = relocated;
        }
        let current = usize::from(seen.current);
        let risk = if host < UNKNOWN * self.sample.pages { EARLY_RISK } else { RISK };
        let media = |at: usize| {
            let policy = &self.arrangements[at].gc.policy;
            let factor = match policy.as_str() {
                "gittins" if self.few_spare && at != current => risk,
                "look-ahead" => LOOK_AHEAD,
                _ => 1.0,
            };
            (seen.written + seen.relocated[at]) * factor
        };
        let least = (0..seen.relocated.len()).min_by(|a, b| media(*a).total_cmp(&media(*b)));
        let best = least.unwrap_or_default();
        let present = media(current);
        let lead = 1.0 - media(best) / present;
        seen.lead = if lead < LEAST_LEAD { 0.0 } else { seen.lead + lead };
        if seen.lead < ENOUGH {
            return false;
        }
        (seen.current, seen.lead) = (best as u16, 0.0);
        true
    }
}

/// Returns the configuration of a miniature and its sample.
fn scaled(config: &DeviceConfig, geometry: &Geometry) -> (DeviceConfig, Sample) {
    let physical = u64::from(geometry.ru_count) * u64::from(geometry.pages_per_ru);
    let units = u64::from(geometry.ru_count).min(MOST_UNITS);
    let least = (units * LEAST_PAGES).max(LEAST_DEVICE);
    let shift = (physical / least).max(1).ilog2();
    let pages_per_ru = ((physical >> shift) / units).max(1);
    let count = (physical >> shift) / pages_per_ru;
    let pages = geometry.logical_pages >> shift;
    let scaled = DeviceConfig {
        capacity: Bytes(pages * PAGE_BYTES),
        page: Bytes(PAGE_BYTES),
        reclaim_unit: ReclaimUnitConfig {
            size: Bytes(pages_per_ru * PAGE_BYTES),
            count: Some(count),
        },
        overprovisioning: None,
        namespaces: Vec::new(),
        firmware: FirmwareConfig::default(),
        ..config.clone()
    };
    (scaled, Sample { shift, pages })
}

impl<O: Observer> Device<O> {
    /// Applies commands, and changes the arrangement according to the miniatures. The change follows the same command
    /// however commands are divided into batches.
    #[cold]
    pub(crate) fn apply_tuned(&mut self, mut commands: &[Command]) {
        while !commands.is_empty() {
            let Some(mut tuner) = self.tuner.take() else { return };
            let (now, later) = commands.split_at(self.follow(&mut tuner, commands));
            self.apply_all(now);
            if tuner.due() <= tuner.miniatures[0].counters().host_pages
                && tuner.look(&self.counters)
            {
                self.arrange(&tuner);
                self.inherit(&tuner);
                if let (Some(Rule::AutoStream(rule)), Some(streams)) =
                    (&mut self.separation, &tuner.streams)
                {
                    rule.clone_from(streams);
                }
                tuner.seen.changed(self.clock);
            }
            self.tuner = Some(tuner);
            commands = later;
        }
    }

    /// Gives the policy what the policy of the miniature with the same arrangement has learned.
    fn inherit(&mut self, tuner: &Tuner) {
        let miniature = &tuner.miniatures[usize::from(tuner.seen.current)];
        let smaller = Smaller {
            pages_per_ru: miniature.geometry.pages_per_ru,
            pages: (1u64 << tuner.sample.shift) as f64,
        };
        if let Some(learned) = miniature.policy.save() {
            let all = 0..self.geometry.ru_count;
            self.view(all, false, 0, |policy, rus| policy.inherit(&learned, smaller, rus));
        }
    }

    /// Applies commands to the miniatures until the next comparison or check. Returns their number.
    fn follow(&self, tuner: &mut Tuner, commands: &[Command]) -> usize {
        let mut left = tuner.due().saturating_sub(tuner.miniatures[0].counters().host_pages);
        let mut batch = std::mem::take(&mut tuner.batch);
        let mut batch_streams = std::mem::take(&mut tuner.batch_streams);
        let mut taken = 0;
        for command in commands {
            taken += 1;
            let stream = tuner.streams.as_mut().and_then(|streams| self.stream(streams, command));
            if let Some(small) = self.sampled(tuner.sample, command) {
                let pages = u64::from(small.blocks) * LBA_BYTES / PAGE_BYTES;
                batch.push(small);
                batch_streams.push(stream.unwrap_or_default());
                if small.op == Op::Write {
                    left = left.saturating_sub(pages);
                    if left == 0 {
                        break;
                    }
                }
            }
        }
        for miniature in &mut tuner.miniatures {
            match miniature.separation {
                Some(Rule::AutoStream(_)) => {
                    for (command, (handle, stream)) in batch.iter().zip(&batch_streams) {
                        if let Some(Rule::AutoStream(rule)) = &mut miniature.separation {
                            rule.tell(*handle, *stream);
                        }
                        miniature.apply(std::slice::from_ref(command));
                    }
                }
                _ => miniature.apply(&batch),
            }
        }
        batch.clear();
        batch_streams.clear();
        (tuner.batch, tuner.batch_streams) = (batch, batch_streams);
        taken
    }

    /// Counts a write for its stream. Returns the handle and stream if the device executes the write.
    fn stream(&self, streams: &mut AutoStream, command: &Command) -> Option<(u32, u8)> {
        if command.op != Op::Write {
            return None;
        }
        let (pages, slot) = self.written(command)?;
        let handle = self.handle_of(slot);
        Some((handle, streams.count(pages, handle)))
    }

    /// Returns the pages of a write and the slot of its host, if the device executes it.
    #[inline(always)]
    fn written(&self, command: &Command) -> Option<(Range<u64>, u32)> {
        let namespace = self.namespaces.get(usize::from(command.namespace.0))?;
        let shift = self.geometry.blocks_per_page().trailing_zeros();
        let (blocks, mask) = (u64::from(command.blocks), (1u64 << shift) - 1);
        let within = command.lba <= namespace.blocks && blocks <= namespace.blocks - command.lba;
        if !within || blocks == 0 {
            return None;
        }
        let (first, end) = (namespace.first_page, command.lba + blocks);
        let pages = first + (command.lba >> shift)..first + ((end + mask) >> shift);
        // The group that the device chooses for a write that names none depends on what it wrote before. A miniature
        // gets one that depends on the command alone, so that batches do not matter: neighbouring pages have the same.
        let unnamed = || {
            let group = (pages.start >> GROUP_SHIFT) % self.groups.len() as u64;
            group as u32 * self.numbering.per_group + namespace.slots[0]
        };
        let named = namespace.target(command.placement, &[]).map(|target| target.slot);
        let named = named.or_else(|| self.defined_slot(command.namespace, command.placement));
        let slot = named.unwrap_or_else(unnamed);
        Some((pages, slot))
    }

    /// Returns the command that the miniatures execute for a command of the device, if any.
    #[inline(always)]
    fn sampled(&self, sample: Sample, command: &Command) -> Option<Command> {
        const BLOCKS: u64 = PAGE_BYTES / LBA_BYTES;
        let small = |pages: Range<u64>| {
            let pages = sample.of(pages);
            let blocks = (pages.end.saturating_sub(pages.start) * BLOCKS) as u32;
            (blocks > 0).then_some((pages.start * BLOCKS, blocks))
        };
        match command.op {
            Op::Write => {
                let (pages, slot) = self.written(command)?;
                let (lba, blocks) = small(pages)?;
                Some(Command::write(lba, blocks, self.anywhere(slot)))
            }
            Op::Deallocate => {
                let (lba, blocks) = small(self.deallocated(command)?)?;
                Some(Command::deallocate(lba, blocks))
            }
            Op::Update => {
                let slot = self.defined_slot(command.namespace, command.placement)?;
                Some(Command::update(NsId(0), self.anywhere(slot)))
            }
            Op::Read | Op::Flush => None,
        }
    }

    /// Returns the whole pages of a deallocation, if the device executes it.
    fn deallocated(&self, command: &Command) -> Option<Range<u64>> {
        let namespace = self.namespaces.get(usize::from(command.namespace.0))?;
        let shift = self.geometry.blocks_per_page().trailing_zeros();
        let (blocks, mask) = (u64::from(command.blocks), (1u64 << shift) - 1);
        let within = command.lba <= namespace.blocks && blocks <= namespace.blocks - command.lba;
        let (first, end) = (namespace.first_page, command.lba.wrapping_add(blocks));
        within.then(|| first + ((command.lba + mask) >> shift)..first + (end >> shift))
    }

    /// Returns the placement identifier of a host's slot in a namespace that has all handles.
    fn anywhere(&self, slot: u32) -> Placement {
        let (group, handle) = (slot / self.numbering.per_group, slot % self.numbering.per_group);
        Placement((group << self.placement_shift() | handle) as u16)
    }
}
