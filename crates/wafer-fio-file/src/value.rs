//! Values of options: sizes, times, numbers, lists. Errors are the text that follows `option: `.
//!
//! Units follow fio's code, which differs from its manual: `4ki` is `4k`, and only `kib` is in the other base. With
//! `kb_base=1024` (the default) `k` is 1024 and `kib` 1000; with `kb_base=1000` `k` is 1000 and `kib` 1024. fio skips
//! text after a number that it does not understand (`4q` is 4, `1.5m` is 1, `60sec` is 60 microseconds, `bs = 4k` with
//! a blank is 4); here, that is an error.

use super::error::quote;
use super::expr;
use wafer_fio::job::DIRECTIONS;

/// Maximum number of an option: fio parses signed 64-bit integers.
const MAX: i128 = i64::MAX as i128;

/// A size that may be relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percentage, 0-100, of what the option refers to.
    Percent(u64),
}

impl Default for Amount {
    fn default() -> Self {
        Amount::Bytes(0)
    }
}

/// A number as read, with the text after its digits.
struct Number<'a> {
    value: i128,
    suffix: &'a str,
    /// A blank before the digits makes fio skip the unit.
    blank: bool,
}

fn digits<'a>(text: &'a str, what: &str) -> Result<Number<'a>, String> {
    let not = || not_a(text, what);
    let body = text.trim_start();
    let blank = body.len() != text.len();
    let (negative, body) = match body.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix('+').unwrap_or(body)),
    };
    let hex = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X"));
    let (digits, radix) = match hex {
        Some(hex) => (hex, 16),
        None => (body, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    if digits.is_empty() || (radix == 16 && !suffix.is_empty()) {
        return Err(not());
    }
    let value = i128::from_str_radix(digits, radix).map_err(|_| too_large(text))?;
    let value = if negative { -value } else { value };
    if blank && !suffix.is_empty() {
        return Err(format!("{} starts with a blank: fio would skip the unit", quote(text)));
    }
    Ok(Number { value, suffix, blank })
}

fn not_a(text: &str, what: &str) -> String {
    if text.is_empty() {
        format!("needs {what} as its value")
    } else {
        format!("{} is not {what}", quote(text))
    }
}

fn too_large(text: &str) -> String {
    format!("{} is too large", quote(text))
}

fn in_range(value: Option<i128>, text: &str) -> Result<i64, String> {
    match value {
        Some(v) if v.abs() <= MAX => i64::try_from(v).map_err(|_| too_large(text)),
        _ => Err(too_large(text)),
    }
}

/// Returns the factor of a byte unit.
fn unit(suffix: &str, kb_base: u64) -> Option<i128> {
    let lower = suffix.to_ascii_lowercase();
    if lower.is_empty() || lower == "b" {
        return Some(1);
    }
    let mut chars = lower.chars();
    let power = match chars.next()? {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        'p' => 5,
        _ => return None,
    };
    let other = if kb_base == 1000 { 1024 } else { 1000 };
    let base = match chars.as_str() {
        "" | "b" | "i" => kb_base,
        "ib" => other,
        _ => return None,
    };
    Some(i128::from(base).pow(power))
}

/// Reads a number, possibly negative, with an optional unit `k`, `m`, ...
pub(super) fn signed(text: &str, kb_base: u64, what: &str) -> Result<i64, String> {
    if text.starts_with('(') {
        let (value, _) = expr::evaluate(text, false).ok_or_else(|| not_a(text, "an expression"))?;
        return in_range(value.truncate(), text);
    }
    let number = digits(text, what)?;
    let Some(factor) = unit(number.suffix, kb_base) else {
        return Err(match number.suffix {
            "%" => format!("{} may not be in percent", quote(text)),
            "z" => format!("{}: sizes in zones are not supported", quote(text)),
            _ => not_a(text, what),
        });
    };
    in_range(number.value.checked_mul(factor), text)
}

/// Like [`signed`], but not negative.
pub(super) fn unsigned(text: &str, kb_base: u64, what: &str) -> Result<u64, String> {
    let value = signed(text, kb_base, what)?;
    u64::try_from(value).map_err(|_| format!("{} is negative", quote(text)))
}

/// Reads a number that is not negative.
pub(super) fn number(text: &str, kb_base: u64) -> Result<u64, String> {
    unsigned(text, kb_base, "a number")
}

/// Reads a number of bytes.
pub(super) fn size(text: &str, kb_base: u64) -> Result<u64, String> {
    unsigned(text, kb_base, "a size")
}

/// Reads a number of bytes above zero.
pub(super) fn size_above_zero(text: &str, kb_base: u64) -> Result<u64, String> {
    match size(text, kb_base)? {
        0 => Err("must be at least 1".into()),
        v => Ok(v),
    }
}

/// Reads a number of bytes or a percentage.
pub(super) fn amount(text: &str, kb_base: u64) -> Result<Amount, String> {
    if !text.starts_with('(') {
        let number = digits(text, "a size")?;
        if number.suffix == "%" && !number.blank {
            return match u64::try_from(number.value) {
                Ok(percent) if percent <= 100 => Ok(Amount::Percent(percent)),
                _ => Err(format!("{} is not between 0% and 100%", quote(text))),
            };
        }
    }
    Ok(Amount::Bytes(size(text, kb_base)?))
}

/// Reads a number within bounds.
pub(super) fn integer(text: &str, kb_base: u64, min: u32, max: u32) -> Result<u32, String> {
    let value = unsigned(text, kb_base, "a number")?;
    if value < u64::from(min) {
        return Err(format!("must be at least {min}"));
    }
    match u32::try_from(value) {
        Ok(v) if v <= max => Ok(v),
        _ => Err(format!("must be at most {max}")),
    }
}

/// Reads a 32-bit number.
pub(super) fn count(text: &str, kb_base: u64) -> Result<u32, String> {
    integer(text, kb_base, 0, u32::MAX)
}

/// Reads a percentage without the sign.
pub(super) fn percent(text: &str, kb_base: u64) -> Result<u8, String> {
    let value = integer(text, kb_base, 0, 100)?;
    u8::try_from(value).map_err(|_| "must be at most 100".into())
}

/// Reads a percentage that may have a fraction.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.trim().parse().map_err(|_| not_a(text, "a percentage"))?;
    if (0.0..=100.0).contains(&share) { Ok(share) } else { Err("must be from 0 to 100".into()) }
}

/// Reads a time in microseconds. Without a unit it is in seconds if `seconds`, else in microseconds.
pub(super) fn time_us(text: &str, seconds: bool) -> Result<u64, String> {
    let default: i128 = if seconds { 1_000_000 } else { 1 };
    let value = if text.starts_with('(') {
        let (value, units) =
            expr::evaluate(text, true).ok_or_else(|| not_a(text, "an expression"))?;
        let value = match (units, value) {
            (true, value) => value.truncate(),
            (false, expr::Number::Int(v)) => v.checked_mul(default),
            (false, expr::Number::Float(v)) => expr::Number::Float(v * default as f64).truncate(),
        };
        // fio stores these options in whole seconds.
        if seconds { value.map(|v| v / default * default) } else { value }
    } else {
        let number = digits(text, "a time")?;
        let lower = number.suffix.to_ascii_lowercase();
        let factor = match lower.as_str() {
            "" => default,
            "us" | "usec" => 1,
            "ms" | "msec" => 1_000,
            "s" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            _ => return Err(format!("{} (us, ms, s, m, h, d)", not_a(text, "a time"))),
        };
        number.value.checked_mul(factor)
    };
    let value = in_range(value, text)?;
    u64::try_from(value).map_err(|_| format!("{} is negative", quote(text)))
}

/// Reads `0` or `1`.
pub(super) fn boolean(text: &str) -> Result<bool, String> {
    match text.trim_start() {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(not_a(text, "0 or 1")),
    }
}

/// Reads an option that is set by its name alone or by a number.
pub(super) fn flag(value: Option<&str>) -> Result<bool, String> {
    match value {
        None => Ok(true),
        Some(text) => Ok(integer(text, 1024, 0, u32::MAX).map_err(|_| not_a(text, "0 or 1"))? != 0),
    }
}

/// Reads a floating point number or an expression.
pub(super) fn float(text: &str) -> Result<f64, String> {
    let value = if text.starts_with('(') {
        expr::evaluate(text, false).map(|(v, _)| v.as_f64())
    } else {
        text.trim().parse().ok().filter(|v: &f64| v.is_finite())
    };
    value.ok_or_else(|| not_a(text, "a number"))
}

/// Reads one of several words.
pub(super) fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    match words.iter().find(|(word, _)| *word == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            let blank = if text.starts_with(' ') { " (fio takes no blank after `=`)" } else { "" };
            Err(format!("{}{blank}", not_a(text, &format!("one of {}", all.join(", ")))))
        }
    }
}

/// Splits at the first of `separators` that the text contains outside parentheses. A `-` at the start is a sign.
fn split<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut rest = text;
    'next: loop {
        for &separator in separators {
            let mut depth = 0i32;
            for (at, c) in rest.char_indices() {
                match c {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    c if c == separator && depth <= 0 && !(c == '-' && at == 0) => {
                        parts.push(&rest[..at]);
                        rest = &rest[at + 1..];
                        continue 'next;
                    }
                    _ => {}
                }
            }
        }
        parts.push(rest);
        return parts;
    }
}

/// Reads values for reads, writes and trims as fio does: one value is for all; of two, the second is for writes and
/// trims; an empty value leaves its direction unchanged (`,8k`; `8k,`). Directions that the list does not mention are
/// `None`.
pub(super) fn per_direction<T: Copy>(
    text: &str,
    separators: &[char],
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<[Option<T>; DIRECTIONS], String> {
    let parts = split(text, separators);
    if parts.len() > DIRECTIONS {
        return Err(format!("{} has more than {DIRECTIONS} values", quote(text)));
    }
    let mut values = [None; DIRECTIONS];
    for (i, part) in parts.iter().enumerate() {
        if part.is_empty() {
            continue;
        }
        let value = Some(parse(part)?);
        values[i] = value;
        if i + 1 == parts.len() {
            values[i..].fill(value);
        }
    }
    if values.iter().all(Option::is_none) {
        parse("")?;
    }
    Ok(values)
}

/// Separators of per-direction lists of plain numbers, in the order in which fio tries them.
pub(super) const NUMBERS: &[char] = &[',', ':', '-'];
/// Separator of ranges and other values that themselves contain `:` or `-`.
pub(super) const COMMA: &[char] = &[','];

/// Reads `low-high` or `low:high`, in either order.
pub(super) fn range<T: Ord>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(T, T), String> {
    let parts = match split(text, &['-']).len() {
        1 => split(text, &[':']),
        _ => split(text, &['-']),
    };
    let [low, high] = parts[..] else {
        return Err(not_a(text, "a range"));
    };
    let (low, high) = (parse(low)?, parse(high)?);
    Ok(if low <= high { (low, high) } else { (high, low) })
}

/// Reads one value or a range; one value is both bounds.
pub(super) fn value_or_range<T: Ord + Clone>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<(T, T), String> {
    if split(text, &['-']).len() == 1 && split(text, &[':']).len() == 1 {
        let value = parse(text)?;
        return Ok((value.clone(), value));
    }
    range(text, parse)
}

#[cfg(test)]
mod tests;
