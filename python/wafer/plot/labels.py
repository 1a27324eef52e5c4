"""Names at the ends of lines, in place of a legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["label_lines"]

SIZE = 7
#: Distance of two names, in points.
APART = 8.5


def label_lines(ax: Axes) -> None:
    """Writes the label of each line next to its last point, in its colour; names do not overlap.

    If called again after adding lines, it moves the names. Labels that begin with ``_`` are not shown.

    Parameters
    ----------
    ax
        The axes.

    Examples
    --------
    >>> from wafer import plot
    >>> ax = plot.axes()
    >>> line = ax.plot([0, 1], [1, 2], label="mine")
    >>> plot.label_lines(ax)
    >>> ax.texts[0].get_text()
    'mine'
    """
    for text in [text for text in ax.texts if text.get_gid() == "line-label"]:
        text.remove()
    ends = []
    for line in ax.lines:
        label = str(line.get_label())
        points: Any = line.get_xydata()
        if label.startswith("_") or not len(points):
            continue
        x, y = points[-1]
        ends.append((float(y), float(x), label, line.get_color()))
    if not ends:
        return
    ax.autoscale_view()
    low, high = ax.get_ylim()
    figure: Any = ax.figure
    tall = max(72 * ax.get_position().height * figure.get_figheight(), 1.0)

    def height(y: float) -> float:
        """Returns the height of a value above the axis, in points.

        Parameters
        ----------
        y
            The value.
        """
        return float(tall * (y - low) / (high - low))

    ends.sort()
    places = [height(end[0]) for end in ends]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + APART)
    # Names pushed beyond the top push the others down again.
    over = places[-1] - max(tall, height(ends[-1][0]))
    for i in reversed(range(len(places))):
        if over <= 0:
            break
        places[i] -= over
        over = APART - (places[i] - places[i - 1]) if i else 0.0
    right = max(end[1] for end in ends)
    how: dict[str, Any] = {"textcoords": "offset points", "fontsize": SIZE, "va": "center"}
    for place, (y, _, label, colour) in zip(places, ends):
        made = ax.annotate(
            label,
            (right, y),
            (6, place - height(y)),
            color=colour,
            annotation_clip=False,
            gid="line-label",
            **how,
        )
        made.set_in_layout(True)
