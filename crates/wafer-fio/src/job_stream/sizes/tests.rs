use wafer_random::Purpose;

use super::*;

fn shares(sizes: &Sizes, room: u64) -> std::collections::BTreeMap<u64, f64> {
    let mut rng = Rng::new(3, 0, Purpose::Size, 0);
    let mut counts = std::collections::BTreeMap::new();
    let n = 200_000;
    for _ in 0..n {
        *counts.entry(sizes.draw(&mut rng, room).unwrap()).or_insert(0.0) += 1.0 / f64::from(n);
    }
    counts
}

#[test]
fn a_range_is_uniform_over_multiples() {
    let sizes = Sizes::new(&BlockSize::Range { min: 4096, max: 65536 }, false).unwrap();
    let found = shares(&sizes, u64::MAX);
    assert_eq!(found.len(), 16);
    assert!(found.values().all(|s| (s - 1.0 / 16.0).abs() < 0.003), "{found:?}");
    assert_eq!(sizes.draw(&mut Rng::new(0, 0, Purpose::Size, 0), 4095), None);
    assert!(shares(&sizes, 8192).keys().all(|&b| b <= 8192));
}

#[test]
fn a_split_keeps_its_shares() {
    let parts = vec![(4096, 60.0), (65536, 30.0), (8192, 10.0)];
    let sizes = Sizes::new(&BlockSize::Split(parts), false).unwrap();
    let found = shares(&sizes, u64::MAX);
    assert!((found[&4096] - 0.6).abs() < 0.005 && (found[&8192] - 0.1).abs() < 0.005);
    assert!((sizes.mean() - (0.6 * 4096.0 + 0.3 * 65536.0 + 819.2)).abs() < 1.0);
    assert!(shares(&sizes, 8192).keys().all(|&b| b <= 8192));
}

#[test]
fn bad_sizes() {
    for size in [
        BlockSize::Fixed(0),
        BlockSize::Range { min: 8, max: 4 },
        BlockSize::Split(vec![]),
        BlockSize::Split(vec![(4096, 50.0)]),
        BlockSize::Split(vec![(4096, f64::NAN)]),
    ] {
        assert!(Sizes::new(&size, false).is_err(), "{size:?}");
    }
}
