use super::*;

#[test]
fn lists_and_ranges() {
    assert_eq!(plids("0"), Ok(vec![0]));
    assert_eq!(plids("5,4"), Ok(vec![4, 5]));
    assert_eq!(plids("0-2,7,"), Ok(vec![0, 1, 2, 7]));
    assert_eq!(plids("0x10,010"), Ok(vec![8, 16]));
    for bad in ["", ",", "1,,2", "3-1", "-1", "65536", "1-", "a", "0-65535", "+1"] {
        assert!(plids(bad).is_err(), "{bad}");
    }
}

#[test]
fn rules() {
    let mut p = Placement { plids: vec![1, 2], ..Placement::default() };
    assert_eq!(p.rule(8), Ok(PlacementRule::None));
    p.fdp = true;
    assert_eq!(p.rule(8), Ok(PlacementRule::RoundRobin(vec![1, 2])));
    assert!(p.rule(2).is_err());
    p.select = Select::Random;
    assert_eq!(p.rule(8), Ok(PlacementRule::Random(vec![1, 2])));
    p.plids = vec![];
    p.select = Select::RoundRobin;
    assert_eq!(p.rule(3), Ok(PlacementRule::RoundRobin(vec![0, 1, 2])));
    assert_eq!(p.rule(1), Ok(PlacementRule::Fixed(0)));
    p.interface = Some(Interface::Streams);
    assert!(p.rule(3).is_err());
    // A hint is a placement index if the namespace has that index, and `fdp` takes precedence.
    let mut hint = Placement { hint: Some(2), ..Placement::default() };
    assert_eq!(hint.rule(3), Ok(PlacementRule::Fixed(2)));
    assert_eq!((hint.rule(2), hint.rule(0)), (Ok(PlacementRule::None), Ok(PlacementRule::None)));
    (hint.fdp, hint.plids) = (true, vec![1]);
    assert_eq!(hint.rule(3), Ok(PlacementRule::Fixed(1)));
}

#[test]
fn scheme_files() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("s"), "0, 1024, 0\n1024,4096,3\n\n").unwrap();
    let job = dir.path().join("a.fio");
    assert_eq!(scheme(&job, "s"), Ok(vec![(0, 1024, 0), (1024, 4096, 3)]));
    std::fs::write(dir.path().join("s"), "0, 1024, 0\n1024 4096 3\n").unwrap();
    assert_eq!(
        scheme(&job, "s"),
        Err("`s` line 2: `1024 4096 3` is not `start, end, index` in bytes".into())
    );
    assert!(scheme(&job, "none").is_err());
}
