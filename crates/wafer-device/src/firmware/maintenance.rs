//! Media maintenance: wear levelling, refresh, read disturb, the time limit of open reclaim units, and retirement.
//!
//! The device checks what is due when a host begins a segment, each time as many host pages were written as a reclaim
//! unit has. Maintained data goes to a separate free reclaim unit, so that cold data does not mix with data relocated
//! by collections.

use crate::device::{Device, Slot};
use crate::flash::mapping::RuIndex;
use crate::flash::open::HostWrite;
use crate::flash::segment::NONE;
use crate::layout::Layout;
use wafer_interface::{FdpEvent, FirmwareConfig, Observer, Owner, RgId, RuId, RuhId};
use wafer_policies::State;

/// Divisor of the configured limit: the limits of reclaim units deviate from it by up to a tenth, either way.
const SPREAD: u64 = 10;

/// The error of a device at the end of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the drive is read-only: {retired} of {units} reclaim units are worn out and retired, and no more can be spared"
)]
pub struct ReadOnly {
    /// Number of retired reclaim units.
    pub retired: usize,
    /// Number of reclaim units of the device.
    pub units: u32,
}

/// Returns the erases after which a reclaim unit is retired: within a tenth of the configured limit, derived from its
/// number.
fn limit(firmware: &FirmwareConfig, ru: u32) -> u32 {
    let middle = u64::from(firmware.retire_after);
    let (least, span) = (middle - middle / SPREAD, 2 * (middle / SPREAD) + 1);
    // Multiplicative hashing spreads the numbers evenly.
    let hashed = u64::from(ru).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let drawn = (hashed * span) >> 32;
    (least + drawn) as u32
}

impl<O: Observer> Device<O> {
    /// Returns how many reclaim units may be retired, which is the number that every arrangement of the device can
    /// spare.
    pub(crate) fn most_retired(&self) -> u32 {
        if self.geometry.firmware.retire_after == 0 {
            return 0;
        }
        let spare = |layout: &Layout| layout.may_retire(&self.geometry);
        match &self.tuner {
            Some(tuner) => tuner.layouts().map(spare).min().unwrap_or(0),
            None => spare(&self.layout),
        }
    }

    /// Lets a fresh device retire as many reclaim units as it can spare.
    pub(crate) fn allow_retirement(&mut self) {
        let spare = self.most_retired();
        if let Some(maintenance) = &mut self.maintenance {
            maintenance.spare = spare;
        }
    }

    /// Performs the maintenance that is due, on behalf of handle `by`.
    #[inline(always)]
    pub(crate) fn maintain(&mut self, by: RuhId) {
        if self.maintenance.as_ref().is_some_and(|m| m.next_look <= self.clock) {
            self.look_around(by);
        }
    }

    #[cold]
    fn look_around(&mut self, by: RuhId) {
        let Some(maintenance) = &mut self.maintenance else { return };
        maintenance.next_look = self.clock + u64::from(self.geometry.pages_per_ru);
        let firmware = self.geometry.firmware.clone();
        let pages = |writes: f64| (writes * self.geometry.logical_pages as f64) as u64;
        let (open_limit, refresh_after) =
            (pages(firmware.open_limit), pages(firmware.refresh_after));
        if firmware.open_limit > 0.0 {
            self.close_overdue(open_limit);
        }
        for group in 0..self.groups.len() as u16 {
            if firmware.refresh_after > 0.0 {
                while let Some(oldest) = self.oldest(group)
                    && self.clock - self.rus.closed_at[oldest.index()] > refresh_after
                {
                    self.copy_unit(group, oldest, by);
                }
            }
            if firmware.wear_difference > 0
                && let Some(coldest) = self.least_erased(group)
            {
                let range = self.groups[usize::from(group)].range.clone();
                let most = range.map(|ru| self.rus.units[ru as usize].erases).max().unwrap_or(0);
                if most - self.rus.units[coldest.index()].erases > firmware.wear_difference {
                    self.rus.offer_most_worn(group);
                    self.copy_unit(group, coldest, by);
                }
            }
        }
    }

    /// Closes reclaim units that have been open for more than `limit` host pages and are not empty. A handle gets a new
    /// empty one.
    fn close_overdue(&mut self, limit: u64) {
        for slot in 0..self.slots.len() as u32 {
            let Slot { ru, room, .. } = self.slots[slot as usize];
            let fresh = ru == NONE || room == self.geometry.pages_per_ru;
            if fresh || self.clock - self.rus.opened_at[ru as usize] <= limit {
                continue;
            }
            let contents = self.numbering.contents(slot);
            let group = self.group_of(slot);
            self.close_slot(slot);
            if let (Owner::Handle(handle), 0) = (contents.owner, contents.generation) {
                let (group, unwritten_pages) = (RgId(group), room);
                self.observer.event(&FdpEvent::TimeLimitExceeded {
                    group,
                    handle,
                    unwritten_pages,
                });
                if contents.class == 0 {
                    self.open_slot(slot, HostWrite::by(u32::from(handle.0)));
                }
            }
        }
    }

    fn closed(&self, group: u16) -> impl Iterator<Item = RuId> + '_ {
        let range = self.groups[usize::from(group)].range.clone();
        range.map(RuId).filter(|ru| self.rus.units[ru.index()].state == State::Closed)
    }

    /// Returns the closed reclaim unit that was closed first.
    fn oldest(&self, group: u16) -> Option<RuId> {
        self.closed(group).min_by_key(|ru| self.rus.closed_order[ru.index()])
    }

    /// Returns the closed reclaim unit with the fewest erases, the first one at a tie.
    fn least_erased(&self, group: u16) -> Option<RuId> {
        self.closed(group).min_by_key(|ru| self.rus.units[ru.index()].erases)
    }

    /// Counts a page read from each of these reclaim units, then relocates the data of those with too many reads. Does
    /// nothing if the device is read-only.
    pub(crate) fn count_reads(&mut self, read: &[RuIndex]) {
        let most = self.geometry.firmware.reads_before_move;
        if self.read_only {
            return;
        }
        let Some(maintenance) = &mut self.maintenance else { return };
        for ru in read {
            let reads = &mut maintenance.reads[*ru as usize];
            *reads = reads.saturating_add(1);
        }
        for ru in read {
            let reads = self.maintenance.as_ref().map_or(0, |m| m.reads[*ru as usize]);
            let unit = &self.rus.units[*ru as usize];
            if reads >= most && unit.state == State::Closed {
                let by = if let Owner::Handle(handle) = unit.owner { handle } else { RuhId(0) };
                self.copy_unit(self.group_of_unit(RuId(*ru)), RuId(*ru), by);
            }
        }
    }

    fn group_of_unit(&self, ru: RuId) -> u16 {
        let found = self.groups.iter().position(|group| group.range.contains(&ru.0));
        found.unwrap_or_default() as u16
    }

    /// Checks that the device accepts writes.
    ///
    /// # Errors
    /// The device is permanently read-only, because a reclaim unit is worn out and the device cannot spare another one.
    pub fn check_writable(&self) -> Result<(), ReadOnly> {
        let refused = || ReadOnly { retired: self.retired_rus(), units: self.geometry.ru_count };
        if self.read_only { Err(refused()) } else { Ok(()) }
    }

    /// Returns the number of reclaim units that can still be retired, as a percentage of those that a fresh device can
    /// spare, rounded down; `None` if the device never retires any.
    pub fn spare_percent(&self) -> Option<u8> {
        let retires = self.geometry.firmware.retire_after > 0;
        let left = self.maintenance.as_ref().filter(|_| retires)?.spare;
        let most = u64::from(self.most_retired()).max(1);
        Some((u64::from(left) * 100 / most).min(100) as u8)
    }

    /// Erases a reclaim unit without valid pages. If it is worn out, it is retired; if the device cannot spare it, the
    /// device is read-only after the current command.
    pub(crate) fn erase(&mut self, ru: RuId, group: u16) {
        self.rus.erase(ru.0, group);
        let Some(maintenance) = &mut self.maintenance else { return };
        if let Some(reads) = maintenance.reads.get_mut(ru.index()) {
            *reads = 0;
        }
        let firmware = &self.geometry.firmware;
        let worn =
            firmware.retire_after > 0 && self.rus.units[ru.index()].erases >= limit(firmware, ru.0);
        if !worn {
            return;
        }
        if maintenance.spare == 0 {
            self.read_only = true;
        } else if self.rus.free[usize::from(group)].len() > 1 {
            maintenance.spare -= 1;
            self.rus.retire(ru.0, group);
        }
    }
}
