"""Colours of handles and series: those of the report page, on a light background."""

from __future__ import annotations

import json

from wafer import _wafer

__all__ = ["COLOURS", "GC", "handle_colour"]

_PALETTE = json.loads(_wafer.palette())
#: Series in the order in which they are assigned.
COLOURS: tuple[str, ...] = tuple(_PALETTE["light"])
#: Data moved by GC.
GC: str = _PALETTE["gc"]["light"]


def handle_colour(key: int | str) -> str:
    """Returns the colour of a handle: the same in every plot and on the report page.

    Parameters
    ----------
    key
        Number of the handle, or ``"gc"``.

    Examples
    --------
    >>> from wafer import plot
    >>> plot.handle_colour(0)
    '#0072b2'
    """
    if key == "gc":
        return GC
    return COLOURS[int(key) % len(COLOURS)] if str(key).isdigit() else COLOURS[0]
