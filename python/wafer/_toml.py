"""TOML: reading with the standard library, writing the little that configurations need."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["document", "loads", "nested", "value"]


def loads(text: str) -> dict[str, Any]:
    """Reads a document. Raises :class:`ValueError` with line and column."""
    found: dict[str, Any] = tomllib.loads(text)
    return found


def nested(table: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the table with dotted keys as tables: ``{"a.b": 1}`` becomes ``{"a": {"b": 1}}``."""
    found: dict[str, Any] = {}
    for key, item in table.items():
        *tables, last = str(key).split(".")
        inner = found
        for name in tables:
            inner = inner.setdefault(name, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{key}: {name} is a value, not a table")
        item = nested(item) if isinstance(item, Mapping) else item
        below = inner.get(last)
        inner[last] = {**below, **item} if isinstance(below, dict) and isinstance(item, dict) else item
    return found


def value(item: Any) -> str:
    """Returns a value on one line."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        # JSON's escapes are TOML's, but for DEL.
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, Mapping):
        pairs = (f"{_key(k)} = {value(v)}" for k, v in item.items() if v is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(item, (list, tuple)):
        return "[" + ", ".join(value(v) for v in item) + "]"
    if hasattr(item, "item"):  # a NumPy scalar
        return value(item.item())
    if isinstance(item, (int, float)):
        return repr(item)
    if hasattr(item, "__fspath__"):
        return value(str(item))
    raise TypeError(f"cannot write a {type(item).__name__} as TOML")


def document(table: Mapping[str, Any]) -> str:
    """Returns a document: simple values first, then tables as sections; ``None`` is left out."""
    lines: list[str] = []
    _section(lines, "", table)
    return "\n".join(lines) + "\n"


def _section(lines: list[str], prefix: str, table: Mapping[str, Any]) -> None:
    tables = {k: v for k, v in table.items() if isinstance(v, Mapping)}
    lines.extend(f"{_key(k)} = {value(v)}" for k, v in table.items() if v is not None and k not in tables)
    for key, inner in tables.items():
        name = f"{prefix}.{_key(key)}" if prefix else _key(key)
        lines.append(f"\n[{name}]")
        _section(lines, name, inner)


def _key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "_-") for c in key)
    return key if bare else json.dumps(key)
