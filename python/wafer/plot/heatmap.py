"""Heat maps of sweeps over two keys, with contours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wafer._errors import ConfigError
from wafer._protocols import Grid
from wafer.plot.style import axes
from wafer.plot.sweeps import key_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_heatmap"]

#: Maximum number of cells with a number in each.
_NUMBERED = 60


def plot_heatmap(
    sweep: Grid, x: str, y: str, value: str = "waf", ax: Axes | None = None, *, contours: int = 5
) -> Axes:
    """Plots the mean of a column over two keys as a heat map, with contours if both keys are numbers.

    Parameters
    ----------
    sweep
        Finished sweep.
    x
        Key on the horizontal axis.
    y
        Key on the vertical axis.
    value
        Column of the rows.
    ax
        Axes to draw on. Default: new ones, one column wide.
    contours
        Approximate number of contours; 0 for none.

    Returns
    -------
    Axes
        The axes. Points without a result stay white.

    Raises
    ------
    ConfigError
        No single key of the sweep matches ``x`` or ``y``, or no point has a result.
    MissingExtra
        Matplotlib is not installed.

    Examples
    --------
    >>> import tempfile, wafer
    >>> job = "[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n"
    >>> small = {"profile": "warp", "capacity": "64MiB", "reclaim_unit": {"size": "1MiB"}}
    >>> spec = {"device": small, "workload": {"fio_text": job}, "volume": "2x", "seeds": 2}
    >>> spec["grid"] = {"overprovisioning": [0.5, 0.6]}
    >>> sweep = wafer.sweep(spec, out=tempfile.mkdtemp())
    >>> from wafer import plot
    >>> plot.heatmap(sweep, "overprovisioning", "seed").get_ylabel()
    'seed'
    """
    keys = [sweep.key(x), sweep.key(y)]
    found = {tuple(s.values[key] for key in keys): s.mean.value for s in sweep.summary(value, by=keys)}
    if not found:
        raise ConfigError("no point of the sweep has a result to plot; its `errors` say why")
    ticks = [_ordered([place[i] for place in found]) for i in range(2)]
    cells = np.full((len(ticks[1]), len(ticks[0])), np.nan)
    for (at_x, at_y), mean in found.items():
        cells[ticks[1].index(at_y), ticks[0].index(at_x)] = mean
    ax = axes(ax)
    # Cells have equal sizes, whatever the steps of the keys.
    image = ax.imshow(cells, origin="lower", aspect="auto", cmap="cividis", interpolation="nearest")
    ax.grid(visible=False)
    numeric = all(isinstance(tick, (int, float)) for axis in ticks for tick in axis)
    if numeric and contours and min(cells.shape) > 1 and np.nanmax(cells) > np.nanmin(cells):
        _contours(ax, cells, contours)
    elif cells.size <= _NUMBERED:
        _numbers(ax, cells)
    ax.set_xticks(range(len(ticks[0])), [_text(tick) for tick in ticks[0]])
    ax.set_yticks(range(len(ticks[1])), [_text(tick) for tick in ticks[1]])
    ax.set_xlabel(key_name(keys[0]))
    ax.set_ylabel(key_name(keys[1]))
    bar = ax.figure.colorbar(image, ax=ax)
    bar.ax.tick_params(labelsize=8)
    bar.set_label("WAF" if value == "waf" else value, fontsize=8)
    return ax


def _contours(ax: Axes, cells: Any, count: int) -> None:
    from matplotlib.ticker import MaxNLocator

    known = np.ma.masked_invalid(cells)
    levels = MaxNLocator(count).tick_values(known.min(), known.max())
    kept = [level for level in levels if known.min() < level < known.max()]
    middle = (known.min() + known.max()) / 2
    colours = ["black" if level > middle else "white" for level in kept]
    if kept:
        lines = ax.contour(known, levels=kept, colors=colours, linewidths=0.9)
        ax.clabel(lines, fmt="%g", fontsize=6.5)


def _numbers(ax: Axes, cells: Any) -> None:
    middle = (np.nanmin(cells) + np.nanmax(cells)) / 2
    for (row, column), value in np.ndenumerate(cells):
        if np.isfinite(value):
            colour = "black" if value > middle else "white"
            ax.text(column, row, f"{value:.3g}", ha="center", va="center", fontsize=6.5, color=colour)


def _ordered(values: list[Any]) -> list[Any]:
    kept = list(dict.fromkeys(values))
    return sorted(kept) if all(isinstance(value, (int, float)) for value in kept) else kept


def _text(tick: Any) -> str:
    return f"{tick:g}" if isinstance(tick, float) else str(tick)
