use super::*;

#[test]
fn points_are_due_at_the_kths_of_the_total() {
    let recorder = Recorder::new(3, Some(10));
    let due: Vec<u64> = [0, 4, 7].map(|host| recorder.due_after(host)).to_vec();
    assert_eq!(due, [4, 7, 10]);
    // A command that crosses several points gives one.
    assert_eq!(recorder.due_after(8), 10);
}

#[test]
fn the_gc_series_comes_last_and_numbers_in_order() {
    let mut keys = [HandleKey::Gc, HandleKey::Handle(10), HandleKey::Handle(2)];
    keys.sort();
    let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["2", "10", "gc"]);
}

#[test]
fn interpolation_starts_at_zero() {
    let timeline =
        Timeline { host_bytes: vec![10, 20], media_bytes: vec![10, 40], ..Timeline::default() };
    assert_eq!(timeline.waf_at(5), Some(1.0));
    assert_eq!(timeline.media_at(15), Some(25.0));
    assert_eq!(timeline.media_at(21), None);
    assert_eq!(timeline.waf_at(0), None);
}
