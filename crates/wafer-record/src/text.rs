//! Numbers in sentences and tables, and text that is safe to show.

use std::borrow::Cow;

use serde::Serialize;
use wafer_interface::Bytes;

/// Reports whether a character acts on a terminal instead of being shown: C0, DEL and C1, line separators, and
/// characters that change the direction of the text around them.
fn acts(c: char) -> bool {
    let direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || direction || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Escapes every character that would act on a terminal, for example as `\u{1b}` or `\n`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match acts(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns a value as indented JSON that ends with a line feed and has no other character that acts on a terminal.
///
/// # Errors
/// The value cannot be represented in JSON, such as a map whose keys are not text.
pub fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(escaped(serde_json::to_string_pretty(value)? + "\n"))
}

/// Like [`json`], but on one line.
///
/// # Errors
/// Like [`json`].
pub fn json_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(escaped(serde_json::to_string(value)? + "\n"))
}

/// Escapes characters that JSON and TOML allow but terminals act on. DEL, C1 and the like occur only in strings.
pub fn escaped(json: String) -> String {
    let foreign = |c: char| c != '\n' && acts(c);
    if !json.contains(foreign) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match foreign(c) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

/// Formats a count of things; `thing` is the singular: `1 run`, `2 runs`.
pub fn count(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Formats bytes with three digits and a decimal unit.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            return rounded(value, unit);
        }
        value /= 1000.0;
    }
    rounded(value, "PB")
}

fn rounded(value: f64, unit: &str) -> String {
    let decimals = match value {
        _ if unit == "B" => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// Formats a configured size for a sentence: `64 KiB` for `64KiB`.
pub(crate) fn power(size: Bytes) -> String {
    let text = size.to_string();
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}

/// Formats a share as a percentage, with a decimal below 10 %. Only the whole is 100 %.
pub fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0995 {
        format!("{:.1} %", 100.0 * share)
    } else if (0.995..1.0).contains(&share) {
        "over 99 %".to_owned()
    } else {
        format!("{:.0} %", 100.0 * share)
    }
}

/// Returns `part / of`; 0 if `of` is 0.
pub(crate) fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

#[cfg(test)]
mod tests;
