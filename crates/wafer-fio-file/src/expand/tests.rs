use super::*;

#[test]
fn variables_and_keywords() {
    let variables = |name: &str| (name == "BS").then(|| "64k".to_owned());
    let read = |text| expand(text, 4096, &variables).map(|e| e.text);
    assert_eq!(read("bs=${BS}"), Ok("bs=64k".into()));
    assert_eq!(read("bs=${NO}${BS},${BS}"), Ok("bs=64k,64k".into()));
    assert_eq!(read("bs=${BS"), Ok("bs=${BS".into()));
    assert_eq!(read("bs=$pagesize"), Ok("bs=4096".into()));
    assert_eq!(read("bs=2*$pagesize"), Ok("bs=8192".into()));
    assert!(read("bs=$pagesize/0").is_err());
    assert!(read("size=8*$mb_memory").is_err());
    assert!(read("numjobs=$ncpus").is_err());
    assert_eq!(
        read("filename_format=$jobname.$jobnum"),
        Ok("filename_format=$jobname.$jobnum".into())
    );
}
