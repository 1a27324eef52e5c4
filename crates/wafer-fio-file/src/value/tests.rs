use super::*;

#[test]
fn byte_units_in_both_bases() {
    for (text, in_1024, in_1000) in [
        ("0", 0, 0),
        ("4096", 4096, 4096),
        ("4096B", 4096, 4096),
        ("0x1000", 4096, 4096),
        ("4k", 4096, 4000),
        ("4K", 4096, 4000),
        ("4kB", 4096, 4000),
        ("4ki", 4096, 4000),
        ("4KiB", 4000, 4096),
        ("1m", 1 << 20, 1_000_000),
        ("1GiB", 1_000_000_000, 1 << 30),
        ("2t", 2 << 40, 2_000_000_000_000),
        ("3PB", 3 << 50, 3_000_000_000_000_000),
        ("(3*4k)", 12288, 12288),
    ] {
        assert_eq!(size(text, 1024), Ok(in_1024), "{text}");
        assert_eq!(size(text, 1000), Ok(in_1000), "{text}");
    }
}

#[test]
fn what_fio_would_misread_is_an_error() {
    for text in [
        "",
        "q",
        "4q",
        "1.5m",
        "4kk",
        "4 k",
        " 4k",
        "-4k",
        "50%",
        "3z",
        "0x",
        "0x4k",
        "9999999999g",
        "18446744073709551616",
        "99999999999999999999999999999999999999999999",
        "(",
        "(1/0)",
    ] {
        assert!(size(text, 1024).is_err(), "{text}");
    }
    assert_eq!(size(" 4096", 1024), Ok(4096));
}

#[test]
fn times() {
    for (text, us) in [
        ("10", 10_000_000),
        ("10s", 10_000_000),
        ("250ms", 250_000),
        ("7usec", 7),
        ("2m", 120_000_000),
        ("1H", 3_600_000_000),
        ("1d", 86_400_000_000),
        ("(2*30)", 60_000_000),
        ("(2*30m)", 3_600_000_000),
    ] {
        assert_eq!(time_us(text, true), Ok(us), "{text}");
    }
    assert_eq!(time_us("10", false), Ok(10));
    for text in ["10sec", "1h30m", "1min", "-5", "", "1.5s"] {
        assert!(time_us(text, true).is_err(), "{text}");
    }
}

#[test]
fn per_direction_lists_fill_as_fio_fills() {
    let read = |text| per_direction(text, NUMBERS, |t| size(t, 1024));
    assert_eq!(read("4k"), Ok([Some(4096); 3]));
    assert_eq!(read("4k,8k"), Ok([Some(4096), Some(8192), Some(8192)]));
    assert_eq!(read("4k,8k,16k"), Ok([Some(4096), Some(8192), Some(16384)]));
    assert_eq!(read("4k:8k"), Ok([Some(4096), Some(8192), Some(8192)]));
    assert_eq!(read("4k-8k"), Ok([Some(4096), Some(8192), Some(8192)]));
    assert_eq!(read(",8k"), Ok([None, Some(8192), Some(8192)]));
    assert_eq!(read("8k,"), Ok([Some(8192), None, None]));
    assert_eq!(read("(8k-4k)"), Ok([Some(4096); 3]));
    assert!(read("").is_err());
    assert!(read(",,").is_err());
    assert!(read("1,2,3,4").is_err());
}

#[test]
fn ranges_may_be_backwards() {
    let read = |text| range(text, |t| size(t, 1024));
    assert_eq!(read("4k-64k"), Ok((4096, 65536)));
    assert_eq!(read("64k:4k"), Ok((4096, 65536)));
    assert!(read("4k").is_err());
    assert!(read("4k-").is_err());
    assert!(read("1-2-3").is_err());
    assert_eq!(value_or_range("7", |t| size(t, 1024)), Ok((7, 7)));
}
