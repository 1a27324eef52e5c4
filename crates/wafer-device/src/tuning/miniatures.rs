//! The miniatures of an adaptive device execute its commands on a sample of its pages. The device changes its
//! arrangement if the tuner, which compares them, finds a better one.

use std::ops::Range;

use super::Tuner;
use super::arrangement::{self, Arrangement};
use super::sample::{PAGE_BYTES, Sample};
use crate::device::Device;
use crate::flash::mapping::UNMAPPED;
use crate::flash::segment::NONE;
use wafer_interface::{
    Command, Counters, Isolation, LBA_BYTES, NsId, Observer, Op, Owner, Placement,
};
use wafer_policies::{self as policy, Contents, Smaller, State};
use wafer_separation::{AutoStream, Rule};

/// Logarithm of the number of neighbouring pages that a miniature writes to the same reclaim group if no group was
/// named.
const GROUP_SHIFT: u32 = 6;

impl<O: Observer> Device<O> {
    /// Applies commands, and changes the arrangement according to the miniatures. The change comes after the same
    /// command, however commands are divided into batches.
    #[cold]
    pub(crate) fn apply_tuned(&mut self, mut commands: &[Command]) {
        while !commands.is_empty() {
            let Some(mut tuner) = self.tuner.take() else { return };
            let (now, later) = commands.split_at(self.follow(&mut tuner, commands));
            self.apply_all(now);
            let counters = self.miniatures.iter().map(Device::counters);
            if tuner.due() <= self.miniatures[0].counters.host_pages
                && tuner.look(&self.counters, &counters.collect::<Vec<Counters>>())
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

    /// Passes on to the policy what that of the miniature with the same arrangement has learned.
    fn inherit(&mut self, tuner: &Tuner) {
        let miniature = &self.miniatures[usize::from(tuner.seen.current)];
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
    fn follow(&mut self, tuner: &mut Tuner, commands: &[Command]) -> usize {
        let mut left = tuner.due().saturating_sub(self.miniatures[0].counters.host_pages);
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
        for miniature in &mut self.miniatures {
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
        // For a write that names no group, the device's choice depends on what it wrote before. For a miniature, it
        // depends on the command alone, so that batches do not matter; neighbouring pages have the same group.
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
        Placement::of(self.geometry.groups, group as u16, handle as u16)
    }
    /// Unmaps a run of pages of the device in its miniatures.
    pub(crate) fn unmap_sampled(&mut self, pages: Range<u64>) {
        let Some(tuner) = &self.tuner else { return };
        let pages = tuner.sample.of(pages);
        if !pages.is_empty() {
            for miniature in &mut self.miniatures {
                miniature.unmap(pages.start, pages.end - pages.start);
            }
        }
    }

    /// Continues with the current arrangement, which has learned nothing yet. Closes the partly written reclaim units
    /// that it would not open. Data remains where it is. If the separation rule changes, all data becomes unclassified,
    /// because the classes of one rule mean nothing to another. (Multi-log relocates data within its class: with the
    /// old classes, cold data would remain among hot data forever.)
    pub(crate) fn arrange(&mut self, tuner: &Tuner) {
        let Arrangement { gc, layout } = tuner.current();
        let other_rule = self.layout.separation != layout.separation;
        self.layout = layout.clone();
        self.policy = policy::make(gc).expect("resolved before");
        let sizes = layout.separation_sizes(&self.geometry);
        self.separation = layout.separation.map(|rule| rule.rule(&sizes));
        for slot in 0..self.slots.len() as u32 {
            let open = self.slots[slot as usize].ru != NONE;
            // Data of a class that the new rule rarely uses would keep its reclaim unit, and the space left in it, open
            // forever.
            let Contents { class, generation, .. } = self.numbering.contents(slot);
            let classed = other_rule && (class > 0 || generation > 0);
            if open && (classed || !self.may_open(slot) || self.groups_unsplit(slot)) {
                self.close_slot(slot);
            }
        }
        if other_rule {
            self.forget_classes(arrangement::mixes(&self.geometry, tuner.layouts()));
        }
        // These are predictions of another rule; this one has not split any handle yet.
        self.rus.units.iter_mut().for_each(|unit| unit.death_time = 0);
    }

    /// Gives closed reclaim units the class that the rule assigns to unknown data. If allowed, relocated data joins the
    /// shared relocated data: being mostly cold, it would otherwise be relocated repeatedly along with newer data of a
    /// class.
    fn forget_classes(&mut self, mixes: bool) {
        let unknown = self.segments.content(UNMAPPED, &self.rus.units, self.clock);
        let rule = self.separation.as_ref().filter(|rule| rule.splits_all());
        let class = rule.map_or(0, |rule| rule.host_class(0, unknown, self.clock).0);
        let handles = usize::from(self.geometry.handles);
        let mut shared = 0;
        for (unit, valid) in self.rus.units.iter_mut().zip(&self.rus.valid) {
            let Owner::Handle(handle) = unit.owner else { continue };
            if unit.state != State::Closed {
                continue;
            }
            let may_share = self.geometry.isolation[handle.index()] == Isolation::Initially;
            if mixes && may_share && unit.generation > 0 {
                (unit.owner, unit.class, unit.generation) = (Owner::Gc, 0, 1);
                unit.origins = vec![0.0; handles];
                unit.origins[handle.index()] = f64::from(*valid);
                shared += u64::from(*valid) * self.geometry.page_bytes;
            } else {
                (unit.class, unit.generation) = (class, 0);
            }
        }
        let gc = &mut self.handles[handles];
        gc.host_bytes += shared;
        gc.media_bytes += shared;
    }
}
