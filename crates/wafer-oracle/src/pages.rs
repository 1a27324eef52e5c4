//! The page map: every page has a definite place, in a segment of a reclaim unit.
//!
//! Source: `docs/decisions/0001-segment-map.md`. The device knows only how many pages of a divided segment each reclaim
//! unit holds; when a page is overwritten, it draws the unit that held it. Here every page has a place at all times. If
//! the draw names a reclaim unit other than the one that holds the page, the page changes places with one of the same
//! divided segment there: nothing observable distinguished the two. So the agreement of both devices is the exchange
//! argument, executed.

use std::collections::BTreeMap;
use std::ops::Index;

use crate::random::Random;

/// Number of a segment or of a part of one; never used twice.
pub(crate) type SegmentId = usize;

/// A segment, or a part of a divided one.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// The reclaim unit that holds it.
    pub(crate) unit: u32,
    /// Its valid pages.
    pub(crate) pages: Vec<u64>,
    /// The handle through which the host wrote its pages.
    pub(crate) origin: u16,
    /// Host pages written to the device when it was begun.
    pub(crate) born: u64,
    /// When its pages are expected to be overwritten, on the same clock; 0: unknown.
    pub(crate) death: u64,
    /// The division of which it is a part.
    pub(crate) division: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pub(crate) map: Vec<Option<SegmentId>>,
    /// All segments that ever existed.
    pub(crate) segments: Vec<Segment>,
    /// The parts of each divided segment, in order of creation.
    pub(crate) divisions: BTreeMap<u64, Vec<SegmentId>>,
    next_division: u64,
    pub(crate) random: Random,
}

impl Index<SegmentId> for Pages {
    type Output = Segment;

    fn index(&self, id: SegmentId) -> &Segment {
        &self.segments[id]
    }
}

impl Pages {
    pub(crate) fn new(pages: u64, random: Random) -> Self {
        let map = vec![None; pages as usize];
        let divisions = BTreeMap::new();
        Pages { map, segments: Vec::new(), divisions, next_division: 0, random }
    }

    pub(crate) fn begin(&mut self, segment: Segment) -> SegmentId {
        self.segments.push(segment);
        self.segments.len() - 1
    }

    /// Returns the segment that holds a page.
    pub(crate) fn of(&self, page: u64) -> Option<&Segment> {
        self.map[page as usize].map(|id| &self[id])
    }

    /// Returns the number of valid pages of a segment.
    pub(crate) fn valid(&self, id: SegmentId) -> u32 {
        self[id].pages.len() as u32
    }

    /// Writes an unmapped page to a segment.
    pub(crate) fn append(&mut self, id: SegmentId, page: u64) {
        assert!(self.map[page as usize].is_none(), "page {page} has a place already");
        self.map[page as usize] = Some(id);
        self.segments[id].pages.push(page);
    }

    /// Unmaps a page. Returns the reclaim unit that held it and the handle that wrote it.
    pub(crate) fn invalidate(&mut self, page: u64) -> Option<(u32, u16)> {
        let mut at = self.map[page as usize]?;
        if let Some(division) = self[at].division {
            let parts = self.divisions[&division].iter().map(|part| (*part, self.valid(*part)));
            let drawn = draw(&parts.collect::<Vec<_>>(), &mut self.random);
            if drawn != at {
                self.exchange(page, self[drawn].pages[0]);
                at = drawn;
            }
        }
        self.map[page as usize] = None;
        let segment = &mut self.segments[at];
        segment.pages.retain(|other| *other != page);
        Some((segment.unit, segment.origin))
    }

    /// Exchanges the places of two pages of a divided segment.
    fn exchange(&mut self, one: u64, other: u64) {
        for (page, now) in [(one, other), (other, one)] {
            let id = self.map[page as usize].expect("a mapped page");
            let pages = &mut self.segments[id].pages;
            *pages.iter_mut().find(|p| **p == page).expect("the page in its segment") = now;
        }
        self.map.swap(one as usize, other as usize);
    }

    /// Moves a page to another logical address, which is unmapped.
    pub(crate) fn rename(&mut self, from: u64, to: u64) {
        if from == to {
            return;
        }
        let Some(id) = self.map[from as usize].take() else { return };
        self.segments[id].pages.retain(|page| *page != from);
        self.append(id, to);
    }

    /// Divides a segment into `count` pages, which keep its number, and the others, whose number it returns.
    pub(crate) fn divide(&mut self, id: SegmentId, count: u32) -> SegmentId {
        let division = match self[id].division {
            Some(division) => division,
            None => {
                self.next_division += 1;
                self.divisions.insert(self.next_division, vec![id]);
                self.segments[id].division = Some(self.next_division);
                self.next_division
            }
        };
        let pages = self.segments[id].pages.split_off(count as usize);
        let rest = self.begin(Segment { pages: pages.clone(), ..self[id].clone() });
        for page in pages {
            self.map[page as usize] = Some(rest);
        }
        self.divisions.get_mut(&division).expect("the division of a part").push(rest);
        rest
    }

    /// Takes a segment without valid pages out of use. A division ends when its last part is released.
    pub(crate) fn release(&mut self, id: SegmentId) {
        assert!(self[id].pages.is_empty(), "a segment of valid pages is released");
        let Some(division) = self[id].division else { return };
        let parts = self.divisions.get_mut(&division).expect("the division of a part");
        parts.retain(|part| *part != id);
        if parts.is_empty() {
            self.divisions.remove(&division);
        }
    }
}

/// Draws one of the parts, in proportion to their numbers of pages.
pub(crate) fn draw(parts: &[(SegmentId, u32)], random: &mut Random) -> SegmentId {
    let each = parts.iter().flat_map(|(part, pages)| std::iter::repeat_n(*part, *pages as usize));
    let each: Vec<SegmentId> = each.collect();
    each[random.below(each.len() as u32) as usize]
}
