use super::*;

#[test]
fn quantiles_agree_with_the_table() {
    let table = [(1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (30, 2.0423), (1000, 1.9623)];
    for (freedom, quantile) in table {
        let ours = student(freedom, 0.95);
        assert!((ours - quantile).abs() < 1e-4, "{freedom}: {ours}");
    }
    assert!((student(5, 0.99) - 4.0321).abs() < 1e-4);
    // From SciPy 1.17.
    let many = [
        (999, 0.95, 1.9623414611334487),
        (1000, 0.95, 1.9623390808264078),
        (1000, 0.999999, 4.9222895234),
        (1_000_000, 0.99, 2.5758342201),
        (10_000_000, 0.95, 1.9599642218),
        (usize::MAX, 0.95, 1.9599639845400563),
    ];
    for (freedom, confidence, quantile) in many {
        let ours = student(freedom, confidence);
        assert!((ours / quantile - 1.0).abs() < 1e-9, "{freedom}: {ours}");
    }
    assert!(student(0, 0.95).is_nan());
}

#[test]
fn a_mean_of_several_values_has_an_interval() {
    assert_eq!(Mean::of(&[]), None);
    assert_eq!(Mean::of(&[2.0]), Some(Mean { value: 2.0, half_width: None, count: 1 }));
    assert_eq!(Mean::of(&[2.0; 3]).unwrap().half_width, Some(0.0));
    // Standard deviation 1, standard error 1 / sqrt(3).
    let three = Mean::of(&[1.0, 2.0, 3.0]).unwrap();
    assert_eq!((three.value, three.count), (2.0, 3));
    assert!((three.half_width.unwrap() - 4.30265 / 3.0f64.sqrt()).abs() < 1e-5);
    assert_eq!(standard_deviation(&[2.1]), None);
    // The Python package shows this as `2.20 ± 0.25`.
    let mean = Mean::of(&[2.1, 2.2, 2.3]).unwrap();
    assert_eq!(format!("{:.2} {:.2}", mean.value, mean.half_width.unwrap()), "2.20 0.25");
}

#[test]
fn pairing_removes_the_variation_of_seeds() {
    let seeds = [1.0, 1.7, 0.6, 1.3];
    let pairs = seeds.map(|s| (100.0 * s, 77.0 * s * (1.0 + s / 1000.0)));
    let change = Change::of(&pairs).unwrap();
    let (low, high) = change.bounds.unwrap();
    assert!(low < change.share && change.share < high && high < 0.0);
    assert!((change.share + 0.23).abs() < 0.002 && high - low < 0.002, "{change:?}");
    assert_eq!(Change::of(&[(2.0, 3.0)]).unwrap().bounds, None);
    assert!((Change::of(&[(2.0, 3.0)]).unwrap().share - 0.5).abs() < 1e-12);
    assert_eq!(Change::of(&[]).unwrap_err().to_string(), "compare: no seed in common");
    assert!(Change::of(&[(1.0, 0.0)]).is_err());
}
