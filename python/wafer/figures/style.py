"""The style of all figures: colours for colour-blind readers, sizes for the column of a paper."""

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

#: Palette of Okabe and Ito (2008) without yellow, which is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
#: Style of published points: hollow, in the colour of the line.
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
    """Returns Matplotlib's pyplot, with a file backend if there is no display."""
    matplotlib = need("matplotlib", "analysis")
    if not os.environ.get("DISPLAY") and "MPLBACKEND" not in os.environ and os.name == "posix":
        matplotlib.use("Agg", force=False)
    return need("matplotlib.pyplot", "analysis")


def styled() -> Any:
    """Returns a context manager that applies the style."""
    return pyplot().rc_context(_RC)


def legend(ax: Axes, **how: Any) -> None:
    """Adds a small legend, also to axes of the caller."""
    made = ax.legend(**{"fontsize": 7, "frameon": False, **how})
    if made.get_title().get_text():
        made.get_title().set_fontsize(7)


def title(ax: Axes, text: str) -> None:
    """Sets the title of axes."""
    ax.set_title(text, fontsize=8.5)


def axes(ax: Axes | None = None) -> Axes:
    """Returns the given axes, or new ones."""
    if ax is not None:
        return ax
    plt = pyplot()
    with plt.rc_context(_RC):
        made: Axes = plt.figure(figsize=(WIDTH, HEIGHT)).add_subplot()
    return made


def grid_of_axes(columns: int, rows: int = 1, *, sharey: bool = True) -> tuple[Figure, Sequence[Axes]]:
    """Returns a new figure and its axes, row by row."""
    plt = pyplot()
    with plt.rc_context(_RC):
        size = (max(WIDTH, 2.45 * columns), HEIGHT * rows * (1 if rows == 1 else 0.9))
        figure, found = plt.subplots(rows, columns, figsize=size, sharey=sharey, squeeze=False)
    return figure, list(found.flat)


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Writes a figure as reproducible PDF and PNG, closes it and returns the two paths."""
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
