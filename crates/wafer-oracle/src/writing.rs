//! The path of a write: which log takes a page, when a segment begins, and when a reclaim unit is opened.
//!
//! Source: `docs/reference/device-model.md`, "Writes", "Open RUs", "When garbage is collected" and "Refused devices"
//! (spilling). What that page leaves open:
//!
//! - The clock counts host pages written. It advances by a whole command before the first of its pages is placed.
//! - Whether a handle is split is decided once for a whole command.
//! - A handle whose log is in the middle of a segment writes on without checking what is due. A command whose pages
//!   spilled to another group stays there to the end of that segment; each command, and each page of a handle that
//!   separates, first tries the named group.

use std::ops::Range;

use wafer_interface::{FdpEvent, NsId, Placement, RgId, RuhId};

use crate::collection::Limits;
use crate::death_times::Old;
use crate::oracle::{Event, Oracle};
use crate::pages::Segment;
use crate::units::Log;

/// A log of a group.
type Place = (u16, Log);

impl Oracle {
    /// Writes pages through a handle. If no group is named, segments go to the cheap groups in turn.
    pub(crate) fn write(&mut self, pages: Range<u64>, named: Option<u16>, handle: u16) {
        let group = named.unwrap_or(self.last_groups[usize::from(handle)]);
        let split = self.deaths.as_ref().is_some_and(|deaths| deaths.is_split(handle));
        let separates = self.lifespans.is_some() || split;
        let mut at = (group, Log::Host { handle, class: 0 });
        let mut home = at;
        let mut death = 0;
        for page in pages {
            let old = self.old(page);
            if separates {
                let class = self.class(page, handle, old, &mut death);
                home = (group, Log::Host { handle, class });
                at = home;
            }
            if self.open.get(&at).is_none_or(|open| open.segment_room == 0) {
                if let Some(lifespans) = &mut self.lifespans {
                    lifespans.began(old.map(|old| old.lived));
                }
                if let Some(deaths) = &mut self.deaths {
                    deaths.sample(handle, old, self.clock);
                    death = deaths.death(handle, old, self.clock);
                }
                if named.is_none() {
                    home.0 = self.next_cheap(self.last_groups[usize::from(handle)]);
                    self.last_groups[usize::from(handle)] = home.0;
                }
                at = self.begin_segment(home, handle, death, named.is_some());
            }
            self.write_page(page, at, handle);
            if self.room(self.open[&at].unit) == 0 {
                self.close(at.0, at.1);
                self.open_log(at, death, &mut self.limits(at.0));
            }
        }
    }

    /// Returns what is known of the content of a page.
    fn old(&self, page: u64) -> Option<Old> {
        let segment = self.pages.of(page)?;
        let lived = self.clock - segment.born;
        let parts = segment.division.map(|division| &self.pages.divisions[&division]);
        let first = parts.and_then(|parts| parts.iter().find(|part| self.pages.valid(**part) > 0));
        let unit = first.map_or(segment.unit, |part| self.pages[*part].unit);
        let class = self.units[unit as usize].log.class();
        Some(Old { by: segment.origin, lived, death: segment.death, class })
    }

    /// Returns the class of a page, if the device separates. Sets its death time.
    fn class(&mut self, page: u64, handle: u16, old: Option<Old>, death: &mut u64) -> u8 {
        match (&mut self.lifespans, &self.deaths) {
            (Some(lifespans), _) => {
                lifespans.written(page, handle, old.map(|old| (old.lived, old.class)))
            }
            (None, Some(deaths)) => {
                *death = deaths.death(handle, old, self.clock);
                deaths.written(handle, *death, self.clock)
            }
            (None, None) => 0,
        }
    }

    fn write_page(&mut self, page: u64, at: Place, handle: u16) {
        if let Some((unit, _)) = self.pages.invalidate(page) {
            self.units[unit as usize].invalidated.push(handle);
        }
        let open = self.open.get_mut(&at).expect("a segment was begun");
        open.segment_room -= 1;
        self.pages.append(open.segment.expect("a segment was begun"), page);
        self.units[open.unit as usize].written += 1;
        self.translate(page, true);
    }

    /// Unmaps pages.
    pub(crate) fn deallocate(&mut self, pages: Range<u64>) {
        for page in pages {
            if let Some((unit, origin)) = self.pages.invalidate(page) {
                self.units[unit as usize].invalidated.push(origin);
                self.counters.deallocated_pages += 1;
                self.translate(page, true);
            }
        }
    }

    /// Does what is due, and begins a segment in a host's log or in the one that takes its place. Returns that log.
    fn begin_segment(&mut self, home: Place, handle: u16, death: u64, named: bool) -> Place {
        self.asking = handle;
        self.background_collection(home.0);
        self.maintain();
        if self.segments_in_use() >= self.sizes.most_segments() {
            self.merge_segments();
        }
        let at = self.open_somewhere(home, death, named);
        let unit = self.open[&at].unit;
        if self.open[&at].segment_room == 0 {
            let (born, pages) = (self.clock, Vec::new());
            let segment = Segment { unit, pages, origin: handle, born, death, division: None };
            let segment = self.pages.begin(segment);
            self.units[unit as usize].segments.push(segment);
            let segment_room = self.sizes.segment_size(self.room(unit));
            let open = self.open.get_mut(&at).expect("opened above");
            (open.segment, open.segment_room) = (Some(segment), segment_room);
        }
        at
    }

    /// Counts the segments, parts and divided segments in use, and the one that stands for unmapped pages.
    fn segments_in_use(&self) -> usize {
        let listed: usize = self.units.iter().map(|unit| unit.segments.len()).sum();
        1 + listed + self.pages.divisions.len()
    }

    /// Opens a log, or else that of the same handle in another group, by room and at any cost. Returns the open log.
    fn open_somewhere(&mut self, home: Place, death: u64, named: bool) -> Place {
        if self.keep_open(home, death, self.limits(home.0)) {
            return home;
        }
        for group in self.by_room() {
            let other = (group, home.1);
            let limits = Limits { least_invalid: 1, ..self.limits(group) };
            if !self.keep_open(other, death, limits) {
                continue;
            }
            if named && group != home.0 {
                let Log::Host { handle, .. } = home.1 else { unreachable!("a host writes") };
                self.events.push(Event::Fdp(FdpEvent::ImplicitlyModifiedRuh {
                    group: RgId(home.0),
                    handle: RuhId(handle),
                    used: RgId(group),
                }));
            }
            return other;
        }
        unreachable!("no group has space to reclaim")
    }

    /// Returns the next group in circular order whose space is about as cheap as any: at most one free reclaim unit
    /// less than the best and, of those, at most a sixteenth of a unit more to relocate.
    fn next_cheap(&self, last: u16) -> u16 {
        let circle = || (1..=self.sizes.groups).map(|step| (last + step) % self.sizes.groups);
        let beyond = |group: u16| {
            let free = self.free[usize::from(group)].len();
            free.saturating_sub(self.sizes.reserve(group))
        };
        let most = circle().map(beyond).max().unwrap_or(0);
        let roomy = || circle().filter(|group| beyond(*group) + 1 >= most);
        let to_move = |group: u16| match self.least_valid(group) {
            Some(unit) => self.valid(unit),
            None => self.sizes.unit_pages,
        };
        let least = roomy().map(to_move).min().unwrap_or(0);
        let cheap = |group: &u16| to_move(*group) - least <= self.sizes.unit_pages / 16;
        roomy().find(cheap).expect("the cheapest is cheap")
    }

    /// Returns the groups, those with the most room first: by free reclaim units beyond the reserve, then by invalid
    /// pages of the emptiest candidate, then the lower number.
    fn by_room(&self) -> Vec<u16> {
        let room = |group: u16| {
            let free = self.free[usize::from(group)].len();
            let beyond = free.saturating_sub(self.sizes.reserve(group));
            let emptiest = self.least_valid(group);
            let gain = emptiest.map(|unit| self.sizes.unit_pages - self.valid(unit));
            (beyond, gain.unwrap_or(0))
        };
        let mut groups: Vec<u16> = (0..self.sizes.groups).rev().collect();
        groups.sort_by_key(|group| room(*group));
        groups.reverse();
        groups
    }

    /// Opens a log until it stays open: if host and collection share it, the collection that restores the reserve may
    /// fill the unit just opened.
    fn keep_open(&mut self, at: Place, death: u64, mut limits: Limits) -> bool {
        while !self.open.contains_key(&at) {
            if !self.open_log(at, death, &mut limits) {
                return false;
            }
        }
        true
    }

    /// Returns what space in a group may cost before a host write goes to another: twice as many full victims as there
    /// are reclaim units, and fewer than 15 pages relocated for each page written.
    fn limits(&self, group: u16) -> Limits {
        let least_invalid = self.sizes.unit_pages / 16 + 1;
        Limits { full_victims: 2 * self.sizes.group(group).len(), least_invalid }
    }

    /// Opens a closed log of a host: restores the reserve if it is short, takes a free reclaim unit, and restores
    /// the reserve. Returns false if the group has no space to reclaim.
    pub(crate) fn open_log(&mut self, at: Place, death: u64, limits: &mut Limits) -> bool {
        let (group, Log::Host { handle, .. }) = at else { unreachable!("a host writes") };
        self.asking = handle;
        if !self.forced_collection(group, limits) {
            return false;
        }
        // A collection may have opened it already.
        if !self.open.contains_key(&at) {
            let death = self.deaths.as_ref().map_or(0, |deaths| deaths.of_unit(at.1, death));
            self.open(group, at.1, death);
            self.forced_collection(group, limits);
        }
        true
    }

    /// Opens the log of a handle in a group, with no death time.
    pub(crate) fn open_first_class(&mut self, group: u16, handle: u16) {
        let mut limits = self.limits(group);
        self.open_log((group, Log::Host { handle, class: 0 }), 0, &mut limits);
    }

    /// Reclaim unit update: closes the open reclaim unit of a handle, unless nothing was written to it. Returns
    /// the pages left unwritten; `None` if the namespace does not have the placement identifier.
    pub fn update_reclaim_unit(&mut self, namespace: NsId, placement: Placement) -> Option<u32> {
        let (group, handle) = self.find_placement(namespace, placement)?;
        let log = Log::Host { handle, class: 0 };
        let room = self.open.get(&(group, log)).map(|open| self.room(open.unit));
        let Some(unwritten_pages) = room.filter(|room| *room < self.sizes.unit_pages) else {
            return Some(0);
        };
        self.close(group, log);
        let (group_id, handle_id) = (RgId(group), RuhId(handle));
        let event =
            FdpEvent::RuNotFullyWritten { group: group_id, handle: handle_id, unwritten_pages };
        self.events.push(Event::Fdp(event));
        self.open_first_class(group, handle);
        Some(unwritten_pages)
    }
}
