use super::*;

fn error(text: &str) -> String {
    Pace::parse(text, false).unwrap_err().to_string()
}

#[test]
fn parses() {
    let pace = Pace::parse("a=0.58, b = 0.21,c=.21", false).unwrap();
    assert_eq!(pace.shares(0, &[0, 1, 2]), (vec![0.58, 0.21, 0.21], None));
    assert_eq!(pace.entry("b"), Some(1));
    assert!(Pace::parse("", false).unwrap().is_empty());
    assert!(pace.check(&["a", "b", "c"]).is_ok());
    let unknown = pace.check(&["a", "x", "x"]).unwrap_err().to_string();
    assert_eq!(unknown, "shares of jobs: there is no job `b`; the jobs are a, x");
}

#[test]
fn errors() {
    assert_eq!(error("a"), "shares of jobs: `a` is not NAME=SHARE");
    assert_eq!(error("a=1,a=2"), "shares of jobs: job `a` is named twice");
    assert_eq!(error("a=0"), "shares of jobs: `a=0`: a share must be above 0");
    assert!(error("a=ruh0").contains("the table of shares"));
    assert!(error("a=nan").contains("above 0"));
    let table = PaceTable::new(&[vec![0, 0], vec![10, 5]]).unwrap();
    let pace = Pace::parse("a=ruh0,b=0.1", true).unwrap();
    assert_eq!(pace.columns(), ["ruh0"]);
    assert_eq!(pace.with_table(table).shares(0, &[0, 1]), (vec![0.5, 0.1], Some(10)));
}
