"""Plots of sweeps: lines with confidence intervals, and crossovers between two choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wafer._errors import ConfigError
from wafer._protocols import Grid
from wafer.plot.labels import label_lines
from wafer.plot.style import COLOURS, MARKERS, axes
from wafer.stats import compare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Crossover", "crossover", "key_name", "plot_crossover", "plot_sweep"]


def key_name(key: str) -> str:
    """Returns a key as axes show it.

    Parameters
    ----------
    key
        Dotted key of an experiment.
    """
    return key.removeprefix("device.").removeprefix("workload.").removeprefix("label.")


def plot_sweep(
    sweep: Grid, x: str, series: str | None = None, value: str = "waf", ax: Axes | None = None
) -> Axes:
    """Plots a column over a key, with a line for each value of ``series``.

    Bands are 95 % confidence intervals over seeds; error bars where the key is not a number.

    Parameters
    ----------
    sweep
        Finished sweep.
    x
        Key on the horizontal axis.
    series
        Key whose values get a line each. Default: one line.
    value
        Column of the rows.
    ax
        Axes to draw on. Default: new ones, one column wide.

    Returns
    -------
    Axes
        The axes, with the lines named at their ends.

    Raises
    ------
    ConfigError
        No single key of the sweep matches ``x`` or ``series``, or no point has a result.
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
    >>> plot.sweep(sweep, "overprovisioning").get_xlabel()
    'overprovisioning'
    """
    ax = axes(ax)
    keys = [sweep.key(x), *([sweep.key(series)] if series else [])]
    groups: dict[Any, list[tuple[Any, Any]]] = {}
    for summary in sweep.summary(value, by=keys):
        group = summary.values[keys[1]] if series else ""
        groups.setdefault(group, []).append((summary.values[keys[0]], summary.mean))
    if not groups:
        raise ConfigError("no point of the sweep has a result to plot; its `errors` say why")
    for number, (group, points) in enumerate(groups.items()):
        numeric = all(isinstance(at, (int, float)) for at, _ in points)
        points = sorted(points, key=lambda point: point[0]) if numeric else points
        halves = np.array([0.0 if np.isnan(mean.half) else mean.half for _, mean in points])
        at = [at if numeric else str(at) for at, _ in points]
        means = np.array([mean.value for _, mean in points])
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        label = str(group) if series else "_"
        ax.plot(at, means, color=colour, marker=marker, markersize=4, label=label)
        if numeric and np.any(halves):
            ax.fill_between(at, means - halves, means + halves, color=colour, alpha=0.2, linewidth=0)
        elif np.any(halves):
            ax.errorbar(at, means, yerr=halves, fmt="none", color=colour, capsize=2)
    ax.set_xlabel(key_name(keys[0]))
    ax.set_ylabel("WAF" if value == "waf" else value)
    if series:
        label_lines(ax)
    return ax


@dataclass(frozen=True)
class Crossover:
    """The crossover point along a key, above which B writes less than A."""

    #: Value of the grouping key; ``None`` without one.
    group: Any
    #: Last crossing of the lines of mean WAF; ``None`` if they do not cross.
    at: float | None
    #: (value of the key, media bytes of B relative to A less one), ordered by key.
    changes: tuple[tuple[float, float], ...]
    #: The crossing for each seed that has one.
    seeds: tuple[float, ...] = ()

    def __str__(self) -> str:
        where = "nowhere" if self.at is None else f"at {self.at:.3f}"
        if len(self.seeds) > 1:
            where += f" (seeds: {', '.join(f'{at:.3f}' for at in self.seeds)})"
        shares = ", ".join(f"{at:g}: {100 * share:+.1f} %" for at, share in self.changes)
        return f"{'' if self.group is None else f'{self.group}: '}{where}; {shares}"


# WAF by key, choice and seed.
_Wafs = dict[float, dict[Any, dict[int, float]]]


def crossover(sweep: Grid, x: str, choice: str, a: Any, b: Any, group: str | None = None) -> list[Crossover]:
    """Returns the crossover points of two values of a key along another key.

    Runs are paired by seed, and the crossover is interpolated linearly between points.

    Parameters
    ----------
    sweep
        Finished sweep.
    x
        Numeric key along which to look for the crossover, such as ``overprovisioning``.
    choice
        Key whose values ``a`` and ``b`` are compared, such as ``isolation``.
    a
        First value.
    b
        Second value.
    group
        Key whose values each get a crossover. Default: one for all.

    Raises
    ------
    ConfigError
        No point succeeded, no point has both values, or no single key matches.
    """
    x_key, choice_key = sweep.key(x), sweep.key(choice)
    group_key = sweep.key(group) if group else None
    rows: dict[Any, _Wafs] = {}
    for row in sweep.rows:
        if row["status"] == "done":
            at = rows.setdefault(row[group_key] if group_key else None, {}).setdefault(float(row[x_key]), {})
            at.setdefault(row[choice_key], {})[int(row.get("seed") or 0)] = float(row["waf"])
    if not rows:
        raise ConfigError(f"crossover: none of the {len(sweep.rows)} points is done")
    found = []
    for name, wafs in rows.items():
        both = {at: values for at, values in sorted(wafs.items()) if a in values and b in values}
        if not both:
            raise ConfigError(f"crossover: no points with both {a} and {b} of {choice_key}")
        changes = tuple((at, compare(values[a], values[b]).share) for at, values in both.items())
        pairs = {at: sorted(values[a].keys() & values[b].keys()) for at, values in both.items()}
        gaps = {at: {s: both[at][a][s] - both[at][b][s] for s in seeds} for at, seeds in pairs.items()}
        mean = {at: float(np.mean(list(of.values()))) for at, of in gaps.items()}
        common = sorted(set.intersection(*(set(seeds) for seeds in pairs.values())))
        alone = [_crossing({at: of[seed] for at, of in gaps.items()}) for seed in common]
        found.append(Crossover(name, _crossing(mean), changes, tuple(at for at in alone if at is not None)))
    return found


def _crossing(gaps: Mapping[float, float]) -> float | None:
    """Returns where a gap last becomes positive, interpolated linearly."""
    crossing = None
    for (x0, y0), (x1, y1) in zip(gaps.items(), list(gaps.items())[1:]):
        if y0 <= 0 < y1:
            crossing = x0 + (x1 - x0) * -y0 / (y1 - y0)
    return crossing


def plot_crossover(
    sweep: Grid,
    x: str,
    choice: str,
    a: Any,
    b: Any,
    group: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plots how much more ``b`` writes to the media than ``a``, in percent, over ``x``.

    ``b`` is better below zero. The arguments are those of :func:`wafer.figures.crossover`.

    Parameters
    ----------
    sweep
        Finished sweep.
    x
        Numeric key on the horizontal axis.
    choice
        Key whose values ``a`` and ``b`` are compared.
    a
        First value.
    b
        Second value.
    group
        Key whose values get a line each.
    ax
        Axes to draw on. Default: new ones, one column wide.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    ConfigError
        As for :func:`wafer.figures.crossover`.
    MissingExtra
        Matplotlib is not installed.

    Examples
    --------
    >>> import tempfile, wafer
    >>> job = "[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n"
    >>> small = {"profile": "warp", "capacity": "64MiB", "reclaim_unit": {"size": "1MiB"}}
    >>> spec = {"device": small, "workload": {"fio_text": job}, "volume": "2x"}
    >>> spec["grid"] = {"overprovisioning": [0.5, 0.6], "gc_policy": ["greedy", "fifo"]}
    >>> sweep = wafer.sweep(spec, out=tempfile.mkdtemp())
    >>> from wafer import plot
    >>> plot.crossover(sweep, "overprovisioning", "gc_policy", "greedy", "fifo").get_xlabel()
    'overprovisioning'
    """
    ax = axes(ax)
    for number, found in enumerate(crossover(sweep, x, choice, a, b, group)):
        colour = COLOURS[number % len(COLOURS)]
        label = "_" if found.group is None else str(found.group)
        xs, ys = zip(*found.changes)
        ax.plot(xs, [100 * y for y in ys], color=colour, marker=MARKERS[number % len(MARKERS)], label=label)
        if found.at is not None:
            ax.axvline(found.at, color=colour, linestyle=":", linewidth=1, label="_")
    ax.axhline(0, color="black", linewidth=0.8, label="_")
    ax.set_xlabel(key_name(sweep.key(x)))
    ax.set_ylabel(f"media bytes: {b}\nagainst {a}, %")
    if group:
        label_lines(ax)
    return ax
