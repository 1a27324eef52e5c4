//! Fields of lines: numbers and times as bytes.

use atoi::FromRadix10Checked as _;

/// A whole field as an unsigned number.
#[inline]
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    let (value, used) = u64::from_radix_10_checked(field);
    (used == field.len() && used > 0).then_some(value?)
}

/// As [`number`], with blanks at both ends left out.
#[inline]
pub(crate) fn padded(field: &[u8]) -> Option<u64> {
    // Hardly a file has any: the common case first.
    number(field).or_else(|| number(field.trim_ascii()))
}

/// A time in units of `nanos` nanoseconds, with or without a fraction, as nanoseconds. Whole numbers
/// wrap: some formats count from 1601.
#[inline]
pub(crate) fn time(field: &[u8], nanos: u64) -> Option<u64> {
    match number(field) {
        Some(whole) => Some(whole.wrapping_mul(nanos)),
        None => fraction(field.trim_ascii(), nanos),
    }
}

#[cold]
fn fraction(field: &[u8], nanos: u64) -> Option<u64> {
    let (whole, rest) = match memchr::memchr(b'.', field) {
        None => (field, &[][..]),
        Some(dot) => (&field[..dot], &field[dot + 1..]),
    };
    if !rest.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = &rest[..rest.len().min(9)];
    let part = if digits.is_empty() { 0 } else { number(digits)? };
    let part = u128::from(part) * u128::from(nanos) / 10u128.pow(digits.len() as u32);
    Some(number(whole)?.wrapping_mul(nanos).wrapping_add(part as u64))
}

/// Seconds with a fraction, as nanoseconds: `0.551706`, `12`, `1538323199.5`.
#[inline]
pub(crate) fn seconds(field: &[u8]) -> Option<u64> {
    let field = field.trim_ascii();
    let (whole, rest) = match memchr::memchr(b'.', field) {
        None => (number(field)?, &[][..]),
        Some(dot) => (number(&field[..dot])?, &field[dot + 1..]),
    };
    let nanos = if rest.is_empty() {
        0
    } else {
        let digits = &rest[..rest.len().min(9)];
        if !rest.iter().all(u8::is_ascii_digit) {
            return None;
        }
        number(digits)? * 10u64.pow(9 - digits.len() as u32)
    };
    whole.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// The fields of a line that is cut at `separator`, up to `N` of them, and how many there are.
#[inline]
pub(crate) fn split<const N: usize>(line: &[u8], separator: u8) -> ([&[u8]; N], usize) {
    let mut fields = [&[][..]; N];
    let mut count = 0;
    let mut at = 0;
    loop {
        let end = memchr::memchr(separator, &line[at..]).map_or(line.len(), |n| at + n);
        if count < N {
            fields[count] = &line[at..end];
        }
        count += 1;
        if end == line.len() {
            return (fields, count);
        }
        at = end + 1;
    }
}

/// The fields of a line that is cut at blanks.
#[inline]
pub(crate) fn words<const N: usize>(line: &[u8]) -> ([&[u8]; N], usize) {
    let mut fields = [&[][..]; N];
    let mut count = 0;
    for word in line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()) {
        if count < N {
            fields[count] = word;
        }
        count += 1;
    }
    (fields, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_whole_fields() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"-1", b"1x", b" 1", b"18446744073709551616", b"0x10"] {
            assert_eq!(number(bad), None);
        }
        assert_eq!(padded(b" 7 "), Some(7));
    }

    #[test]
    fn seconds_keep_nanoseconds() {
        assert_eq!(seconds(b"0.551706"), Some(551_706_000));
        assert_eq!(seconds(b"12"), Some(12_000_000_000));
        assert_eq!(seconds(b"3."), Some(3_000_000_000));
        assert_eq!(seconds(b"1.0000000019"), Some(1_000_000_001));
        for bad in [&b"."[..], b"1.x", b"1.2.3", b"-1.0", b"99999999999999999999.0"] {
            assert_eq!(seconds(bad), None);
        }
    }
}
