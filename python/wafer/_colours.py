"""Colours of handles and series: those of the report page (``web/js``), which a test compares."""

from __future__ import annotations

__all__ = ["COLOURS", "GC", "handle_colour"]

#: Series in the order in which they are given out, on a light background. The first hues are those of Okabe
#: and Ito (2008), which colour-blind people tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b5548f", "#8a6d00", "#2b8cbe", "#7f3b08", "#6a51a3")
#: Data that GC moved.
GC = "#3f464d"


def handle_colour(key: int | str) -> str:
    """Returns the colour of a handle: the same in every plot and on the report page."""
    if key == "gc":
        return GC
    return COLOURS[int(key) % len(COLOURS)] if str(key).isdigit() else COLOURS[0]
