use super::autostream::AutoStream;
use super::dac::Dac;
use super::fadac::Fadac;
use super::midas::Midas;
use super::multi_log::MultiLog;
use super::sepbit::SepBit;
use super::warcip::Warcip;
use super::{Content, Separator, Sizes, Victim};

/// Host pages for which each reclaim unit was open. MiDAS counts only from its closing.
const OPEN_FOR: u64 = 50;

fn victim(class: u8, generation: u8, age: u64) -> Victim {
    Victim { class, generation, age, existed: age + OPEN_FOR, death_time: 0 }
}

/// A rule that has collected sixteen reclaim units of its short-lived class at a mean age of 100.
fn rule<S: Separator>() -> S {
    let sizes = Sizes { logical_pages: 1600, handles: 1, split_handles: 1, relocated_classes: 4 };
    let mut rule = S::new(&sizes);
    (0..16).for_each(|at| _ = rule.collect(&victim(0, 0, 70 + at * 4), 0));
    // Neither other host classes nor relocated data count.
    (0..16).for_each(|_| _ = rule.collect(&victim(1, 0, 9000), 0));
    (0..16).for_each(|_| _ = rule.collect(&victim(0, 1, 9000), 0));
    rule
}

/// Content of this lifetime, in a reclaim unit of this class.
#[derive(Clone, Copy)]
struct Old {
    lived: u64,
    class: u8,
}

impl Content for Old {
    fn writer(self) -> u32 {
        0
    }

    fn lived(self) -> u64 {
        self.lived
    }

    fn class(self) -> u8 {
        self.class
    }

    fn death_time(self) -> u64 {
        0
    }
}

fn class(rule: &impl Separator, lived: Option<u64>) -> u8 {
    rule.host_class(0, lived.map(|lived| Old { lived, class: 0 }), 0).0
}

#[test]
fn sepbit_compares_lives_with_those_of_the_short_lived_class() {
    let mut rule: SepBit = rule();
    // Counted from the opening of the reclaim units, whose mean age since closing is 100.
    assert_eq!([Some(149), Some(150), None].map(|lived| class(&rule, lived)), [0, 1, 1]);
    // Survivors of the short-lived class stay apart; the others go by age, with bounds at 4 and 16 lifespans.
    assert_eq!(rule.collect(&victim(0, 0, 9999), 0), 0);
    let mut by_age = |existed: u64| rule.collect(&victim(1, 0, existed - OPEN_FOR), 0);
    assert_eq!([599, 600, 2399, 2400].map(&mut by_age), [1, 2, 2, 3]);
}

#[test]
fn midas_counts_how_often_data_was_moved() {
    let mut rule: Midas = rule();
    assert_eq!([Some(99), Some(100)].map(|lived| class(&rule, lived)), [0, 1]);
    let mut moved = |generation| rule.collect(&victim(0, generation, 5), 0);
    assert_eq!([0, 1, 3, 4].map(&mut moved), [0, 1, 3, 3]);
}

#[test]
fn dac_lifts_what_is_overwritten_and_lowers_what_is_moved() {
    let mut rule: Dac = rule();
    let of = |class| rule.host_class(0, Some(Old { lived: 5, class }), 5).0;
    assert_eq!([0, 2, 5].map(of), [1, 3, 5]);
    assert_eq!(class(&rule, None), 0);
    let mut moved = |class, generation| rule.collect(&victim(class, generation, 5), 0);
    assert_eq!([moved(0, 0), moved(3, 0), moved(0, 1), moved(0, 6)], [0, 2, 0, 4]);
}

#[test]
fn multi_log_has_classes_a_factor_of_four_apart_and_keeps_them() {
    let mut rule: MultiLog = rule();
    let lives = [99, 100, 399, 400, 1599, 1600].map(Some);
    assert_eq!(lives.map(|lived| class(&rule, lived)), [0, 1, 1, 2, 2, 3]);
    assert_eq!(class(&rule, None), 3);
    assert_eq!(rule.collect(&victim(2, 0, 5), 0), 2);
    // Data relocated to class 2 is of generation 3.
    assert_eq!(rule.collect(&victim(0, 3, 5), 0), 2);
}

#[test]
fn warcip_takes_the_nearest_centre_and_moves_it() {
    // Centres of a space of 1,600 pages: 12, 50, 200, 800 and 3,200.
    let mut rule: Warcip = rule();
    let lives = [0, 31, 32, 125, 126, 2000, 2001, 1 << 40].map(Some);
    assert_eq!(lives.map(|lived| class(&rule, lived)), [0, 0, 1, 1, 2, 3, 4, 4]);
    assert_eq!(class(&rule, None), 4);
    // Twenty segments whose first page lived for 120 pages pull the second centre there, so 126 is nearer to it.
    (0..20).for_each(|_| _ = rule.begin_segment(0, Some(Old { lived: 120, class: 0 }), 0));
    assert_eq!(class(&rule, Some(126)), 1);
    assert_eq!(class(&rule, Some(31)), 0);
    let mut moved = |class, generation| rule.collect(&victim(class, generation, 5), 0);
    assert_eq!([moved(0, 0), moved(4, 0), moved(0, 2), moved(0, 5)], [1, 4, 2, 4]);
}

#[test]
fn autostream_counts_the_writes_of_a_chunk_and_follows_sequential_ones() {
    // Chunks of one page, 1,600 of them: a period has 6,400 writes.
    let mut rule: AutoStream = rule();
    let mut write = |page: u64| {
        rule.write(page, 0, None::<Old>);
        class(&rule, None)
    };
    assert_eq!([7, 7, 7, 7].map(&mut write), [0, 1, 1, 2]);
    assert_eq!([8, 9].map(&mut write), [2, 2], "it goes on from page 7");
    assert_eq!([20, 8].map(&mut write), [0, 0], "following pages were not counted");
    let counts: Vec<u8> = (0..40).map(|_| write(30)).collect();
    assert_eq!([counts[30], counts[31], counts[39]], [4, 5, 5], "the last stream takes the rest");
    // 46 writes were counted so far; these complete three periods, and the count of page 30 goes from 40 to 5.
    (0..3 * 6400 - 46).for_each(|at| _ = write(100 + 2 * (at % 700)));
    assert_eq!(write(30), 2);
    assert_eq!([rule.collect(&victim(3, 0, 5), 0), rule.collect(&victim(0, 2, 5), 0)], [3, 1]);
}

#[test]
fn fadac_compares_the_average_of_a_page_with_that_of_all() {
    // The average of all pages starts at 1,600 and moves to 1,660 here.
    let mut rule: Fadac = rule();
    assert_eq!(class(&rule, None), 5, "nothing is known");
    let mut write = |page, lived: Option<u64>| {
        rule.write(page, 0, lived.map(|lived| Old { lived, class: 0 }));
        class(&rule, None)
    };
    let lives = [90, 110, 390, 410, 1590, 1610, 6390, 6500, 25_500, 27_000].map(Some);
    let classes: Vec<u8> = (0..).zip(lives).map(|(page, lived)| write(page, lived)).collect();
    assert_eq!(classes, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
    // From 27,000 by a quarter of the distance to 100 each time: 20,275; 15,232; 11,449; 8,612; 6,484.
    let falling: Vec<u8> = (0..5).map(|_| write(9, Some(100))).collect();
    assert_eq!(falling, [4, 4, 4, 4, 3]);
    assert_eq!(write(9, None), 3, "a page that was deallocated is remembered");
    assert_eq!(write(50, None), 5);
    let mut moved = |class, generation| rule.collect(&victim(class, generation, 5), 0);
    assert_eq!([moved(0, 0), moved(5, 0), moved(0, 2)], [1, 5, 2]);
}
