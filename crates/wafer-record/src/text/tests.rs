use super::*;

#[test]
fn nothing_acts_on_a_terminal() {
    let hostile = "a\u{1b}[31m\u{7f}\u{85}\u{9b}2J\u{202e}b\u{2028}\r\n\u{7}é\u{feff}";
    let shown = printable(hostile);
    assert!(!shown.contains(acts), "{shown:?}");
    assert!(shown.starts_with("a\\u{1b}[31m\\u{7f}\\u{85}\\u{9b}2J\\u{202e}b"), "{shown}");
    assert_eq!(printable(&shown), shown, "twice is once");
    assert!(matches!(printable("é – 日本"), Cow::Borrowed(_)));
    for text in [json(&[hostile]).unwrap(), json_line(&[hostile]).unwrap()] {
        assert!(!text.contains(|c| c != '\n' && acts(c)), "{text:?}");
        assert!(text.contains("\\u009b2J\\u202eb"), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), [hostile]);
    }
}

#[test]
fn only_a_whole_is_a_hundred_percent() {
    let shown = [0.0, 0.004, 0.5, 0.9949, 0.996, 1.0].map(percent);
    assert_eq!(shown, ["0 %", "0.4 %", "50 %", "99 %", "over 99 %", "100 %"]);
}

#[test]
fn numbers_keep_three_digits() {
    let shown: Vec<String> =
        [0, 999, 1000, 12_345, 999_499, 999_500, 12_025_908_428_800].map(bytes).to_vec();
    assert_eq!(shown, ["0 B", "999 B", "1.00 kB", "12.3 kB", "999 kB", "1.00 MB", "12.0 TB"]);
    assert_eq!([0.0, 0.014, 0.5].map(percent), ["0 %", "1.4 %", "50 %"]);
}
