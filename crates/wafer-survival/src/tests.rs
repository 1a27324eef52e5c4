//! Curves of devices of different sizes.

use super::{Bins, Curve};

/// Returns a curve that counted 100 pages, half of which were invalidated between the ages 40 and 100, times `scale`.
fn counted(bins: &Bins, scale: f64) -> Curve {
    let mut curve = Curve::new();
    curve.count(bins, 0.0, 40.0 * scale, 0.0, 100.0);
    curve.count(bins, 40.0 * scale, 100.0 * scale, 50.0, 75.0);
    curve.refresh(bins, 1.0, None);
    curve
}

#[test]
fn a_stretched_curve_is_that_of_a_larger_device() {
    // Reclaim units eight times as large; then eight times as many of the same size.
    for pages_per_ru in [128, 16] {
        let (from, to) = (Bins::new(16), Bins::new(pages_per_ru));
        let mut stretched = counted(&from, 1.0).stretched(&from, &to, 8.0);
        stretched.refresh(&to, 1.0, None);
        let larger = counted(&to, 8.0);
        for age in [100.0, 400.0, 600.0, 790.0] {
            let alive = |curve: &Curve| curve.survival[to.of(age)];
            let (ours, theirs) = (alive(&stretched), alive(&larger));
            assert!((ours - theirs).abs() < 0.02, "{ours} for {theirs} at {age}");
        }
        let (young, old) = (larger.survival[to.of(100.0)], larger.survival[to.of(790.0)]);
        assert!(young > 0.9 && old < 0.7, "{young} {old}");
    }
}
