"""Imports of optional dependencies."""

from __future__ import annotations

import importlib
from typing import Any

from wafer._errors import MissingExtra


def need(module: str, extra: str) -> Any:
    """Imports and returns an optional module.

    Raises
    ------
    MissingExtra
        The module is not installed; the message names the extra that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        how = f"in a clone of wafer: pip install '.[{extra}]'"
        raise MissingExtra(f"{top} is not installed; {how}") from error
