use super::*;

#[test]
fn a_page_that_stays_in_memory_costs_nothing() {
    let mut map = Translation::new(4, 4);
    for _ in 0..100 {
        (0..4).for_each(|page| assert_eq!(map.touch(page, true), Work::default()));
    }
}

#[test]
fn the_page_used_longest_ago_leaves_and_is_programmed_if_it_changed() {
    let mut map = Translation::new(4, 2);
    assert_eq!(map.touch(0, true), Work::default());
    assert_eq!(map.touch(1, false), Work::default());
    map.touch(0, false);
    // Page 1 leaves unchanged. Neither page was ever in flash.
    assert_eq!(map.touch(2, false), Work { reads: 0, programs: 0 });
    // Page 0 leaves, changed; then page 2 leaves for page 0, which is read.
    assert_eq!(map.touch(3, false), Work { reads: 0, programs: 1 });
    assert_eq!(map.touch(0, false), Work { reads: 1, programs: 0 });
    assert_eq!(map.check(), Ok(()));
}

#[test]
fn the_region_collects_at_little_cost() {
    let mut map = Translation::new(1000, 1);
    let (mut random, mut programs) = (1u64, 0);
    for _ in 0..100_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        programs += map.touch((random >> 33) as u32 % 1000, true).programs;
        debug_assert_eq!(map.check(), Ok(()));
    }
    // One for each change, plus the pages that greedy collection with twice the space moves.
    assert!((115_000..130_000).contains(&programs), "{programs}");
}

#[test]
fn a_saved_map_is_checked() {
    let mut map = Translation::new(8, 2);
    (0..100).for_each(|at| _ = map.touch(at * 5 % 8, true));
    let mut again = Translation::new(8, 2);
    again.resume(map.state()).unwrap();
    (0..100).for_each(|at| assert_eq!(again.touch(at * 3 % 8, true), map.touch(at * 3 % 8, true)));
    let refused = |change: fn(&mut TranslationState)| {
        let mut state = map.state();
        change(&mut state);
        Translation::new(8, 2).resume(state).is_err()
    };
    assert!(!refused(|_| ()));
    assert!(refused(|state| state.cached[0].0 = 8));
    assert!(refused(|state| state.cached[0] = state.cached[1]));
    assert!(refused(|state| state.cached.push((0, true))));
    assert!(Translation::new(9, 2).resume(map.state()).is_err());
    assert!(Translation::new(8, 1).resume(map.state()).is_err());
}
