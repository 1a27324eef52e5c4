"""The style of all figures: the colours of the report page, sizes for one and two columns of a paper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wafer._arguments import file, number
from wafer._colours import COLOURS, handle_colour
from wafer._errors import ConfigError
from wafer._extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "MARKERS",
    "ONE_COLUMN",
    "PUBLISHED",
    "TWO_COLUMNS",
    "axes",
    "grid_of_axes",
    "handle_colour",
    "legend",
    "save",
    "styled",
    "title",
]

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: Style of published points: hollow, in the colour of the line.
PUBLISHED: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none", "markersize": 4.5}

#: Widths of a figure across one and two columns of a paper, inches.
ONE_COLUMN, TWO_COLUMNS = 3.5, 7.16
HEIGHT = 2.6
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
    # Text stays text, for the editor of a journal.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "wafer",
}


def pyplot() -> Any:
    """Returns Matplotlib's pyplot, with a file backend if there is no display."""
    matplotlib = need("matplotlib", "analysis")
    if not os.environ.get("DISPLAY") and "MPLBACKEND" not in os.environ and os.name == "posix":
        matplotlib.use("Agg", force=False)
    return need("matplotlib.pyplot", "analysis")


def styled() -> Any:
    """Returns a context manager that applies the style.

    Examples
    --------
    >>> from wafer import plot
    >>> with plot.styled():
    ...     ax = plot.axes()
    """
    return pyplot().rc_context(_RC)


def legend(ax: Axes, **how: Any) -> None:
    """Adds a small legend, including to the caller's axes.

    Parameters
    ----------
    ax
        The axes.
    **how
        Keywords of :meth:`matplotlib.axes.Axes.legend`.
    """
    made = ax.legend(**{"fontsize": 7, "frameon": False, **how})
    if made.get_title().get_text():
        made.get_title().set_fontsize(7)


def title(ax: Axes, text: str) -> None:
    """Sets the title of axes.

    Parameters
    ----------
    ax
        The axes.
    text
        The title.
    """
    ax.set_title(text, fontsize=8.5)


def axes(ax: Axes | None = None, *, width: float = ONE_COLUMN, height: float = HEIGHT) -> Axes:
    """Returns the given axes, or new ones.

    Parameters
    ----------
    ax
        Axes to return.
    width
        Width of a new figure, inches: ``ONE_COLUMN`` or ``TWO_COLUMNS``.
    height
        Its height, inches.

    Returns
    -------
    Axes
        Axes in the style of the package.

    Raises
    ------
    ConfigError
        A size is no number above 0.

    Examples
    --------
    >>> from wafer import plot
    >>> bool(plot.axes(width=plot.TWO_COLUMNS).figure.get_figwidth() == 7.16)
    True
    """
    if ax is not None:
        return ax
    for name, inches in (("width", width), ("height", height)):
        if number(name, inches) <= 0:
            raise ConfigError(f"{name}: expected inches above 0, not {inches!r}")
    plt = pyplot()
    with plt.rc_context(_RC):
        made: Axes = plt.figure(figsize=(width, height)).add_subplot()
    return made


def grid_of_axes(columns: int, rows: int = 1, *, sharey: bool = True) -> tuple[Figure, Sequence[Axes]]:
    """Returns a new figure and its axes, row by row.

    Parameters
    ----------
    columns
        Number of columns.
    rows
        Number of rows.
    sharey
        Whether the axes of a row have the same vertical range.
    """
    plt = pyplot()
    with plt.rc_context(_RC):
        size = (min(max(ONE_COLUMN, 2.45 * columns), TWO_COLUMNS), HEIGHT * rows * (1 if rows == 1 else 0.9))
        figure, found = plt.subplots(rows, columns, figsize=size, sharey=sharey, squeeze=False)
    return figure, list(found.flat)


_METADATA = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def save(made: Axes | Figure, *paths: str | os.PathLike[str]) -> list[Path]:
    """Writes a figure to files, and closes it.

    The same figure gives the same file. Text stays text in SVG and PDF.

    Parameters
    ----------
    made
        The figure, or any axes of it.
    *paths
        Files whose suffix is the format, such as ``.pdf``, ``.svg`` or ``.png``.

    Returns
    -------
    list[Path]
        The paths.

    Raises
    ------
    ConfigError
        Matplotlib does not write a format.
    TypeError
        ``made`` is neither a figure nor axes.

    Examples
    --------
    >>> import tempfile
    >>> from wafer import plot
    >>> plot.save(plot.axes(), tempfile.mkdtemp() + "/empty.svg")[0].name
    'empty.svg'
    """
    plt = pyplot()
    figure: Any = made.figure if hasattr(made, "transData") else made
    if not hasattr(figure, "savefig"):
        raise TypeError(f"made: expected axes or a figure, not {type(made).__name__} {made!r:.60}")
    written = [Path(file("paths", path)) for path in paths]
    formats = figure.canvas.get_supported_filetypes()
    for path in written:
        if path.suffix.lstrip(".") not in formats:
            raise ConfigError(f"{path}: no format {path.suffix!r}; known: {', '.join(sorted(formats))}")
    with plt.rc_context(_RC):
        for path in written:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, metadata=_METADATA.get(path.suffix, {}))
    plt.close(figure)
    return written
