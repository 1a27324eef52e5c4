use wafer_interface::Collected;

use super::*;

#[test]
fn causes_share_in_proportion_and_nothing_is_lost() {
    let mut totals = Attribution::new(3);
    // 10 pages of origin 1; handle 0 invalidated two of three pages, handle 2 one.
    count(&mut totals, Owner::Handle(RuhId(1)), RuhId(1), &[0, 10, 0], &[2, 0, 1]);
    assert_eq!(totals.relocated, [[0, 6, 0], [0, 0, 0], [0, 4, 0]]);
    assert_eq!(totals.demanded, [[0, 0, 0], [0, 10, 0], [0, 0, 0]]);
    assert_eq!(totals.invalidated, [[0, 2, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]]);
    assert_eq!(totals.collected[1], Collected { units: 1, empty: 0, valid: 10 });
}

#[test]
fn a_full_victim_is_caused_by_who_asked() {
    let mut totals = Attribution::new(2);
    count(&mut totals, Owner::Gc, RuhId(1), &[3, 4], &[0, 0]);
    assert_eq!(totals.relocated, [[0, 0], [3, 4]]);
    count(&mut totals, Owner::Gc, RuhId(0), &[0, 0], &[5, 2]);
    assert_eq!(totals.collected[2], Collected { units: 2, empty: 1, valid: 7 });
}
