//! Fields of lines: parses numbers and times from bytes.

use atoi::FromRadix10Checked as _;

/// Reads a whole field as an unsigned number.
#[inline]
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    let (value, used) = u64::from_radix_10_checked(field);
    (used == field.len() && used > 0).then_some(value?)
}

/// Like [`number`], ignoring blanks at both ends.
#[inline]
pub(crate) fn padded(field: &[u8]) -> Option<u64> {
    // The common case first: hardly any file has blanks.
    number(field).or_else(|| number(field.trim_ascii()))
}

/// Reads a time in units of `nanos` nanoseconds, with or without a fraction, and returns nanoseconds.
/// Whole numbers wrap: some formats count from 1601.
#[inline]
pub(crate) fn time(field: &[u8], nanos: u64) -> Option<u64> {
    if let Some(whole) = number(field) {
        return Some(whole.wrapping_mul(nanos));
    }
    let (whole, part) = decimal(field.trim_ascii(), nanos)?;
    Some(whole.wrapping_mul(nanos).wrapping_add(part))
}

/// Reads seconds with or without a fraction as nanoseconds: `0.551706`, `12`, `1538323199.5`.
#[inline]
pub(crate) fn seconds(field: &[u8]) -> Option<u64> {
    let (whole, part) = decimal(field.trim_ascii(), 1_000_000_000)?;
    whole.checked_mul(1_000_000_000)?.checked_add(part)
}

/// Reads a decimal number: its whole part, and its fraction in parts of `unit`, at most 10^9.
#[inline]
fn decimal(field: &[u8], unit: u64) -> Option<(u64, u64)> {
    let Some(dot) = memchr::memchr(b'.', field) else { return Some((number(field)?, 0)) };
    let rest = &field[dot + 1..];
    if !rest.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits = &rest[..rest.len().min(9)];
    let part = if digits.is_empty() { 0 } else { number(digits)? };
    Some((number(&field[..dot])?, part * unit / 10u64.pow(digits.len() as u32)))
}

/// Splits a line at `separator` into up to `N` fields, and returns how many it has.
#[inline]
pub(crate) fn split<const N: usize>(line: &[u8], separator: u8) -> ([&[u8]; N], usize) {
    let mut at = 0;
    let ends = memchr::memchr_iter(separator, line).chain(std::iter::once(line.len()));
    first(ends.map(|end| {
        let field = &line[at..end];
        at = end + 1;
        field
    }))
}

/// Splits a line at blanks into up to `N` fields, and returns how many it has.
#[inline]
pub(crate) fn words<const N: usize>(line: &[u8]) -> ([&[u8]; N], usize) {
    first(line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()))
}

/// Returns the first `N` items, and the total number of items.
#[inline]
fn first<'a, const N: usize>(items: impl Iterator<Item = &'a [u8]>) -> ([&'a [u8]; N], usize) {
    let mut fields = [&[][..]; N];
    let mut count = 0;
    for item in items {
        if let Some(field) = fields.get_mut(count) {
            *field = item;
        }
        count += 1;
    }
    (fields, count)
}

/// The comma-separated fields of a line, without surrounding blanks.
pub(crate) struct Columns<'a> {
    fields: [&'a [u8]; 16],
    count: usize,
}

impl<'a> Columns<'a> {
    /// Splits a line; ignores fields after the sixteenth.
    pub(crate) fn of(line: &'a [u8]) -> Self {
        let (fields, count) = split(line, b',');
        Columns { fields: fields.map(<[u8]>::trim_ascii), count }
    }

    /// Returns a field; empty if the line is too short.
    pub(crate) fn get(&self, column: usize) -> &'a [u8] {
        self.fields.get(column).copied().unwrap_or_default()
    }

    /// Returns the first field of a header line with one of these names.
    pub(crate) fn find(&self, names: &[&str]) -> Option<usize> {
        let fields = &self.fields[..self.count.min(self.fields.len())];
        fields.iter().position(|f| names.iter().any(|n| f.eq_ignore_ascii_case(n.as_bytes())))
    }
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
