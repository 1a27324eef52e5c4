use super::*;

fn read(text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    sections(text, Path::new("a.fio"))
        .map(|(all, ..)| {
            all.into_iter()
                .map(|s| (s.name, s.lines.into_iter().map(|l| l.text).collect()))
                .collect()
        })
        .map_err(|e| e.to_string())
}

#[test]
fn sections_comments_and_blanks() {
    let text = "; c\n\n[global] # c\r\n  bs=4k ; c\n#x\n[ a ]\nrw=write#c\n\tthread\n";
    assert_eq!(
        read(text).unwrap(),
        vec![
            ("global".into(), vec!["bs=4k".into()]),
            (" a ".into(), vec!["rw=write".into(), "thread".into()]),
        ]
    );
}

#[test]
fn includes_are_relative_and_may_not_loop() {
    let dir = tempfile::tempdir().unwrap();
    let sub = dir.path().join("sub");
    std::fs::create_dir(&sub).unwrap();
    std::fs::write(sub.join("one.inc"), "bs=4k\ninclude two.inc\n").unwrap();
    std::fs::write(sub.join("two.inc"), "iodepth=2\n").unwrap();
    let top = dir.path().join("top.fio");
    let (all, included, text) = sections("[a]\ninclude sub/one.inc\nrw=write\n", &top).unwrap();
    let texts: Vec<_> = all[0].lines.iter().map(|l| (l.text.as_str(), l.at.line)).collect();
    assert_eq!(texts, [("bs=4k", 1), ("iodepth=2", 1), ("rw=write", 3)]);
    assert_eq!(included, [sub.join("one.inc"), sub.join("two.inc")]);
    let (again, none, _) = sections(&text, Path::new("elsewhere.fio")).unwrap();
    let again: Vec<_> = again[0].lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(again, ["bs=4k", "iodepth=2", "rw=write"]);
    assert!(none.is_empty(), "{text}");

    std::fs::write(sub.join("two.inc"), "include one.inc\n").unwrap();
    let error = sections("[a]\ninclude sub/one.inc\n", &top).unwrap_err().to_string();
    assert!(error.ends_with("two.inc:1: include: `one.inc` includes itself"), "{error}");
}

#[test]
fn includes_that_multiply_end() {
    let dir = tempfile::tempdir().unwrap();
    for level in 0..15 {
        let next = format!("include {}.inc\n", level + 1);
        std::fs::write(dir.path().join(format!("{level}.inc")), next.repeat(8)).unwrap();
    }
    std::fs::write(dir.path().join("15.inc"), "thread\n").unwrap();
    let error = sections("[a]\ninclude 0.inc\n", &dir.path().join("top.fio")).unwrap_err();
    assert!(error.to_string().contains("more than 100000 lines"), "{error}");
}
