"""TOML: reading with the standard library, writing with tomli_w."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import tomli_w

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["document", "loads", "nested", "plain", "value"]


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
    item = _of_numpy(item)
    if isinstance(item, Mapping):
        pairs = (f"{_key(k)} = {value(v)}" for k, v in item.items() if v is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(item, (list, tuple)):
        return "[" + ", ".join(value(v) for v in item) + "]"
    return tomli_w.dumps({"v": plain(item)}).removeprefix("v = ").removesuffix("\n")


def document(table: Mapping[str, Any]) -> str:
    """Returns a document, omitting ``None``."""
    return tomli_w.dumps(plain(table))


def plain(item: Any) -> Any:
    """Returns a value in a form that TOML has: paths as text, nothing that is ``None``.

    Raises :class:`TypeError` for a value that TOML does not have.
    """
    item = _of_numpy(item)
    if isinstance(item, Mapping):
        return {str(k): plain(v) for k, v in item.items() if v is not None}
    if isinstance(item, (list, tuple)):
        return [plain(v) for v in item]
    if hasattr(item, "__fspath__"):
        return os.fspath(item)
    if isinstance(item, (bool, int, float, str)):
        return item
    raise TypeError(f"cannot write a {type(item).__name__} as TOML")


def _of_numpy(item: Any) -> Any:
    """Returns an array as a list, and a scalar of NumPy as a number."""
    return item.tolist() if hasattr(item, "tolist") else item


def _key(key: str) -> str:
    return tomli_w.dumps({key: 0}).removesuffix(" = 0\n")
