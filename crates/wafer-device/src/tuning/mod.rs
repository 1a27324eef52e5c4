//! The adaptive policy: miniature simulations of the device, one for each arrangement of policy, destination and
//! separation, show which writes least for the traffic at hand (`docs/concepts/adaptive.md`).
//!
//! A miniature has as many reclaim units as the device, or [`MOST_UNITS`], of at least [`LEAST_PAGES`] pages, and gets
//! the commands on a sample of the logical pages (`sample.rs`). Its host writes and relocations fade by half in
//! [`HALF_LIFE`] device writes. The device changes to the arrangement that writes least, once leads at looks in a row
//! add up to [`ENOUGH`], or between two looks when it writes far more than another would (`guard.rs`). Its policy then
//! continues with what that of the miniature has learned.

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

/// Fewest pages of a reclaim unit of a miniature.
const LEAST_PAGES: u64 = 32;
/// Fewest pages of a miniature, unless the device has fewer.
const LEAST_DEVICE: u64 = 16384;
/// Most reclaim units of a miniature. With fewer than the device has, open ones take too large a part of its spare space.
const MOST_UNITS: u64 = 2048;
/// Size of its pages: with the largest, the smallest reclaim unit has few.
const PAGE_BYTES: u64 = 65536;
/// Looks at the miniatures in a device write.
const LOOKS: u64 = 4;
/// Device writes in which what was seen fades by half.
const HALF_LIFE: f64 = 1.0;
/// What the leads of other arrangements must add up to over looks in a row before the device changes. A lead is how much
/// less the best writes than the present one.
const ENOUGH: f64 = 0.06;
/// A smaller lead is none.
const LEAST_LEAD: f64 = 0.015;
/// What `gittins` is taken to write for what it does write where few reclaim units are spare and the device follows another
/// policy: it can fail at once there, and a tie is not worth that.
const RISK: f64 = 1.01;
/// The same while relocations say little of what comes.
const EARLY_RISK: f64 = 1.03;
/// How many times as much `look-ahead` writes on a device as in its miniature, compared with the others: the mean of the
/// cases for tuning (`docs/studies/policies.md`).
const LOOK_AHEAD: f64 = 1.012;
/// Device writes at first in which all devices fill, and their relocations say little of what comes.
const UNKNOWN: u64 = 3;
/// Maximum changes that are kept; older ones are forgotten.
const MOST_CHANGES: usize = 256;

/// What the looks at the miniatures have shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Seen {
    /// The arrangement of the device.
    current: u16,
    /// Host pages of the device at each change, and the arrangement from then on. The last is the current one.
    changes: Vec<(u64, u16)>,
    /// Sum of the leads at the last looks.
    lead: f64,
    /// Host pages of the miniatures at the last look.
    looked: u64,
    /// Host pages since, and pages relocated with each arrangement, fading.
    written: f64,
    relocated: Vec<f64>,
    /// Pages relocated until the last look.
    before: Vec<u64>,
    guard: Guard,
}

impl Seen {
    /// Notes that the device follows the current arrangement from this many host pages on.
    fn changed(&mut self, at: u64) {
        if self.changes.len() == MOST_CHANGES {
            self.changes.remove(0);
        }
        self.changes.push((at, self.current));
    }
}

/// What an adaptive device has in addition to the parts of others.
pub(crate) struct Tuner {
    pub(crate) arrangements: Vec<Arrangement>,
    miniatures: Vec<Device<()>>,
    sample: Sample,
    /// Whether few reclaim units are spare.
    few_spare: bool,
    /// Host pages of a miniature between two looks.
    interval: u64,
    seen: Seen,
    /// Streams of the device's writes, if an arrangement goes by them. A miniature sees too little to count writes.
    streams: Option<AutoStream>,
    /// Commands for the miniatures, and handle and stream of each; empty between two commands of the device.
    batch: Vec<Command>,
    batch_streams: Vec<(u32, u8)>,
}

impl Tuner {
    /// Returns the tuner of a device that has one: it names the policy and has room for a change.
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

    /// Takes an arrangement of this policy and separation for the one to follow.
    #[cfg(test)]
    pub(crate) fn choose(&mut self, policy: &str, separation: Separation) {
        let wanted =
            |of: &Arrangement| of.gc.policy == policy && of.layout.separation == Some(separation);
        self.seen.current = self.arrangements.iter().position(wanted).expect("no such") as u16;
    }

    /// Compares miniatures that have these WAFs, by what they do. Returns whether the arrangement changes.
    #[cfg(test)]
    pub(crate) fn compare_wafs(&mut self, waf: impl Fn(&GcConfig) -> f64) -> bool {
        self.seen.written = 1.0;
        self.seen.relocated = self.arrangements.iter().map(|of| waf(&of.gc) - 1.0).collect();
        self.compare()
    }

    /// Returns the configurations of garbage collection that the device followed while it wrote these host pages, each
    /// with the number of the pages before it.
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

    /// Returns the host pages of a miniature at which it is time for a look, or a check between two.
    fn due(&self) -> u64 {
        self.seen.guard.due(self.interval).min(self.seen.looked + self.interval)
    }

    /// Looks at the miniatures, which have all commands, and at the counters of the device. Returns whether the
    /// arrangement changes.
    fn look(&mut self, device: &Counters) -> bool {
        let counters: Vec<Counters> = self.miniatures.iter().map(Device::counters).collect();
        let seen = &mut self.seen;
        let expected = |at: usize| seen.relocated[at] / seen.written.max(1.0);
        // Where a policy fails, it fails with every placement.
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
    /// Applies commands, and changes the arrangement where the miniatures say so. That is after a certain command,
    /// however commands are cut into batches.
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

    /// Gives the policy what that of the miniature with the same arrangement has learned.
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

    /// Applies commands to the miniatures until it is time to look at them. Returns how many.
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

    /// Counts a write for its stream. Returns its handle and stream, of a write that the device executes.
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
        let slot = namespace
            .target(command.placement, &self.chosen)
            .map(|target| target.slot)
            .or_else(|| self.defined_slot(command.namespace, command.placement))
            .unwrap_or(self.chosen[namespace.slots[0] as usize]);
        Some((first + (command.lba >> shift)..first + ((end + mask) >> shift), slot))
    }

    /// Returns what a command means for the miniatures, if anything.
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
