use crate::Purpose;

use super::*;

#[test]
fn shares_and_borders() {
    let zones = [(80.0, 20.0), (10.0, 20.0), (10.0, 60.0)];
    let zoned = Zoned::relative(&zones, 1003).unwrap();
    assert_eq!(zoned.slots.len(), 100);
    assert_eq!(zoned.slots[79], (0, 200));
    assert_eq!(zoned.slots[80], (200, 200));
    assert_eq!(zoned.slots[99], (401, 601));
    let mut rng = Rng::new(5, 0, Purpose::Address, 0);
    let n = 1_000_000;
    let first = (0..n).filter(|_| zoned.draw(&mut rng) < 200).count();
    assert!((first as f64 / f64::from(n) - 0.8).abs() < 0.002, "{first}");
}

#[test]
fn fractions_of_a_percent() {
    let zoned = Zoned::relative(&[(0.5, 10.0), (99.5, 90.0)], 1000).unwrap();
    assert_eq!(zoned.slots.len(), 10_000);
    assert_eq!(zoned.slots.iter().filter(|s| s.0 == 0).count(), 50);
}

#[test]
fn bad_zones() {
    assert!(Zoned::relative(&[(50.0, 50.0)], 100).is_err());
    assert!(Zoned::relative(&[], 100).is_err());
    assert!(Zoned::relative(&[(f64::NAN, 50.0), (100.0, 50.0)], 100).is_err());
    assert!(Zoned::relative(&[(50.0, 50.0), (50.0, 60.0)], 100).is_err());
    assert!(Zoned::relative(&[(50.0, 0.5), (50.0, 99.5)], 100).is_err());
    assert!(Zoned::absolute(&[(50.0, 4096), (50.0, u64::MAX)], 4096, 100).is_err());
    let zoned = Zoned::absolute(&[(50.0, 8192), (50.0, 4096)], 4096, 3).unwrap();
    assert_eq!((zoned.slots[0], zoned.slots[99]), ((0, 2), (2, 1)));
}
