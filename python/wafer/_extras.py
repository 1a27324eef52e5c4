"""Imports of packages that only parts of wafer need."""

from __future__ import annotations

import importlib
from typing import Any

from wafer._errors import MissingExtra


def need(module: str, extra: str) -> Any:
    """Import a module of an extra; where it is missing, say what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        raise MissingExtra(f"{top} is not installed; pip install 'wafer[{extra}]'") from error
