//! Options by name, and the nearest name to a wrong one.

use super::error::quote;
use super::table::{Class, OPTIONS, OptionInfo, PROFILE};

/// The option of a name or alias.
pub(super) fn find(name: &str) -> Option<&'static OptionInfo> {
    OPTIONS.iter().find(|o| o.name == name || (!o.alias.is_empty() && o.alias == name))
}

/// Message for a name that no option has.
pub(super) fn unknown(name: &str) -> String {
    let own = OPTIONS.iter().filter(|o| o.class != Class::Ignored(PROFILE));
    let names = own.flat_map(|o| [o.name, o.alias]).filter(|n| !n.is_empty());
    match nearest(name, names) {
        Some(near) => format!("fio has no such option; did you mean {}?", quote(near)),
        None => "fio has no such option".into(),
    }
}

/// The candidate with the fewest edits to `name`, when those are at most half of its length (fio's
/// rule).
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(64).collect();
    let limit = name.len().div_ceil(2);
    candidates
        .map(|c| (edits(&name, c), c))
        .min_by_key(|&(edits, _)| edits)
        .filter(|&(edits, _)| edits <= limit && !name.is_empty())
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance.
fn edits(from: &[char], to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(a != b)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> =
            OPTIONS.iter().flat_map(|o| [o.name, o.alias]).filter(|n| !n.is_empty()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn finds_aliases_and_suggests() {
        assert_eq!(find("blocksize").map(|o| o.name), Some("bs"));
        assert!(find("").is_none());
        for (wrong, right) in
            [("iodeph", "`iodepth`"), ("bss", "`bs`"), ("norandomap", "`norandommap`")]
        {
            assert!(unknown(wrong).contains(right), "{}", unknown(wrong));
        }
        assert_eq!(unknown("qqqqqqqqqqqqqqqq"), "fio has no such option");
        assert_eq!(unknown(""), "fio has no such option");
    }
}
