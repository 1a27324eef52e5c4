use super::*;

#[test]
fn a_message_is_one_short_line_whatever_it_quotes() {
    let at = Origin { file: Path::new("a\nb.fio").into(), line: 3 };
    let text = FioError::option(&at, "b\r\ns", quote(&"x\n\u{2028}\0".repeat(1000))).to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.len() < 300, "{text}");
    assert!(text.starts_with("a\\nb.fio:3: b\\r\\ns: `x\\n"), "{text}");
}
