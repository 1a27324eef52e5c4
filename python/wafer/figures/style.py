"""One style for all figures: colours that everybody can tell apart, sizes for a paper's column."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wafer._extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "MARKERS", "PUBLISHED", "axes", "grid_of_axes", "legend", "save", "styled", "title"]

#: Okabe and Ito's palette, without yellow, which is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: How published points look beside our lines: hollow, in the line's colour.
PUBLISHED: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none", "markersize": 4.5}

WIDTH, HEIGHT = 3.5, 2.6
_RC: dict[str, Any] = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "wafer",
}


def pyplot() -> Any:
    """Matplotlib's pyplot; where no display is, one that draws into files."""
    matplotlib = need("matplotlib", "analysis")
    if not os.environ.get("DISPLAY") and "MPLBACKEND" not in os.environ and os.name == "posix":
        matplotlib.use("Agg", force=False)
    return need("matplotlib.pyplot", "analysis")


def styled() -> Any:
    """A context in which everything drawn has the style, and nothing after it."""
    return pyplot().rc_context(_RC)


def legend(ax: Axes, **how: Any) -> None:
    """A legend that does not shout, also on axes of the caller's."""
    made = ax.legend(**{"fontsize": 7, "frameon": False, **how})
    if made.get_title().get_text():
        made.get_title().set_fontsize(7)


def title(ax: Axes, text: str) -> None:
    """A title of the style's size."""
    ax.set_title(text, fontsize=8.5)


def axes(ax: Axes | None = None) -> Axes:
    """The axes given, or new ones."""
    if ax is not None:
        return ax
    plt = pyplot()
    with plt.rc_context(_RC):
        made: Axes = plt.figure(figsize=(WIDTH, HEIGHT)).add_subplot()
    return made


def grid_of_axes(columns: int, rows: int = 1, *, sharey: bool = True) -> tuple[Figure, Sequence[Axes]]:
    """A figure with several axes, row by row."""
    plt = pyplot()
    with plt.rc_context(_RC):
        size = (max(WIDTH, 2.45 * columns), HEIGHT * rows * (1 if rows == 1 else 0.9))
        figure, found = plt.subplots(rows, columns, figsize=size, sharey=sharey, squeeze=False)
    return figure, list(found.flat)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PDF and PNG; equal figures give equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    plt = pyplot()
    paths = []
    with plt.rc_context(_RC):
        for kind, metadata in (("pdf", {"CreationDate": None}), ("png", {})):
            path = folder / f"{name}.{kind}"
            figure.savefig(path, metadata=metadata)
            paths.append(path)
    plt.close(figure)
    return paths
