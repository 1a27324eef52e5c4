use super::*;
use wafer_policies::Purpose;

#[test]
fn pages_are_handed_out_evenly() {
    // The first half of the pages gets half of each part: 150 of 300, within 1.5 over 400 trials.
    let mut first = 0;
    for trial in 0..400 {
        let mut rng = DeviceRng::new(trial, Purpose::Segments);
        let mut division = Division { left: 1000, parts: vec![(1, 300), (2, 700)] };
        first += (0..500).filter(|_| division.draw(&mut rng) == 1).count();
        (0..500).for_each(|_| _ = division.draw(&mut rng));
        assert_eq!((division.left, &division.parts[..]), (0, &[(1, 0), (2, 0)][..]));
    }
    let mean = first as f64 / 400.0;
    assert!((mean - 150.0).abs() < 1.5, "{mean}");
}
