use super::*;
use wafer_policies::Purpose;

/// A divided label with 300 pages in reclaim unit 1 and 700 in reclaim unit 2.
fn divided() -> (Segments, Label) {
    let mut segments = Segments::new(9, false, DeviceRng::new(5, Purpose::Segments));
    let label = segments.allocate(1, 1000, Written::default());
    let (first, rest) = segments.divide(label, 300);
    segments.hot[first as usize].ru = 1;
    segments.hot[rest as usize].ru = 2;
    (segments, label)
}

#[test]
fn parts_lose_pages_in_proportion() {
    // Half of the pages, without replacement: 150, 100 and 250 are expected of the parts, with
    // standard deviations of 7.2, 6.3 and 7.9; the means of 400 trials are within 1.5 of that.
    let mut lost = [0; 4];
    for trial in 0..400 {
        let (mut segments, label) = divided();
        let rest = segments.parts(label)[1];
        let (_, last) = segments.divide(rest, 200);
        segments.hot[last as usize].ru = 3;
        segments.rng = DeviceRng::new(trial, Purpose::Segments);
        for _ in 0..500 {
            lost[segments.invalidate_divided(label) as usize] += 1;
            segments.hot[label as usize].valid -= 1;
        }
    }
    for (ru, expected) in [(1, 150.0), (2, 100.0), (3, 250.0)] {
        let mean = f64::from(lost[ru]) / 400.0;
        assert!((mean - expected).abs() < 1.5, "{ru}: {mean}");
    }
}

#[test]
fn a_part_divides_again_and_all_numbers_come_back() {
    let (mut segments, label) = divided();
    let parts = segments.parts(label).to_vec();
    let (a, b) = segments.divide(parts[1], 10);
    assert_eq!((a, segments.hot[a as usize].valid), (parts[1], 10));
    assert_eq!(segments.hot[b as usize].valid, 690);
    assert_eq!(segments.parts(label).len(), 3);
    for _ in 0..1000 {
        segments.invalidate_divided(label);
        segments.hot[label as usize].valid -= 1;
    }
    for part in [parts[0], a, b] {
        segments.release(part);
    }
    assert_eq!(segments.live(), 1);
    assert_eq!(segments.divided().count(), 0);
}

/// Merging turns parts into segments, and separation uses how long their pages lived.
#[test]
fn parts_inherit_how_their_segment_was_written() {
    let mut segments = Segments::new(9, true, DeviceRng::new(5, Purpose::Segments));
    let written = |born| Written { origin: 3, born, death_time: 1000 + born };
    // A number that was in use before has other times.
    let stale = segments.allocate(1, 10, written(1));
    segments.release(stale);
    let label = segments.allocate(1, 100, written(70));
    let (first, rest) = segments.divide(label, 30);
    let (second, last) = segments.divide(rest, 30);
    for part in [first, second, last] {
        let content = segments.content(part, &[], 100).unwrap();
        assert_eq!((content.writer(), content.lived(), content.death_time()), (3, 30, 1070));
    }
}

/// Data that the host wrote to class 2, and data relocated to it, which is of generation 3.
#[test]
fn content_has_the_class_of_its_reclaim_unit() {
    let unit = |class, generation| ReclaimUnit { class, generation, ..ReclaimUnit::empty() };
    let units = [unit(2, 0), unit(0, 3)];
    let mut segments = Segments::new(9, true, DeviceRng::new(1, Purpose::Segments));
    let label = segments.allocate(0, 10, Written::default());
    assert_eq!(segments.content(label, &units, 5).unwrap().class(), 2);
    segments.hot[label as usize].ru = 1;
    assert_eq!(segments.content(label, &units, 5).unwrap().class(), 2);
    // If divided, the class is that of the first part that holds valid pages.
    let (first, rest) = segments.divide(label, 4);
    segments.hot[rest as usize].ru = 2;
    let units = [units[0].clone(), units[1].clone(), unit(5, 0)];
    assert_eq!(segments.content(label, &units, 5).unwrap().class(), 2);
    segments.hot[first as usize].valid = 0;
    assert_eq!(segments.content(label, &units, 5).unwrap().class(), 5);
}
