use super::*;

fn deaths(handles: usize, left: u16) -> DeathTimes {
    DeathTimes { handles: vec![Handle::default(); handles], left, generations: 3 }
}

fn old(writer: u32, lived: u64, death_time: u64) -> Option<Old> {
    Some(Old { writer, lived, death_time })
}

#[test]
fn equal_lives_are_a_turn_and_others_are_not() {
    let mut deaths = deaths(2, 1);
    for at in 0..300u64 {
        deaths.sample(0, old(0, 1000 + at % 3 * 50, 0), at);
        deaths.sample(1, old(1, at * 7919 % 2000, 0), at);
    }
    // 256 samples of lifetimes of 1,000 to 1,100.
    assert!(deaths.death_time(0, None, 5000).abs_diff(6050) <= 2);
    assert_eq!(deaths.death_time(1, None, 5000), 0);
    // Neither the stream itself is divided nor pages with unknown death time.
    assert_eq!(deaths.class(0, 6050, 5000), 0);
}

#[test]
fn a_page_inherits_and_goes_by_what_is_left_of_the_turn() {
    let mut deaths = deaths(2, 1);
    for at in 0..300 {
        deaths.sample(0, old(0, 1200, 0), at);
    }
    assert_eq!(deaths.death_time(1, old(0, 100, 2000), 1000), 0, "not split yet");
    for at in 0..300 {
        deaths.sample(1, old(0, 100, 2000), at);
    }
    assert!(deaths.splits(1) && !deaths.splits(0));
    assert_eq!(deaths.death_time(1, old(1, 100, 2000), 1000), 2000);
    assert_eq!(deaths.death_time(1, old(1, 100, 2000), 2000), 0, "its time has passed");
    let class = |left: u64| deaths.class(1, 5000 + left, 5000);
    assert_eq!([0, 1, 99, 100, 1199, 9999].map(class), [0, 1, 1, 2, 12, 12]);
    let mut relocated = |generation, death_time| {
        deaths.collect(&Victim { class: 0, generation, age: 0, existed: 0, death_time }, 1000)
    };
    assert_eq!(relocated(0, 2000), 3);
    assert_eq!([0, 1, 3, 4].map(|generation| relocated(generation, 0)), [0, 1, 2, 0]);
}

#[test]
fn only_what_a_regular_handle_wrote_counts() {
    let mut deaths = deaths(2, 2);
    (0..300).for_each(|at| deaths.sample(1, old(1, at * 7919 % 2000, 2000), at));
    (0..300).for_each(|at| deaths.sample(1, old(0, 100, 2000), at));
    assert!(!deaths.splits(1));
}

#[test]
fn no_more_handles_are_split_than_there_is_room_for() {
    let mut deaths = deaths(3, 1);
    (0..300).for_each(|at| deaths.sample(0, old(0, 1200, 0), at));
    for handle in [1, 2] {
        (0..300).for_each(|at| deaths.sample(handle, old(0, 100, 2000), at));
    }
    assert_eq!([0, 1, 2].map(|handle| deaths.splits(handle)), [false, true, false]);
}

#[test]
fn a_damaged_memory_is_refused() {
    let sizes = Sizes { logical_pages: 9, handles: 2, split_handles: 1, relocated_classes: 4 };
    let resume = |saved| DeathTimes::new(&sizes).resume(saved, 5000);
    assert!(resume(deaths(2, 1)).is_ok());
    assert!(resume(deaths(1, 1)).is_err() && resume(deaths(2, 2)).is_err());
    for life in [f64::NAN, -1.0, 5001.0] {
        let mut saved = deaths(2, 1);
        saved.handles[1].life = life;
        assert!(resume(saved).is_err(), "{life}");
    }
}
