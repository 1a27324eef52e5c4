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
    assert_eq!(unknown("qqqqqqqqqqqqqqqq"), "fio has no such option for block devices");
    assert_eq!(unknown(""), "fio has no such option for block devices");
}

/// Values that are invalid for every option with a number, a size, a time or a choice.
const NONSENSE: [&str; 12] = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "-0.5",
    "1e308",
    "99999999999999999999",
    "5xyz",
    "",
    "1 1",
    "[]",
    "0x",
];

#[test]
fn nonsense_is_refused_by_the_name_of_the_option() {
    let target = crate::Target {
        namespace_bytes: vec![1 << 20],
        namespace_handles: vec![1],
        page_bytes: 4096,
    };
    let mut tried = 0;
    for option in OPTIONS.iter().filter(|o| matches!(o.effect, Effect::Followed(_))) {
        for value in NONSENSE {
            // Names are any text except the empty one.
            let texts = ["name", "filename", "directory", "wait_for"];
            if texts.contains(&option.name) && !value.is_empty() {
                continue;
            }
            tried += 1;
            let job = format!("[a]\nrw=write\nsize=1m\n{}={value}\n", option.name);
            let read = crate::JobFile::parse(&job, "a.fio").and_then(|f| f.resolve(&target));
            let error = read.expect_err(&format!("{}={value}", option.name)).to_string();
            let place = format!("a.fio:4: {}: ", option.name);
            assert!(error.starts_with(&place) && !error.contains('\n'), "{value}: {error}");
        }
    }
    assert!(tried > 500, "{tried}");
}

#[test]
fn a_job_file_is_text_and_its_exponents_are_bounded() {
    let error = crate::JobFile::parse("[a]\nrw=wri\0te\n", "a.fio").unwrap_err();
    assert_eq!(error.to_string(), "a.fio:2: a NUL byte: this is not text");
    for (theta, accepted) in [("0.99", true), ("50", true), ("51", false), ("1e9", false)] {
        let read = distribution::random_distribution(&format!("zipf:{theta}"), 1024);
        assert_eq!(read.is_ok(), accepted, "{theta}");
    }
}
