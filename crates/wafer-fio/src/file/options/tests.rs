use super::*;

#[test]
fn names_are_unique() {
    let mut names: Vec<_> =
        all().flat_map(|o| [o.name, o.alias]).filter(|n| !n.is_empty()).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn finds_aliases_and_suggests() {
    assert_eq!(find("blocksize").map(|o| o.name), Some("bs"));
    assert!(find("").is_none());
    for (wrong, right) in
        [("iodeph", "`iodepth`"), ("bss", "`bs`"), ("norandomap", "`norandommap`")]
    {
        assert!(unknown(wrong).contains(right), "{}", unknown(wrong));
    }
    assert_eq!(unknown("qqqqqqqqqqqqqqqq"), "fio has no such option");
    assert_eq!(unknown(""), "fio has no such option");
}
