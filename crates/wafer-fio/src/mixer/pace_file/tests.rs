use super::*;

fn parse(text: &str, columns: &[&str]) -> Result<PaceFile, String> {
    let columns: Vec<String> = columns.iter().map(|c| (*c).to_owned()).collect();
    PaceFile::parse(text, Path::new("x.csv"), &columns).map_err(|e| e.to_string())
}

#[test]
fn shares_by_interval() {
    let text = "# a remark\nhost_bytes,media_bytes,ruh0_host_bytes,ruh1_host_bytes\n\
                0,0,0,0\n100,100,100,0\n100,100,100,0\n300,400,150,150\n";
    let file = parse(text, &["ruh1", "ruh0"]).unwrap();
    assert_eq!(file.intervals(), 2);
    assert_eq!((file.interval(0), file.interval(99), file.interval(100)), (0, 0, 1));
    assert_eq!((file.interval(300), file.end(1), file.end(2)), (2, Some(300), None));
    assert_eq!((file.share(0, 0), file.share(1, 0)), (0.0, 1.0));
    assert_eq!((file.share(0, 1), file.share(1, 1)), (0.75, 0.25));
    assert_eq!(file.share(0, 2), 0.75);
}

#[test]
fn errors_name_line_and_column() {
    let error = |text: &str, columns: &[&str]| parse(text, columns).unwrap_err();
    assert!(error("", &[]).contains("x.csv:1"));
    let text = "host_bytes,ruh0_host_bytes\n0,0\n";
    assert!(error(text, &["ruh3"]).contains("`ruh3`: no such column; there are host_bytes"));
    assert!(error(text, &["ruh0"]).contains("does not grow"));
    let text = "host_bytes,ruh0_host_bytes\n0,0\n5,x\n";
    assert_eq!(error(text, &["ruh0"]), "x.csv:3: column `ruh0`: `x` is not a number of bytes");
    let text = "host_bytes,ruh0_host_bytes\n0,0\n\n5,2\n4,3\n";
    assert!(error(text, &["ruh0"]).starts_with("x.csv:5: column `host_bytes`: 4 is less"));
    assert!(error("host_bytes,ruh0_host_bytes\n0,0\n5\n", &["ruh0"]).contains("x.csv:3"));
}
