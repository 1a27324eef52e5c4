"""Sizes with a unit, as in configuration files."""

from __future__ import annotations

from wafer import _wafer
from wafer._arguments import whole

__all__ = ["parse_size", "size_text"]


def parse_size(size: str | float, name: str = "size") -> int:
    """Returns the bytes of ``"3.84TB"`` (decimal), ``"448GiB"`` (binary) or a number of bytes.

    Raises
    ------
    ConfigError
        It is not a size; the message begins with ``name``.
    """
    if isinstance(size, str):
        return _wafer.parse_size(size, name)
    # As in 64e9.
    return whole(name, int(size) if isinstance(size, float) and size.is_integer() else size)


def size_text(size: int) -> str:
    """Returns bytes in the most suitable unit: ``"1.5 GiB"``."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    power = min(max(size.bit_length() - 1, 0) // 10, len(units) - 1)
    return f"{size / 2 ** (10 * power):.4g} {units[power]}"
