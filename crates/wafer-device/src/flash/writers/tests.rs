use super::*;
use wafer_policies::Purpose;

#[test]
fn many_at_once_count_as_one_at_a_time() {
    let (mut once, mut singly) = (Writers::new(3), Writers::new(3));
    for (handle, commands) in [(0, 5), (2, 1000), (1, 127), (0, 1), (2, 64), (1, 3)] {
        once.wrote(handle, commands);
        (0..commands).for_each(|_| singly.wrote(handle, 1));
        assert_eq!((&once.counts, once.total), (&singly.counts, singly.total));
    }
}

#[test]
fn handles_are_drawn_in_proportion_and_the_past_is_forgotten() {
    let mut rng = DeviceRng::new(1, Purpose::Policy);
    let mut writers = Writers::new(3);
    writers.wrote(0, 10_000);
    for _ in 0..1000 {
        writers.wrote(1, 3);
        writers.wrote(2, 1);
    }
    let mut drawn = [0; 3];
    (0..4000).for_each(|_| drawn[writers.draw(0, &mut rng) as usize] += 1);
    assert_eq!(drawn[0], 0);
    assert!((2800..3200).contains(&drawn[1]), "{drawn:?}");
    assert_eq!((0..9).map(|_| writers.draw(1, &mut rng)).max(), Some(2));
    assert_eq!((0..9).map(|_| writers.draw(2, &mut rng)).min(), Some(1));
    assert_eq!(Writers::new(2).draw(1, &mut rng), 1);
}
