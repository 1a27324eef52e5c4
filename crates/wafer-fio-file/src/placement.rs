//! Placement: `fdp`, `dataplacement`, `plids` (`fdp_pli`), `plid_select` (`fdp_pli_select`),
//! `dp_scheme`, `write_hint`.

use std::path::Path;

use super::error::quote;
use super::ini;
use wafer_fio::job::PlacementRule;

/// fio's table sizes.
const PLIDS_MAX: usize = 128;
const SCHEME_MAX: usize = 32;

/// `dataplacement`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    None,
    Fdp,
    Streams,
}

/// `plid_select`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Select {
    #[default]
    RoundRobin,
    Random,
    Scheme,
}

/// Start, end (exclusive) and placement index of a range of `dp_scheme`.
pub(super) type SchemeRange = (u64, u64, u16);

/// The options of a job that concern placement.
#[derive(Clone, Debug, Default)]
pub(super) struct Placement {
    pub(super) fdp: bool,
    pub(super) interface: Option<Interface>,
    pub(super) select: Select,
    /// Sorted; if empty, all of the namespace.
    pub(super) plids: Vec<u16>,
    pub(super) scheme: Option<Vec<SchemeRange>>,
    /// The placement index of `write_hint`.
    pub(super) hint: Option<u16>,
}

impl Placement {
    /// Returns whether writes carry a placement directive.
    pub(super) fn is_on(&self) -> bool {
        self.fdp || self.interface == Some(Interface::Fdp)
    }

    /// Returns the rule for a namespace with `handles` placement handles; the error names the option at fault.
    pub(super) fn rule(&self, handles: u16) -> Result<PlacementRule, (&'static str, String)> {
        if self.fdp && matches!(self.interface, Some(Interface::None | Interface::Streams)) {
            return Err(("fdp", "fdp=1 excludes dataplacement=none and =streams".into()));
        }
        if self.interface == Some(Interface::Streams) {
            let why = "runs have no streams directive; use dataplacement=fdp";
            return Err(("dataplacement", why.into()));
        }
        if !self.is_on() {
            // Linux ignores a hint that exceeds the number of the namespace's write streams.
            let hint = self.hint.filter(|index| *index < handles);
            return Ok(hint.map_or(PlacementRule::None, PlacementRule::Fixed));
        }
        if handles == 0 {
            let option = if self.fdp { "fdp" } else { "dataplacement" };
            return Err((option, "the namespace has no placement handles".into()));
        }
        let check = |option, plid: u16| {
            if plid < handles {
                return Ok(());
            }
            let list = if handles == 1 { "only 0".into() } else { format!("0 to {}", handles - 1) };
            Err((option, format!("{plid} is not a placement index of the namespace ({list})")))
        };
        for &plid in &self.plids {
            check("plids", plid)?;
        }
        let plids = if self.plids.is_empty() {
            (0..handles).take(PLIDS_MAX).collect()
        } else {
            self.plids.clone()
        };
        if self.select == Select::Scheme {
            let Some(ranges) = &self.scheme else {
                return Err(("plid_select", "`scheme` needs dp_scheme=FILE".into()));
            };
            for &(_, _, plid) in ranges {
                check("dp_scheme", plid)?;
            }
            // Outside all ranges, fio uses placement identifier 0, whatever the `plids`.
            return Ok(PlacementRule::Scheme { ranges: ranges.clone(), plids: vec![0] });
        }
        Ok(match (&plids[..], self.select) {
            (&[plid], _) => PlacementRule::Fixed(plid),
            (_, Select::Random) => PlacementRule::Random(plids),
            _ => PlacementRule::RoundRobin(plids),
        })
    }
}

/// Reads `plids=0,2,4-7`. Sorted as in fio, which is the order of the round robin.
pub(super) fn plids(text: &str) -> Result<Vec<u16>, String> {
    let text = text.trim();
    let mut all = Vec::new();
    // fio accepts a trailing comma.
    for part in text.strip_suffix(',').unwrap_or(text).split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (plid(first)?, plid(last)?),
            None => (plid(part)?, plid(part)?),
        };
        if first > last {
            return Err(format!("{} is a range backwards", quote(part)));
        }
        all.extend(first..=last);
        if all.len() > PLIDS_MAX {
            return Err(format!("has more than {PLIDS_MAX} placement indices"));
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// Reads a number as C does: `0x` is hexadecimal, a leading 0 octal.
fn plid(text: &str) -> Result<u16, String> {
    let text = text.trim();
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None if text.len() > 1 && text.starts_with('0') => (&text[1..], 8),
        None => (text, 10),
    };
    if digits.starts_with('+') {
        return Err(format!("{} is not a placement index", quote(text)));
    }
    u16::from_str_radix(digits, radix)
        .map_err(|_| format!("{} is not a placement index", quote(text)))
}

/// Reads a `dp_scheme` file: lines of `start, end, index`, the first two in bytes. As in fio, only the first 32 lines
/// count.
pub(super) fn scheme(from: &Path, name: &str) -> Result<Vec<SchemeRange>, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("needs a file as its value".into());
    }
    let text =
        ini::read_text(&ini::beside(from, name)).map_err(|e| format!("{} {e}", quote(name)))?;
    let mut ranges = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if ranges.len() == SCHEME_MAX {
            break;
        }
        let range = scheme_line(line).ok_or_else(|| {
            let line = quote(line);
            format!(
                "{} line {}: {line} is not `start, end, index` in bytes",
                quote(name),
                index + 1
            )
        })?;
        ranges.push(range);
    }
    Ok(ranges)
}

fn scheme_line(line: &str) -> Option<SchemeRange> {
    let mut parts = line.split(',').map(str::trim);
    let range =
        (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(range)
}

#[cfg(test)]
mod tests;
