//! Suggestions for misspelled names.

use super::error::quote;

/// Returns the end of a message that suggests the candidate with the smallest edit distance to `name`, if that is at
/// most half the length of `name`, which is fio's rule.
pub(super) fn did_you_mean<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    let name: String = name.chars().take(64).collect();
    let limit = name.chars().count().div_ceil(2);
    candidates
        .map(|c| (strsim::levenshtein(&name, c), c))
        .min_by_key(|&(edits, _)| edits)
        .filter(|&(edits, _)| edits <= limit && !name.is_empty())
        .map_or_else(String::new, |(_, near)| format!("; did you mean {}?", quote(near)))
}
