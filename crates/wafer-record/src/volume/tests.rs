use super::*;

#[test]
fn volumes_round_trip() {
    for text in ["5x", "2.5x", "2TiB", "100B"] {
        assert_eq!(text.parse::<Volume>().unwrap().to_string(), text);
    }
    assert_eq!("2.5x".parse::<Volume>().unwrap().bytes(1 << 30), 5 << 29);
    assert_eq!("1000B".parse::<Volume>().unwrap().bytes(1 << 30), 512);
}

#[test]
fn nonsense_is_an_error() {
    for text in ["", "x", "0x", "-1x", "nanx", "infx", "0", "-5", "5y", "1e300x"] {
        assert!(text.parse::<Volume>().is_err(), "{text}");
    }
}

#[test]
fn a_number_without_a_unit_is_refused_with_both_spellings() {
    for text in ["8", "2.5", " 8 "] {
        let error = text.parse::<Volume>().unwrap_err();
        let number = text.trim();
        assert!(error.contains(&format!("{number}x")), "{error}");
        assert!(error.contains(&format!("{number}GiB")), "{error}");
    }
}
