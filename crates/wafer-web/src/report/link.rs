//! Joins ES modules into one script.
//!
//! The modules of `web/js` use a small part of the module syntax, so that joining them needs no parser: imports are
//! `import { a, b } from "./file.js";` on one line at the start, exports are `export function`, `export async
//! function`, `export class` or `export const`, and there are no circular imports. [`link`] rejects anything else, and
//! a test links all modules.

use std::collections::BTreeMap;

/// Returns one script that is equivalent to loading the module `entry`. `load` returns the text of a module by its
/// file name.
pub(crate) fn link(entry: &str, load: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut linker = Linker { load, done: BTreeMap::new(), script: String::new() };
    linker.module(entry, &mut Vec::new())?;
    Ok(format!("(()=>{{\"use strict\";const modules={{}};\n{}}})();\n", linker.script))
}

struct Linker<'a> {
    load: &'a dyn Fn(&str) -> Option<String>,
    /// Modules already in the script, with their exports.
    done: BTreeMap<String, Vec<String>>,
    script: String,
}

impl Linker<'_> {
    fn module(&mut self, name: &str, within: &mut Vec<String>) -> Result<(), String> {
        if self.done.contains_key(name) {
            return Ok(());
        }
        if within.iter().any(|outer| outer == name) {
            return Err(format!("{name} imports itself by way of {}", within.join(", ")));
        }
        let text = (self.load)(name).ok_or_else(|| format!("no module {name}"))?;
        within.push(name.to_owned());
        let mut body = String::new();
        let mut exports = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: &str| format!("{name}:{}: {what}", number + 1);
            if line.starts_with("import") {
                let (names, from) = import(line).ok_or_else(|| wrong("import not understood"))?;
                self.module(&from, within)?;
                for import in names.split(',').map(str::trim) {
                    if !self.done[&from].iter().any(|export| export == import) {
                        return Err(wrong(&format!("{from} does not export {import}")));
                    }
                }
                body.push_str(&format!("const {{ {names} }} = modules[{from:?}];\n"));
            } else if let Some(rest) = line.strip_prefix("export ") {
                let export = exported(rest).ok_or_else(|| wrong("export not understood"))?;
                exports.push(export);
                body.push_str(rest);
                body.push('\n');
            } else {
                body.push_str(line);
                body.push('\n');
            }
        }
        within.pop();
        let list = exports.join(", ");
        self.script
            .push_str(&format!("modules[{name:?}]=(()=>{{\n{body}return {{ {list} }};\n}})();\n"));
        self.done.insert(name.to_owned(), exports);
        Ok(())
    }
}

/// Parses the names and the file of an import.
fn import(line: &str) -> Option<(String, String)> {
    let rest = line.strip_prefix("import { ")?.strip_suffix("\";")?;
    let (names, from) = rest.split_once(" } from \"./")?;
    Some((names.to_owned(), from.to_owned()))
}

/// Parses the name that a declaration exports.
fn exported(declaration: &str) -> Option<String> {
    let kinds = ["function* ", "function ", "async function ", "class ", "const "];
    let rest = kinds.iter().find_map(|kind| declaration.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (end > 0).then(|| rest[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(modules: &[(&str, &str)]) -> Result<String, String> {
        let load = |name: &str| {
            modules.iter().find(|(n, _)| *n == name).map(|(_, text)| (*text).to_owned())
        };
        link("main.js", &load)
    }

    #[test]
    fn modules_come_before_those_that_use_them() {
        let script = linked(&[
            ("main.js", "import { one } from \"./a.js\";\none();"),
            ("a.js", "import { b } from \"./b.js\";\nexport function one() { return b; }"),
            ("b.js", "export const b = 1;"),
        ])
        .unwrap();
        let at = |text: &str| script.find(text).unwrap();
        assert!(at("const b = 1;") < at("function one()") && at("function one()") < at("one();"));
        assert!(script.contains("const { one } = modules[\"a.js\"];"));
        assert!(!script.contains("export ") && !script.contains("import "));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let of = |main: &str| {
            linked(&[("main.js", main), ("a.js", "import { x } from \"./main.js\";\n")])
                .unwrap_err()
        };
        assert_eq!(of("import a from \"./a.js\";"), "main.js:1: import not understood");
        assert_eq!(of("\nexport default 1;"), "main.js:2: export not understood");
        assert_eq!(of("import { x } from \"./b.js\";"), "no module b.js");
        assert_eq!(
            of("import { x } from \"./a.js\";"),
            "main.js imports itself by way of main.js, a.js"
        );
    }

    #[test]
    fn a_name_that_is_not_exported_is_refused() {
        let modules =
            [("main.js", "import { y } from \"./a.js\";"), ("a.js", "export const x = 1;")];
        assert_eq!(linked(&modules).unwrap_err(), "main.js:1: a.js does not export y");
    }
}
