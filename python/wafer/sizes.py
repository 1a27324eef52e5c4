"""Sizes with a unit, as configuration files spell them."""

from __future__ import annotations

import re

from wafer._errors import ConfigError

__all__ = ["parse_size"]

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "pb": 10**15,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "pib": 2**50,
}


def parse_size(size: str | int, name: str = "size") -> int:
    """Return the bytes of ``"3.84TB"`` (decimal), ``"448GiB"`` (binary) or a number of bytes."""
    if not isinstance(size, str):
        return int(size)
    match = re.fullmatch(r"\s*([0-9_]+(?:\.[0-9_]*)?|\.[0-9]+)\s*([A-Za-z]*)\s*", size)
    if match is None or match[2].lower() not in _UNITS:
        raise ConfigError(
            f"{name}: `{size}` is not a size; write a number with B, KiB, MiB, GiB, TiB (binary) "
            "or kB, MB, GB, TB (decimal)"
        )
    number, scale = match[1].replace("_", ""), _UNITS[match[2].lower()]
    return int(number) * scale if "." not in number else round(float(number) * scale)
