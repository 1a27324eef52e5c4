//! Generates the keyword arguments of Python's `wafer.Device` from the JSON Schema of device files.

use wafer_config::{Key, overridable_keys};

const HEAD: &str = "\"\"\"Keys of a device as keyword arguments.

Written by `cargo xtask docs` from the types that read device files. Do not edit.
\"\"\"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

__all__ = [\"DOTTED\", \"TABLES\", \"DeviceKeys\"]


class DeviceKeys(TypedDict, total=False):
    \"\"\"Keyword arguments of :class:`wafer.Device`: ``_`` stands for the ``.`` of the dotted key.\"\"\"

";

/// Returns the module's text.
pub(crate) fn module() -> String {
    let single = overridable_keys();
    let mut tables: Vec<String> =
        single.iter().filter_map(|key| Some(key.name.rsplit_once('.')?.0.to_owned())).collect();
    tables.dedup();

    let mut text = HEAD.to_owned();
    for key in &single {
        if key.name.ends_with('*') {
            continue;
        }
        text += &format!("    {}: {}\n", key.name.replace('.', "_"), kind(key));
        text += &format!("    \"\"\"{}\"\"\"\n", documentation(key));
    }
    for table in &tables {
        text += &format!("    {}: Mapping[str, Any]\n", table.replace('.', "_"));
        text += &format!("    \"\"\"Keys of the table ``{table}``.\"\"\"\n");
    }
    text += "\n\n#: Keyword arguments whose dotted key is spelled differently.\n";
    text += "DOTTED: dict[str, str] = {\n";
    let keys = single.iter().map(|key| &key.name).filter(|name| !name.ends_with('*'));
    for name in keys.chain(&tables).filter(|name| name.contains('.')) {
        text += &format!("    \"{}\": \"{name}\",\n", name.replace('.', "_"));
    }
    text += "}\n\n#: Tables of a device file.\n";
    let tables: Vec<String> = tables.iter().map(|table| format!("\"{table}\"")).collect();
    text += &format!("TABLES: tuple[str, ...] = ({},)\n", tables.join(", "));
    text
}

/// Returns the type of a value.
fn kind(key: &Key) -> String {
    if !key.values.is_empty() && key.name != "gc.policy" {
        let values: Vec<String> = key.values.iter().map(|(v, _)| format!("\"{v}\"")).collect();
        return format!("Literal[{}]", values.join(", "));
    }
    match key.kind.as_str() {
        "size" => "str | int",
        "whole number" => "int",
        "number" => "float",
        "`true` or `false`" => "bool",
        "list of tables" => "Sequence[Mapping[str, Any]]",
        _ => "str",
    }
    .to_owned()
}

/// Returns one paragraph, wrapped at the line length of the package.
fn documentation(key: &Key) -> String {
    const WIDTH: usize = 104;
    let text = key.meaning.replace('`', "``").replace('\\', "\\\\");
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("at least one line");
        if !last.is_empty() && last.len() + 1 + word.len() > WIDTH {
            lines.push(word.to_owned());
        } else {
            *last = format!("{last} {word}").trim_start().to_owned();
        }
    }
    match lines.as_slice() {
        [one] if one.len() < WIDTH - 8 => one.clone(),
        several => format!("{}\n    ", several.join("\n    ")),
    }
}
