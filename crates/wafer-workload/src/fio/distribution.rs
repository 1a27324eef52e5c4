//! Options made of shares: `bssplit` and `random_distribution`.

use super::error::quote;
use super::value;
use crate::job::{DIRECTIONS, Distribution, READ, TRIM, WRITE};

/// fio's table sizes.
const BSSPLIT_MAX: usize = 64;
const ZONES_MAX: usize = 256;
/// fio's defaults when the value is left out.
const ZIPF_THETA: f64 = 1.1;
const PARETO_H: f64 = 0.2;

/// Sizes and percents; empty: the direction is not mentioned.
pub(super) type Split = Vec<(u64, f64)>;

/// The parts of a list per direction. Without a comma one part is for all; with one, the second
/// is for writes and trims.
fn directions(text: &str) -> Result<[&str; DIRECTIONS], String> {
    let parts: Vec<_> = text.split(',').collect();
    match parts[..] {
        [all] => Ok([all; DIRECTIONS]),
        [read, write] => Ok([read, write, write]),
        [read, write, trim] => Ok([read, write, trim]),
        _ => Err(format!("{} has more than {DIRECTIONS} values", quote(text))),
    }
}

/// `first/second:first/second...`; an entry without its second part, with an empty one or with 0 is
/// `None` there.
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
    // fio takes 0 for "not given".
    Ok(Some(percent).filter(|&p| p > 0))
}

/// Gives entries without a share equal parts of what the others leave. fio divides in integers.
fn fill(shares: &[Option<u32>]) -> Result<Vec<u32>, String> {
    let given: u32 = shares.iter().flatten().sum();
    if given > 100 {
        return Err(format!("percentages add up to {given}, more than 100"));
    }
    let missing = shares.iter().filter(|s| s.is_none()).count() as u32;
    let part = (100 - given).checked_div(missing).unwrap_or(0);
    Ok(shares.iter().map(|s| s.unwrap_or(part)).collect())
}

/// `bssplit`: per direction sizes and percents that add up to 100.
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
    // fio sorts by percent and ends its search at the last entry: what is missing to 100 goes
    // to the largest.
    let rest = 100u32.saturating_sub(shares.iter().sum());
    let largest = shares.iter().enumerate().max_by_key(|&(i, &s)| (s, i)).map(|(i, _)| i);
    if let Some(largest) = largest {
        shares[largest] += rest;
    }
    let pairs = sizes.into_iter().zip(shares);
    Ok(pairs.filter(|&(_, share)| share > 0).map(|(size, s)| (size, f64::from(s))).collect())
}

/// `random_distribution`, per direction. Only `zoned` and `zoned_abs` differ between directions.
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
            if theta < 0.0 {
                return Err("zipf theta must not be negative".into());
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

/// `value[:center]`.
fn parameters(text: Option<&str>, default: f64) -> Result<(f64, Option<f64>), String> {
    let Some(text) = text else { return Ok((default, None)) };
    let (text, center) = match text.split_once(':') {
        Some((text, center)) => (text, Some(value::float(center)?)),
        None => (text, None),
    };
    // fio marks "no center" by -1 and lets the file do so too.
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

/// Zones of one direction; a direction without any is uniform.
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
        // The end of the region that no zone covers is never accessed.
        zones.push((0.0, f64::from(rest)));
    }
    Ok(Distribution::Zoned(zones))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bssplit_fills_up_and_gives_the_rest_to_the_largest() {
        let one = |text| bssplit(text, 1024).map(|s| s[WRITE].clone());
        assert_eq!(one("4k/60:64k/40"), Ok(vec![(4096, 60.0), (65536, 40.0)]));
        assert_eq!(one("4k/50:8k:16k"), Ok(vec![(4096, 50.0), (8192, 25.0), (16384, 25.0)]));
        assert_eq!(one("4k/50:8k/0:16k/"), Ok(vec![(4096, 50.0), (8192, 25.0), (16384, 25.0)]));
        assert_eq!(one("4k:8k:16k"), Ok(vec![(4096, 33.0), (8192, 33.0), (16384, 34.0)]));
        assert_eq!(one("4k/30:8k/60"), Ok(vec![(4096, 30.0), (8192, 70.0)]));
        assert_eq!(one("4k"), Ok(vec![(4096, 100.0)]));
        assert_eq!(one("4k/100:8k"), Ok(vec![(4096, 100.0)]));
        assert!(one("4k/90:8k/20").is_err());
        assert!(one("4k/x").is_err());
        assert!(one("").is_err());
        assert!(one("4k::8k").is_err());
        assert!(one(&"4k:".repeat(65)).is_err());
        let two = bssplit("4k/50:8k/50,16k", 1024).unwrap();
        assert_eq!(two[TRIM], vec![(16384, 100.0)]);
        assert_eq!(bssplit(",16k", 1024).unwrap()[READ], vec![]);
    }

    #[test]
    fn zones_are_completed_as_fio_completes_them() {
        let one = |text| random_distribution(text, 1024).map(|d| d[WRITE].clone());
        assert_eq!(
            one("zoned:50/5:30/15:20/"),
            Ok(Distribution::Zoned(vec![(50.0, 5.0), (30.0, 15.0), (20.0, 80.0)]))
        );
        assert_eq!(
            one("zoned:60/10:40/20"),
            Ok(Distribution::Zoned(vec![(60.0, 10.0), (40.0, 20.0), (0.0, 70.0)]))
        );
        assert_eq!(
            one("zoned_abs:60/20G:40/1g"),
            Ok(Distribution::ZonedAbs(vec![(60.0, 20 << 30), (40.0, 1 << 30)]))
        );
        for bad in [
            "zoned",
            "zoned:",
            "zoned:50/5:30/15",
            "zoned:50/60:50/60",
            "zoned:100/100:0/",
            "zoned_abs:100",
            "zoned:50/50:50/50,1/2,3/4,5/6",
            "zoned:101/1",
            "zoned:100/0:",
            "zoned_abs:50/9000000t:50/9000000t",
        ] {
            if bad == "zoned:100/0:" {
                // 0 means "not given": the whole region.
                assert_eq!(one(bad), Ok(Distribution::Zoned(vec![(100.0, 100.0)])));
            } else if bad == "zoned:100/100:0/" {
                assert!(one(bad).is_ok());
            } else {
                assert!(one(bad).is_err(), "{bad}");
            }
        }
    }

    #[test]
    fn parameters_and_their_defaults() {
        let one = |text| random_distribution(text, 1024).map(|d| d[0].clone());
        assert_eq!(one("zipf"), Ok(Distribution::Zipf { theta: 1.1, center: None }));
        assert_eq!(one("zipf:1.2:0.25"), Ok(Distribution::Zipf { theta: 1.2, center: Some(0.25) }));
        assert_eq!(one("zipf:0"), Ok(Distribution::Uniform));
        assert_eq!(one("pareto"), Ok(Distribution::Pareto { h: 0.2, center: None }));
        assert_eq!(one("normal:10"), Ok(Distribution::Normal { deviation: 10.0, center: None }));
        for bad in [
            "zipf:1",
            "zipf:1.0",
            "zipf:-1",
            "zipf:x",
            "zipf:nan",
            "zipf:1.2:2",
            "zipf:1.1,zipf:1.2",
            "pareto:0",
            "pareto:1",
            "normal:100",
            "gauss:1",
            "sequence:1,2",
            " random",
            "",
        ] {
            assert!(one(bad).is_err(), "{bad}");
        }
    }
}
