//! Options that list shares: `bssplit` and `random_distribution`.

use super::error::quote;
use super::value;
use wafer_fio::job::{DIRECTIONS, Distribution, READ, TRIM, WRITE};

/// fio's table sizes.
const BSSPLIT_MAX: usize = 64;
const ZONES_MAX: usize = 256;
/// fio's defaults when the value is omitted.
const ZIPF_THETA: f64 = 1.1;
const PARETO_H: f64 = 0.2;
/// With larger exponents every draw is the same block, and zeta(theta) is no longer above 1.
const ZIPF_MOST: f64 = 50.0;

/// Sizes and percentages; empty if the direction is not mentioned.
pub(super) type Split = Vec<(u64, f64)>;

/// Splits a list by direction. Without a comma, one part is for all; with one, the second is for writes and trims.
fn directions(text: &str) -> Result<[&str; DIRECTIONS], String> {
    let parts: Vec<_> = text.split(',').collect();
    match parts[..] {
        [all] => Ok([all; DIRECTIONS]),
        [read, write] => Ok([read, write, write]),
        [read, write, trim] => Ok([read, write, trim]),
        _ => Err(format!("{} has more than {DIRECTIONS} values", quote(text))),
    }
}

/// Reads `first/second:first/second...`; an entry whose second part is missing or empty has `None` there.
fn entries(text: &str, max: usize) -> Result<Vec<(&str, Option<&str>)>, String> {
    let mut list: Vec<_> = text.split(':').collect();
    // A trailing `:` ends the list.
    if list.last() == Some(&"") {
        list.pop();
    }
    if list.len() > max {
        return Err(format!("has more than {max} entries"));
    }
    list.into_iter()
        .map(|entry| {
            if entry.is_empty() {
                return Err(format!("{} has an empty entry", quote(text)));
            }
            Ok(match entry.split_once('/') {
                Some((first, second)) => (first, Some(second).filter(|s| !s.is_empty())),
                None => (entry, None),
            })
        })
        .collect()
}

fn share(text: Option<&str>) -> Result<Option<u32>, String> {
    let Some(text) = text else { return Ok(None) };
    let percent = text
        .parse::<u32>()
        .ok()
        .filter(|&p| p <= 100)
        .ok_or_else(|| format!("{} is not a percentage", quote(text)))?;
    // fio treats 0 as "not given".
    Ok(Some(percent).filter(|&p| p > 0))
}

/// Gives entries without a share equal parts of what the others leave, in integers as fio does.
fn fill(shares: &[Option<u32>]) -> Result<Vec<u32>, String> {
    let given: u32 = shares.iter().flatten().sum();
    if given > 100 {
        return Err(format!("percentages add up to {given}, more than 100"));
    }
    let missing = shares.iter().filter(|s| s.is_none()).count() as u32;
    let part = (100 - given).checked_div(missing).unwrap_or(0);
    Ok(shares.iter().map(|s| s.unwrap_or(part)).collect())
}

/// Reads `bssplit`: for each direction, sizes and percentages that add up to 100.
pub(super) fn bssplit(text: &str, kb_base: u64) -> Result<[Split; DIRECTIONS], String> {
    let parts = directions(text.trim())?;
    let mut all = [Split::new(), Split::new(), Split::new()];
    for (out, part) in all.iter_mut().zip(parts) {
        *out = bssplit_of(part, kb_base)?;
    }
    if all.iter().all(Vec::is_empty) {
        return Err("needs sizes and percentages".into());
    }
    Ok(all)
}

fn bssplit_of(text: &str, kb_base: u64) -> Result<Split, String> {
    let entries = entries(text, BSSPLIT_MAX)?;
    let mut sizes = Vec::with_capacity(entries.len());
    let mut shares = Vec::with_capacity(entries.len());
    for (size, percent) in entries {
        sizes.push(value::size_above_zero(size, kb_base)?);
        shares.push(share(percent)?);
    }
    let mut shares = fill(&shares)?;
    // fio sorts by percentage and ends its search at the last entry, so what is missing to 100 goes to the largest
    // share.
    let rest = 100u32.saturating_sub(shares.iter().sum());
    let largest = shares.iter().enumerate().max_by_key(|&(i, &s)| (s, i)).map(|(i, _)| i);
    if let Some(largest) = largest {
        shares[largest] += rest;
    }
    // A size without a share would become fio's smallest block, and fio never ends where only that still fits.
    let pairs = sizes.into_iter().zip(shares);
    Ok(pairs.filter(|&(_, share)| share > 0).map(|(size, s)| (size, f64::from(s))).collect())
}

/// Reads `random_distribution` for each direction. Only `zoned` and `zoned_abs` can differ between directions.
pub(super) fn random_distribution(
    text: &str,
    kb_base: u64,
) -> Result<[Distribution; DIRECTIONS], String> {
    let (kind, rest) = match text.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (text, None),
    };
    let one = match kind {
        "random" => Distribution::Uniform,
        "zipf" => {
            let (theta, center) = parameters(rest, ZIPF_THETA)?;
            if theta == 1.0 {
                return Err("zipf theta must differ from 1".into());
            }
            if !(0.0..=ZIPF_MOST).contains(&theta) {
                return Err(format!("zipf theta must be between 0 and {ZIPF_MOST}"));
            }
            // Exponent 0 gives every block the same weight.
            if theta == 0.0 { Distribution::Uniform } else { Distribution::Zipf { theta, center } }
        }
        "pareto" => {
            let (h, center) = parameters(rest, PARETO_H)?;
            if h <= 0.0 || h >= 1.0 {
                return Err("pareto input must be between 0 and 1".into());
            }
            Distribution::Pareto { h, center }
        }
        "normal" => {
            let (deviation, center) = parameters(rest, 0.0)?;
            if !(0.0..100.0).contains(&deviation) {
                return Err("normal deviation must be at least 0 and below 100".into());
            }
            Distribution::Normal { deviation, center }
        }
        "zoned" | "zoned_abs" => {
            let Some(rest) = rest else {
                return Err(format!("{kind} needs zones, as in `{kind}:80/20:20/80`"));
            };
            return zoned(rest.trim(), kind == "zoned_abs", kb_base);
        }
        "sequence" => return Err("`sequence` is not supported".into()),
        _ => {
            let names = "random, zipf, pareto, normal, zoned, zoned_abs";
            return Err(format!("{} is not one of {names}", quote(kind)));
        }
    };
    Ok([one.clone(), one.clone(), one])
}

/// Reads `value[:center]`.
fn parameters(text: Option<&str>, default: f64) -> Result<(f64, Option<f64>), String> {
    let Some(text) = text else { return Ok((default, None)) };
    let (text, center) = match text.split_once(':') {
        Some((text, center)) => (text, Some(value::float(center)?)),
        None => (text, None),
    };
    // fio marks "no center" with -1, and so may the file.
    let center = center.filter(|&c| c != -1.0);
    if let Some(outside) = center.filter(|c| !(0.0..=1.0).contains(c)) {
        return Err(format!("center {outside} is not between 0 and 1"));
    }
    Ok((value::float(text)?, center))
}

fn zoned(text: &str, absolute: bool, kb_base: u64) -> Result<[Distribution; DIRECTIONS], String> {
    let parts = directions(text)?;
    let read = |part| zones(part, absolute, kb_base);
    let all = [read(parts[READ])?, read(parts[WRITE])?, read(parts[TRIM])?];
    if all.iter().all(|d| *d == Distribution::Uniform) {
        return Err("needs zones, as in `80/20:20/80`".into());
    }
    Ok(all)
}

/// Reads the zones of one direction; a direction without zones is uniform.
fn zones(text: &str, absolute: bool, kb_base: u64) -> Result<Distribution, String> {
    let entries = entries(text, ZONES_MAX)?;
    if entries.is_empty() {
        return Ok(Distribution::Uniform);
    }
    let mut access = Vec::with_capacity(entries.len());
    for (percent, _) in &entries {
        access.push(value::percent(percent, kb_base)?);
    }
    let total: u32 = access.iter().map(|&a| u32::from(a)).sum();
    if total != 100 {
        return Err(format!("access percentages add up to {total}, not 100"));
    }
    let access = access.into_iter().map(f64::from);
    if absolute {
        let mut sizes = Vec::with_capacity(entries.len());
        let mut sum = 0u64;
        for (_, size) in &entries {
            let Some(size) = size else { return Err("every zone needs a size".into()) };
            let size = value::size(size, kb_base)?;
            sum = sum.checked_add(size).ok_or("sizes add up to too much")?;
            sizes.push(size);
        }
        let zones: Vec<_> = access.zip(sizes).collect();
        if zones.iter().any(|&(a, size)| a > 0.0 && size == 0) {
            return Err("a zone that is accessed has no size".into());
        }
        return Ok(Distribution::ZonedAbs(zones));
    }
    let shares = entries.iter().map(|(_, size)| share(*size)).collect::<Result<Vec<_>, _>>()?;
    let shares = fill(&shares)?;
    let rest = 100u32.saturating_sub(shares.iter().sum());
    let mut zones: Vec<_> = access.zip(shares.into_iter().map(f64::from)).collect();
    if zones.iter().any(|&(a, size)| a > 0.0 && size == 0.0) {
        return Err("a zone that is accessed has no size".into());
    }
    if rest > 0 {
        // The end of the region, which no zone covers, is never accessed.
        zones.push((0.0, f64::from(rest)));
    }
    Ok(Distribution::Zoned(zones))
}

#[cfg(test)]
mod tests;
