use super::*;

fn of(jobs: &[(&str, bool, Option<&str>)]) -> Result<Vec<u32>, (usize, String)> {
    let barriers: Vec<_> = jobs
        .iter()
        .map(|&(name, stonewall, wait_for)| Barrier { name, stonewall, wait_for })
        .collect();
    phases(&barriers)
}

#[test]
fn stonewalls_and_chains() {
    assert_eq!(of(&[("a", true, None), ("b", false, None), ("c", true, None)]), Ok(vec![0, 0, 1]));
    let chain = [
        ("a", false, None),
        ("b", false, Some("a")),
        ("c", false, Some("b")),
        ("d", true, Some("b")),
    ];
    assert_eq!(of(&chain), Ok(vec![0, 1, 2, 3]));
    assert_eq!(
        of(&[("a", false, None), ("b", false, Some("a")), ("c", false, Some("a"))]),
        Ok(vec![0, 1, 1])
    );
}

#[test]
fn what_phases_cannot_express() {
    let beside = [("a", false, None), ("b", false, None), ("c", false, Some("a"))];
    assert_eq!(of(&beside).unwrap_err().0, 2);
    // A later job without a barrier runs alongside the first one.
    let later = [("a", false, None), ("b", false, Some("a")), ("c", false, None)];
    assert_eq!(of(&later).unwrap_err().0, 1);
    assert!(of(&[("a", false, Some("a"))]).is_err());
    assert!(of(&[("a", false, Some("b")), ("b", false, None)]).is_err());
    assert!(of(&[("a", false, None), ("a", true, None), ("b", true, Some("a"))]).is_err());
}
