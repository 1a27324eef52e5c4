"""Small multiples: a panel for each run, with the others in grey."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wafer import _wafer
from wafer._arguments import whole
from wafer._errors import ConfigError
from wafer._protocols import Run
from wafer.plot.curves import label_axes
from wafer.plot.style import COLOURS, grid_of_axes, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_multiples"]

_OTHERS = "#c9ced3"


def plot_multiples(
    results: Sequence[Run], *, columns: int = 3, labels: Sequence[str] | None = None
) -> list[Axes]:
    """Plots cumulative WAF over volume, a panel for each run, all on one scale.

    Parameters
    ----------
    results
        The runs. Each panel shows the other runs behind its own, in grey.
    columns
        Number of panels per row; three fill two columns of a paper.
    labels
        Titles of the panels. Default: what differs between the runs, as :func:`wafer.labels` says.

    Returns
    -------
    list[Axes]
        The axes, in the order of the runs.

    Raises
    ------
    ConfigError
        There are no results, or their number is not that of the labels.
    MissingExtra
        Matplotlib is not installed.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
    >>> result = wafer.run(device, job, volume="2x")
    >>> from wafer import plot
    >>> len(plot.multiples([result, result], labels=["one", "two"]))
    2
    """
    if not results:
        raise ConfigError("results: none given")
    if labels is None:
        labels = _wafer.labels([run.to_json() for run in results])
    if len(labels) != len(results):
        raise ConfigError(f"labels: {len(labels)} for {len(results)} results")
    columns = min(whole("columns", columns, least=1), len(results))
    rows = math.ceil(len(results) / columns)
    _, panels = grid_of_axes(columns, rows)
    for unused in panels[len(results) :]:
        unused.set_axis_off()
    for number, (ax, name) in enumerate(zip(panels, labels)):
        for other, run in enumerate(results):
            shown = other == number
            ax.plot(
                run.timeline._written[0],
                run.timeline.waf,
                color=COLOURS[0] if shown else _OTHERS,
                linewidth=1.6 if shown else 0.8,
                zorder=3 if shown else 2,
                label=name if shown else "_",
            )
        label_axes(ax, "cumulative WAF" if number % columns == 0 else "")
        ax.set_xlabel(results[number].timeline._written[1])
        if number + columns < len(results):
            ax.set_xlabel("")
        title(ax, name)
    return list(panels[: len(results)])
