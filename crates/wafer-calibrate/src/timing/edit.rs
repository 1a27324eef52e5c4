//! Changes times in a device file and keeps everything else, including comments.

use toml_edit::{DocumentMut, Item, Value};
use wafer_lab::LabError;

/// A key of `[timing]` with a new value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) key: &'static str,
    pub(crate) value: f64,
    /// The reason, as a comment.
    pub(crate) why: String,
}

/// Returns the text of a device file with changes. `heading` lines come first, as comments.
///
/// # Errors
/// If the text is not a device file with a table `timing`; `label` is its name.
pub(crate) fn apply(
    label: &str,
    text: &str,
    heading: &[String],
    changes: &[Change],
) -> Result<String, LabError> {
    let wrong = |reason: &str| LabError::config(label, reason.to_owned());
    let mut document: DocumentMut =
        text.parse().map_err(|e: toml_edit::TomlError| wrong(&e.message().replace('\n', "; ")))?;
    // An inline table has no room for comments.
    let inline = document.get("timing").is_some_and(Item::is_inline_table);
    let timing = document.get_mut("timing").and_then(Item::as_table_like_mut);
    let timing = timing.ok_or_else(|| wrong("`timing` is missing"))?;
    for change in changes {
        let mut value = Value::from(change.value);
        value.decor_mut().set_prefix(" ");
        let width =
            35usize.saturating_sub(change.key.len() + 3 + format!("{:?}", change.value).len());
        if !inline {
            value.decor_mut().set_suffix(format!("{} # {}", " ".repeat(width), change.why));
        }
        match timing.get_mut(change.key) {
            Some(item) => *item = Item::Value(value),
            None => {
                timing.insert(change.key, Item::Value(value));
            }
        }
    }
    let mut out = String::new();
    heading.iter().for_each(|line| out += &format!("# {line}\n"));
    Ok(out + &document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str) -> String {
        let change = |key, value| Change { key, value, why: "fitted".to_owned() };
        let changes = [change("slice_us", 120.5), change("gc_knee", 0.6)];
        apply("a.toml", text, &["From a.csv.".to_owned()], &changes).unwrap()
    }

    #[test]
    fn other_lines_stay() {
        let text = "# A drive.\ncapacity = \"1GB\" # given\n\n[timing]\nslice_us = 80.0 # old\ndies = 4 # known\n\n\
                    [timing.power]\nidle_w = 1.0 # x\n";
        let changed = changed(text);
        for line in text.lines().filter(|line| !line.contains("slice")) {
            assert!(changed.contains(line), "{line}: {changed}");
        }
        assert!(changed.starts_with("# From a.csv.\n# A drive.\n"), "{changed}");
        assert!(changed.contains("slice_us = 120.5") && changed.contains("# fitted"), "{changed}");
        let value: toml_edit::DocumentMut = changed.parse().unwrap();
        assert_eq!(value["timing"]["gc_knee"].as_float(), Some(0.6));
        assert_eq!(value["timing"]["power"]["idle_w"].as_float(), Some(1.0));
    }

    #[test]
    fn tables_of_any_spelling_stay_valid() {
        let texts = [
            "timing = { slice_us = 80.0, dies = 4 }\n",
            "timing.slice_us = 80.0\ntiming.dies = 4\n",
            "[timing]\ndies = 4",
        ];
        for text in texts {
            let value: toml_edit::DocumentMut = changed(text).parse().unwrap();
            assert_eq!(value["timing"]["slice_us"].as_float(), Some(120.5), "{text}");
            assert_eq!(value["timing"]["dies"].as_integer(), Some(4), "{text}");
        }
        assert!(apply("a.toml", "x = 1", &[], &[]).is_err());
        assert!(apply("a.toml", "x = ", &[], &[]).is_err());
    }
}
