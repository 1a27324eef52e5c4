//! The file of `wafer serve --hosts`: hosts by NQN, and what each may do.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use wafer_config::{ConfigError, Layers};
use wafer_controller::{Access, Rights};

use super::tables::{self, wrong_nqn};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Host {
    nqn: String,
    #[serde(default)]
    manage: bool,
}

const NONE: &str = "no hosts; write [[host]] tables with an nqn";

/// Reads the file.
///
/// # Errors
/// It cannot be read, or is wrong in a line.
pub(crate) fn read(path: &Path) -> Result<Access, ConfigError> {
    of(tables::read(path, "host", NONE)?)
}

fn of(tables: Vec<Layers>) -> Result<Access, ConfigError> {
    let mut hosts = BTreeMap::new();
    for table in tables {
        let Host { nqn, manage } = table.read()?;
        if let Some(reason) = wrong_nqn(&nqn) {
            return Err(table.error("nqn", reason));
        }
        if hosts.contains_key(&nqn) {
            return Err(table.error("nqn", &format!("`{nqn}` is listed twice")));
        }
        hosts.insert(nqn, Rights { manage });
    }
    Ok(Access::Listed(hosts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Access, ConfigError> {
        of(tables::parse("h.toml", text, "host", NONE)?)
    }

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
        for (text, place, words) in [
            ("", "h.toml: ", "no hosts"),
            ("[[host]]\nmanage = true\n", "h.toml:1: nqn: ", "missing"),
            (
                "[[host]]\nnqn = \"nqn.a\"\nmange = true\n",
                "h.toml:3: mange: ",
                "did you mean `manage`?",
            ),
            ("[[host]]\nnqn = \"nqn.a\"\nmanage = 1\n", "h.toml:3: manage: ", "true or false"),
            ("[[host]]\nnqn = \"a\"\n", "h.toml:2: nqn: ", "begins with"),
            ("[[host]]\nnqn = \"nqn.a\"\n[[host]]\nnqn = \"nqn.a\"\n", "h.toml:4: nqn: ", "twice"),
            ("[[hots]]\n", "h.toml:1: hots: ", "unknown key"),
            ("host = 1\n", "h.toml:1: host: ", "expected tables"),
            ("[[host]\n", "h.toml:1: ", ""),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(place) && error.contains(words), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
