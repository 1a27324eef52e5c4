//! Attribution: which handle's writes cause relocations of which handle's data.
//!
//! Source: `docs/concepts/attribution.md`. The origin of a page is the handle through which a host last wrote it.
//! Relocations of a victim's valid pages are caused by the handles that invalidated its other pages, in proportion, or
//! by the handle that demanded space if none did. Cumulative counts are rounded down, so that nothing is lost. A
//! deallocated page counts as invalidated by its origin.

use wafer_interface::{Attribution, Owner};

/// Counts a victim: the origin of each valid page, and the handle that invalidated each other page.
pub(crate) fn count(
    totals: &mut Attribution,
    owner: Owner,
    asking: u16,
    origins: &[u16],
    invalidated: &[u16],
) {
    let handles = totals.sequential.len();
    let column = match owner {
        Owner::Handle(handle) => handle.index(),
        Owner::Gc => handles,
    };
    for by in invalidated {
        totals.invalidated[usize::from(*by)][column] += 1;
    }
    let collected = &mut totals.collected[column];
    collected.units += 1;
    collected.empty += u64::from(origins.is_empty());
    collected.valid += origins.len() as u64;
    let number = |of: &[u16], up_to: usize| of.iter().filter(|h| usize::from(**h) <= up_to).count();
    for origin in 0..handles {
        let pages = origins.iter().filter(|handle| usize::from(**handle) == origin).count() as u64;
        totals.demanded[usize::from(asking)][origin] += pages;
        if invalidated.is_empty() {
            totals.relocated[usize::from(asking)][origin] += pages;
            continue;
        }
        let all = invalidated.len() as u64;
        let mut before = 0;
        for cause in 0..handles {
            let up_to = pages * number(invalidated, cause) as u64 / all;
            totals.relocated[cause][origin] += up_to - before;
            before = up_to;
        }
    }
}
