"""Sizes with a unit, as configuration files spell them."""

from __future__ import annotations

from wafer import _wafer

__all__ = ["parse_size"]


def parse_size(size: str | int, name: str = "size") -> int:
    """Returns the bytes of ``"3.84TB"`` (decimal), ``"448GiB"`` (binary) or a number of bytes.

    Raises
    ------
    ConfigError
        The text is not a size; the message begins with ``name``.
    """
    return _wafer.parse_size(size, name) if isinstance(size, str) else int(size)
