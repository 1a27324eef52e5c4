use super::*;

#[test]
fn shares_by_interval() {
    let rows = [[0, 0, 0], [100, 0, 100], [100, 0, 100], [300, 150, 150]];
    let table = PaceTable::new(&rows.map(Vec::from)).unwrap();
    assert_eq!(table.intervals(), 2);
    assert_eq!((table.interval(0), table.interval(99), table.interval(100)), (0, 0, 1));
    assert_eq!((table.interval(300), table.end(1), table.end(2)), (2, Some(300), None));
    assert_eq!((table.share(0, 0), table.share(1, 0)), (0.0, 1.0));
    assert_eq!((table.share(0, 1), table.share(1, 1)), (0.75, 0.25));
    assert_eq!(table.share(0, 2), 0.75);
    assert_eq!(PaceTable::new(&[vec![0, 0], vec![0, 0]]), None);
    assert_eq!(PaceTable::new(&[]), None);
}
