use wafer_auth::{Group, Hash};

use super::*;

const KEY: &str = "DHHC-1:00:pU3KGCUwux1tEyze1iN7LtkeP3IfyxlxF0SU1kk8nVzWfx4C:";

fn parse(text: &str) -> Result<Access, ConfigError> {
    of(&tables::parse("h.toml", text, "host", NONE)?).map(|(_, access)| access)
}

#[test]
fn hosts_have_the_rights_and_keys_of_the_file() {
    let access = parse(&format!(
        "[[host]]\nnqn = \"nqn.a:admin\"\nmanage = true\n\n[[host]]\nnqn = \"nqn.a:user\"\ndhchap_key = \
         \"{KEY}\"\ndhchap_hash = \"sha384\"\ndhchap_dhgroup = \"ffdhe2048\"\n",
    ));
    let access = access.unwrap();
    for (name, manage) in [("admin", Some(true)), ("user", Some(false)), ("other", None)] {
        assert_eq!(access.rights(&format!("nqn.a:{name}")).map(|r| r.manage), manage);
    }
    assert_eq!(access.credentials("nqn.a:admin"), None);
    let user = access.credentials("nqn.a:user").unwrap();
    assert_eq!((user.secret.to_string(), &user.controller_secret), (KEY.to_owned(), &None));
    assert_eq!((user.hash, user.group), (Some(Hash::Sha384), Some(Group::Ffdhe2048)));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let host = "[[host]]\nnqn = \"nqn.a\"\n";
    for (text, place, words) in [
        ("", "h.toml: ", "no hosts"),
        ("[[host]]\nmanage = true\n", "h.toml:1: nqn: ", "missing"),
        (&format!("{host}mange = true\n"), "h.toml:3: mange: ", "did you mean `manage`?"),
        (&format!("{host}manage = 1\n"), "h.toml:3: manage: ", "true or false"),
        (&format!("{host}dhchap_key = \"x\"\n"), "h.toml:3: dhchap_key: ", "DHHC-1:HH:KEY:"),
        (
            &format!("{host}dhchap_key = \"{}\"\n", KEY.replace("pU3K", "pU3A")),
            "h.toml:3: dhchap_key: ",
            "checksum",
        ),
        (
            &format!("{host}dhchap_ctrl_key = \"{KEY}\"\n"),
            "h.toml:3: dhchap_ctrl_key: ",
            "without `dhchap_key`",
        ),
        (
            &format!("{host}dhchap_key = \"{KEY}\"\ndhchap_hash = \"md5\"\n"),
            "h.toml:4: dhchap_hash: ",
            "sha256",
        ),
        ("[[host]]\nnqn = \"a\"\n", "h.toml:2: nqn: ", "begins with"),
        (&format!("{host}{host}"), "h.toml:4: nqn: ", "twice"),
        ("[[hots]]\n", "h.toml:1: hots: ", "unknown key"),
        ("host = 1\n", "h.toml:1: host: ", "expected tables"),
        ("[[host]\n", "h.toml:1: ", ""),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(words), "{text}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}
