"""Plots of WAF over volume: runs, published points, fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from wafer._protocols import Fitted, Run
from wafer.plot.labels import label_lines
from wafer.plot.style import COLOURS, MARKERS, PUBLISHED, axes, handle_colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AnyRun = TypeVar("AnyRun", bound=Run)

#: Colour of the whole device next to its handles.
DEVICE = "#1b1f23"

__all__ = ["label_axes", "plot_fit", "plot_published", "plot_result"]


def label_axes(ax: Axes, y: str = "cumulative WAF") -> Axes:
    """Labels the axes with volume and WAF.

    Parameters
    ----------
    ax
        The axes.
    y
        What the vertical axis shows.
    """
    ax.set_xlabel("host bytes / logical capacity")
    ax.set_ylabel(y)
    ax.set_xlim(left=0)
    return ax


def plot_result(
    result: Run, ax: Axes | None = None, *, handles: bool = False, label: str | None = None, **style: Any
) -> Axes:
    """Plots cumulative WAF over volume, with the published points of the record.

    Lines are named at their ends. A handle has the colour that it has on the report page.

    Parameters
    ----------
    result
        The run.
    ax
        Axes to draw on. Default: new ones, one column wide.
    handles
        Also plot the WAF of each handle.
    label
        Name of the line. Default: the name of the run, or "device" alongside its handles.
    **style
        Further arguments of ``Axes.plot``.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    MissingExtra
        Matplotlib is not installed.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
    >>> result = wafer.run(device, job, volume="2x")
    >>> from wafer import plot
    >>> plot.result(result, handles=True).get_xlabel()
    'host bytes / logical capacity'
    """
    ax = axes(ax)
    curves = [line for line in ax.lines if line.get_gid() != "published"]
    style.setdefault("color", DEVICE if handles else COLOURS[len(curves) % len(COLOURS)])
    timeline = result.timeline
    name = label or ("device" if handles else result.name)
    written, name_of_written = timeline._written
    ax.plot(written, timeline.waf, label=name, **style)
    plot_published(result, ax, color=style["color"])
    if handles:
        for key, handle in result.handles.items():
            # Where policies keep handles apart, nothing is moved into the GC open RU.
            if handle.total_host_bytes == 0:
                continue
            name = "GC open RU" if key == "gc" else f"handle {key}"
            colour, dashes = handle_colour(key), (0, (3, 1.5)) if key == "gc" else "-"
            ax.plot(written, handle.cumulative_waf, label=name, color=colour, ls=dashes, lw=1)
    label_axes(ax)
    ax.set_xlabel(name_of_written)
    label_lines(ax)
    return ax


def plot_published(result: Run, ax: Axes, *, color: str, marker: str = "o") -> int:
    """Plots the published points of a record, hollow and named, and returns how many lie within the run.

    The record of a scaled device may hold the points of the whole drive, which lie beyond its end.

    Parameters
    ----------
    result
        The run.
    ax
        The axes.
    color
        Colour of the points.
    marker
        Shape of the points.
    """
    drawn = 0
    for published in result.record.get("published", []):
        volume = np.asarray(published["host_bytes"], dtype=np.float64) / result.capacity
        inside = (volume > 0) & (volume <= result.timeline.volume[-1] * 1.001)
        waf = np.asarray(published["waf"], dtype=np.float64)
        ax.plot(volume[inside], waf[inside], marker=marker, color=color, gid="published", **PUBLISHED)
        if np.any(inside) and published.get("reference"):
            at = (volume[inside][0], waf[inside][0])
            how: dict[str, Any] = {"textcoords": "offset points", "fontsize": 6.5, "color": color}
            ax.annotate(str(published["reference"]), at, (4, -9), **how)
        drawn += int(np.count_nonzero(inside))
    return drawn


def plot_fit(fit: Fitted, ax: Axes | None = None) -> Axes:
    """Plots the measured curve, the calibrated one, and the end of the fitted part.

    Parameters
    ----------
    fit
        The calibration.
    ax
        Axes to draw on. Default: new ones, one column wide.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    MissingExtra
        Matplotlib is not installed.

    Examples
    --------
    >>> from wafer import plot
    >>> ax = plot.fit(fit)  # doctest: +SKIP
    """
    ax = axes(ax)
    volume = fit.curve.host_bytes / fit.capacity
    step = max(1, len(volume) // 60)
    measured = {**PUBLISHED, "markersize": 3.5}
    ax.plot(
        volume[1:][::step],
        fit.curve.waf[1:][::step],
        marker="o",
        color=COLOURS[1],
        label="measured",
        **measured,
    )
    ax.plot(fit.result.timeline.volume, fit.result.timeline.waf, color=COLOURS[0], label="calibrated")
    end = fit.fitted / fit.capacity
    if end < 0.999 * volume[-1]:
        ax.axvspan(0, end, color=COLOURS[0], alpha=0.07, linewidth=0)
        ax.text(end, 0.02, " predicted", transform=ax.get_xaxis_transform(), fontsize=7, va="bottom")
        ax.text(end, 0.02, "fitted ", transform=ax.get_xaxis_transform(), fontsize=7, va="bottom", ha="right")
    label_axes(ax)
    label_lines(ax)
    return ax


def plot_several(
    results: Sequence[tuple[str, AnyRun]],
    ax: Axes,
    published: Callable[[AnyRun], list[tuple[float, float]]] = lambda result: [],
) -> Axes:
    """Plots several labelled runs, with hollow published points.

    The points come from the record or, if it has none within the run, from ``published`` as (volume, WAF).

    Parameters
    ----------
    results
        Label and run, in order.
    ax
        The axes.
    published
        Returns the points of a run whose record has none.
    """
    for number, (label, result) in enumerate(results):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        # Later lines are dashed, because they may cover an earlier one.
        line = "-" if number < 3 else (0, (4, 2))
        ax.plot(result.timeline.volume, result.timeline.waf, color=colour, label=label, linestyle=line)
        drawn = plot_published(result, ax, color=colour, marker=marker)
        points = [] if drawn else published(result)
        if points:
            ax.plot(*zip(*points), marker=marker, color=colour, **PUBLISHED)
    legend(ax)
    return label_axes(ax)
