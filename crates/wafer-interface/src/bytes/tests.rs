use super::*;

#[test]
fn sizes_round_trip() {
    for text in ["448GiB", "3841GB", "4KiB", "1MiB", "7TiB", "512B", "0B"] {
        assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
    }
    assert_eq!("3.84TB".parse(), Ok(Bytes(3_840_000_000_000)));
    assert_eq!("1_000".parse(), Ok(Bytes(1000)));
    assert_eq!("4kib".parse(), Ok(Bytes(4096)));
}

#[test]
fn nonsense_is_an_error() {
    for text in ["", "GiB", "4XB", "-1", "1e9GiB", "99999999999TiB", "1.2.3MiB", "512Gb", "6 Mib"] {
        assert!(text.parse::<Bytes>().is_err(), "{text}");
    }
    let bits = "`512Gb` is not a size in bytes but in bits; write a number with";
    assert!("512Gb".parse::<Bytes>().unwrap_err().to_string().starts_with(bits));
    for text in ["Ab", "1 Tab", "x"] {
        let message = text.parse::<Bytes>().unwrap_err().to_string();
        assert!(message.starts_with(&format!("`{text}` is not a size; write")), "{message}");
    }
}
