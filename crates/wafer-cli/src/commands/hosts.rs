//! The file of `wafer serve --hosts`: hosts by NQN, and what each may do.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use wafer_controller::{Access, Rights};
use wafer_lab::LabError;

use super::tables::{self, Wrong, wrong_nqn};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    host: Vec<Host>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    nqn: Spanned<String>,
    #[serde(default)]
    manage: bool,
}

/// Reads the file.
///
/// # Errors
/// It cannot be read, or is wrong in a line.
pub(crate) fn read(path: &Path) -> Result<Access, LabError> {
    tables::read(path, parse)
}

fn parse(text: &str) -> Result<Access, Wrong> {
    let file: File = tables::toml(text)?;
    if file.host.is_empty() {
        return Err((0, "no hosts; write [[host]] tables with an nqn".to_owned()));
    }
    let mut hosts = BTreeMap::new();
    for Host { nqn, manage } in file.host {
        let at = nqn.span().start;
        let nqn = nqn.into_inner();
        if let Some(reason) = wrong_nqn(&nqn) {
            return Err((at, format!("`nqn`: {reason}")));
        }
        if hosts.contains_key(&nqn) {
            return Err((at, format!("`nqn`: `{nqn}` is listed twice")));
        }
        hosts.insert(nqn, Rights { manage });
    }
    Ok(Access::Listed(hosts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_the_rights_of_the_file() {
        let access = parse(
            "[[host]]\nnqn = \"nqn.a:admin\"\nmanage = true\n\n[[host]]\nnqn = \"nqn.a:user\"\n",
        );
        let access = access.unwrap();
        assert_eq!(access.rights("nqn.a:admin"), Some(Rights { manage: true }));
        assert_eq!(access.rights("nqn.a:user"), Some(Rights { manage: false }));
        assert_eq!(access.rights("nqn.a:other"), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, line, words) in [
            ("", 1, "no hosts"),
            ("[[host]]\nmanage = true\n", 1, "nqn"),
            ("[[host]]\nnqn = \"nqn.a\"\nmange = true\n", 3, "mange"),
            ("[[host]]\nnqn = \"nqn.a\"\nmanage = 1\n", 3, "boolean"),
            ("[[host]]\nnqn = \"a\"\n", 2, "begins with"),
            ("[[host]]\nnqn = \"nqn.a\"\n[[host]]\nnqn = \"nqn.a\"\n", 4, "twice"),
            ("[[host]\n", 1, ""),
        ] {
            let (at, reason) = parse(text).unwrap_err();
            assert_eq!(text[..at].matches('\n').count() + 1, line, "{text}: {reason}");
            assert!(reason.contains(words) && !reason.contains('\n'), "{reason}");
        }
    }
}
