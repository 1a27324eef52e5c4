//! Which segments of a victim fill the open reclaim unit, and which begin the next one.
//!
//! Source: `docs/reference/device-model.md`, "Order of relocation", and `docs/decisions/0001-segment-map.md`. If all pages fit, segments move in
//! their order. If they do not, with `room` for some of the `all` valid pages:
//!
//! 1. *Share.* In order, each segment goes to the first reclaim unit if it fits into the room left there. With
//!    `gc.order = "spread"`, it does so only if the pages of the first unit up to half of this segment, rounded up, are
//!    then no more than its share `room / all` of the pages seen so far, rounded down.
//! 2. *Fill.* Of the others, the largest that fits goes to the first as well, at a tie the later one; and so on down to
//!    the smallest.
//! 3. *Exchange.* If pages are still missing, the first segment of the first reclaim unit for which another is larger
//!    by exactly that number is exchanged for it. At a tie, it is the one that a binary search by size finds; if that
//!    moved in step 2, this segment is not exchanged.
//! 4. *Divide.* If there is none, the smallest of the others, at a tie the earlier one, is divided, and its part moves
//!    last to the first reclaim unit.

/// A move: the position of a segment in the victim, and the number of its pages that move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) segment: usize,
    pub(crate) pages: u32,
}

/// Returns the moves of a victim's segments with these numbers of valid pages, in their order.
pub(crate) fn arrange(segments: &[u32], room: u32, spread: bool) -> Vec<Move> {
    let all: u32 = segments.iter().sum();
    let whole = |segment: &usize| Move { segment: *segment, pages: segments[*segment] };
    let every = 0..segments.len();
    if all <= room {
        return every.map(|segment| whole(&segment)).collect();
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let (mut seen, mut missing) = (0, room);
    for segment in every {
        let pages = segments[segment];
        seen += pages;
        let share = (u64::from(seen) * u64::from(room) / u64::from(all)) as u32;
        let would_have = room - missing + pages.div_ceil(2);
        if pages <= missing && (!spread || would_have <= share) {
            missing -= pages;
            first.push(segment);
        } else {
            second.push(segment);
        }
    }
    // Sizes of the others, with their positions in `second`, where a segment that moves leaves a gap.
    let mut by_size: Vec<(u32, usize)> =
        second.iter().enumerate().map(|(at, segment)| (segments[*segment], at)).collect();
    by_size.sort();
    let mut second: Vec<Option<usize>> = second.into_iter().map(Some).collect();
    for (pages, at) in by_size.iter().rev() {
        if *pages <= missing {
            missing -= pages;
            first.extend(second[*at].take());
        }
    }
    let mut divided = None;
    if missing > 0 {
        let larger = |segment: &usize| {
            let found = by_size.binary_search_by_key(&(segments[*segment] + missing), |(n, _)| *n);
            found.ok().map(|found| by_size[found].1).filter(|at| second[*at].is_some())
        };
        let exchange = first.iter().enumerate().find_map(|(i, s)| larger(s).map(|at| (i, at)));
        if let Some((i, at)) = exchange {
            second[at] = Some(std::mem::replace(&mut first[i], second[at].expect("filtered")));
        } else {
            let smallest = by_size.iter().find_map(|(_, at)| second[*at]);
            divided = Some(smallest.expect("a segment that does not fit"));
        }
    }
    let head = divided.map(|segment| Move { segment, pages: missing });
    let rest = |segment: &usize| match divided {
        Some(divided) if divided == *segment => {
            Move { segment: divided, pages: segments[divided] - missing }
        }
        _ => whole(segment),
    };
    first.iter().map(whole).chain(head).chain(second.iter().flatten().map(rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moves as (segment, pages).
    fn moves(segments: &[u32], room: u32, spread: bool) -> Vec<(usize, u32)> {
        arrange(segments, room, spread).iter().map(|m| (m.segment, m.pages)).collect()
    }

    #[test]
    fn what_fits_keeps_its_order() {
        assert_eq!(moves(&[2, 1, 3], 6, true), [(0, 2), (1, 1), (2, 3)]);
    }

    #[test]
    fn half_the_room_takes_every_other_page() {
        let single = [1; 6];
        let order = |spread| moves(&single, 3, spread).iter().map(|m| m.0).collect::<Vec<_>>();
        assert_eq!(order(true), [1, 3, 5, 0, 2, 4]);
        assert_eq!(order(false), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_end_of_a_reclaim_unit_is_filled_to_the_page() {
        // 4 of 5 are taken; the largest segment that fits fills the rest.
        assert_eq!(moves(&[4, 3, 1, 2], 5, false), [(0, 4), (2, 1), (1, 3), (3, 2)]);
        // Nothing fits the one missing page; 4 is exchanged for 5.
        assert_eq!(moves(&[4, 5, 7], 5, false), [(1, 5), (0, 4), (2, 7)]);
        // None is larger by one, so the smallest of the others is divided.
        assert_eq!(moves(&[4, 6, 7], 5, false), [(0, 4), (1, 1), (1, 5), (2, 7)]);
    }
}
