//! The nearest name to a misspelled one.

/// Returns the candidate with the fewest edits to `name`, if these are at most half of its length, which is
/// fio's rule.
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let name: String = name.chars().take(64).collect();
    let limit = name.chars().count().div_ceil(2);
    candidates
        .map(|c| (strsim::levenshtein(&name, c), c))
        .min_by_key(|&(edits, _)| edits)
        .filter(|&(edits, _)| edits <= limit && !name.is_empty())
        .map(|(_, candidate)| candidate)
}
