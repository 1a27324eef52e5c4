//! "Did you mean" suggestions for unknown names.

/// Returns `; did you mean ...?` if a known name is close, otherwise the list of known names.
pub fn did_you_mean(given: &str, known: &[impl AsRef<str>]) -> String {
    did_you_mean_in("", given, known)
}

/// Like [`did_you_mean`] for keys of a table; the suggestion includes the table, as in `gc.policy`.
pub(crate) fn did_you_mean_in(table: &str, given: &str, known: &[impl AsRef<str>]) -> String {
    let nearest = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(given, name.as_ref()), name.as_ref()))
        .min();
    match nearest {
        Some((distance, name)) if distance <= 1 + given.chars().count() / 4 => {
            format!("; did you mean `{table}{name}`?")
        }
        Some(_) => {
            let names: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
            format!("; known: {}", names.join(", "))
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested_others_listed() {
        let known = ["capacity", "handles"];
        assert_eq!(did_you_mean("capcity", &known), "; did you mean `capacity`?");
        assert_eq!(did_you_mean("colour", &known), "; known: capacity, handles");
    }
}
