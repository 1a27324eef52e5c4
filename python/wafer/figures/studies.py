"""The figures of the published studies, from result records and the table of ``wafer reproduce``.

Each figure is a function of the material that returns ``None`` if its records are missing. Published points
are hollow; simulated ones are lines or filled.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from wafer._errors import ConfigError
from wafer.device import Device
from wafer.plot.curves import label_axes, plot_published, plot_several
from wafer.plot.style import COLOURS, MARKERS, PUBLISHED, grid_of_axes, handle_colour, legend, title
from wafer.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "Material", "StudyFigure"]

TRAFFIC = {"zipf22": "zipf 2.2", "zipf12": "zipf 1.2", "zoned": "80/20", "uniform": "uniform"}
PLACEMENTS = {"fdp": "a handle each", "fdp-share": "two share a handle", "nofdp": "no FDP"}


@dataclass
class Material:
    """The records that figures are plotted from."""

    results: list[Result] = field(default_factory=list)
    #: Rows of ``reproduce.json``.
    rows: list[dict[str, Any]] = field(default_factory=list)

    def with_job(self, stem: str) -> list[Result]:
        """Returns the simulated runs of a job file, by its name without extension."""
        simulated = [r for r in self.results if r.record["provenance"].get("geometry") is not None]
        return [r for r in simulated if PurePath(_workload(r)["path"]).stem == stem]

    def row(self, identifier: str) -> dict[str, Any] | None:
        """Returns a row of ``reproduce.json`` by its id."""
        return next((row for row in self.rows if row["id"] == identifier), None)

    def points(self, result: Result) -> list[tuple[float, float]]:
        """Returns the published points of a run, from ``reproduce.json``, as (volume, WAF)."""
        found = []
        for row in self.rows:
            experiment, _, at = row["id"].rpartition("/")
            volume = at.removeprefix("x")
            if (
                experiment.replace("/", "-") == result.name
                and at != volume
                and volume.replace(".", "").isdigit()
            ):
                found.append((float(volume), float(row["published"])))
        return sorted(found)

    def study(self, name: str) -> list[dict[str, Any]]:
        """Returns the rows of a study that have a simulated value."""
        return [r for r in self.rows if r["id"].split("/")[0] == name and r.get("ours") is not None]


@dataclass(frozen=True)
class StudyFigure:
    """A figure: name of its file, title, and the function that plots it."""

    name: str
    title: str
    draw: Callable[[Material], Figure | None]


def _workload(result: Result) -> dict[str, Any]:
    workload: dict[str, Any] = result.record["provenance"]["workload"]
    return workload


def _device(result: Result) -> str:
    return PurePath(str(result.record["provenance"]["device"])).stem


def _logical_rus(result: Result) -> float:
    return float(result.geometry["logical_pages"]) / float(result.geometry["pages_per_ru"])


#: Logical capacity of the emulator with one stream, MiB. Scaled runs keep the number of its reclaim units.
_EMULATOR_MIB = 448 * 1024


@cache
def _shipped_spare(profile: str) -> float:
    """Returns the over-provisioning of a shipped profile; NaN if there is none of this name."""
    try:
        return Device(profile).overprovisioning
    except ConfigError:
        return math.nan


def _seed(result: Result) -> int:
    """Returns the seed for sorting; runs without one come first."""
    return -1 if result.seed is None else result.seed


def _first(
    results: Sequence[Result], device: str, isolation: str | None = None, spare: float | None = None
) -> Result | None:
    """Returns the longest run of the study's own device with the smallest seed.

    The device is greedy, has eight handles, and the over-provisioning of its profile, or ``spare``,
    within half a point.
    """
    spare = _shipped_spare(device) if spare is None else spare
    kept = [
        r
        for r in results
        if _device(r) == device
        and r.config["gc"]["policy"] == "greedy"
        and r.config["handles"] == 8
        and (isolation is None or r.config["isolation"] == isolation)
        and abs(r.geometry["overprovisioning"] - spare) <= 0.005
    ]

    def order(result: Result) -> tuple[bool, float, int]:
        # A run named after its job is the study's own; others vary something.
        stem = PurePath(_workload(result)["path"]).stem
        volume = round(result.host_bytes / result.capacity, 2)
        return (stem not in result.name, -volume, _seed(result))

    return min(kept, key=order, default=None)


def _panel(material: Material, curves: Sequence[tuple[str, Result | None]], heading: str) -> Figure | None:
    """Plots the runs in one panel; returns ``None`` if there are none."""
    found = [(label, result) for label, result in curves if result is not None]
    if not found:
        return None
    figure, (ax,) = grid_of_axes(1)
    plot_several(found, ax, material.points)
    title(ax, heading)
    return figure


def one_stream(material: Material) -> Figure | None:
    """WARP, Fig. 11: one stream of 128 KiB random writes."""
    results = material.with_job("one-stream")
    curves = [(f"commercial drive {name}", _first(results, f"drive-{name.lower()}")) for name in "AB"]
    # The labels include the size of reclaim units, so runs with other sizes are left out.
    for size, percent in ((128, 14), (256, 10)):
        runs = [r for r in results if abs(_EMULATOR_MIB / _logical_rus(r) / size - 1) < 0.01]
        label = f"emulator, {size} MiB RUs, OP {percent} %"
        curves.append((label, _first(runs, "warp", spare=percent / 100)))
    return _panel(material, curves, "One stream (lines: wafer; hollow: measured)")


def three_streams(material: Material) -> Figure | None:
    """WARP, Figs 13 and 14: three streams in three placements, II."""
    panels = []
    for traffic, name in TRAFFIC.items():
        curves = []
        for placement, label in PLACEMENTS.items():
            results = material.with_job(f"three-stream-{traffic}-{placement}")
            first = _first(results, "warp", "initially")
            if first is not None:
                curves.append((label, first))
        if curves:
            panels.append((name, curves))
    if not panels:
        return None
    figure, found = grid_of_axes(len(panels))
    for (name, curves), ax in zip(panels, found):
        plot_several(curves, ax, material.points)
        title(ax, name)
        ax.set_ylabel("cumulative WAF" if ax is found[0] else "")
    return figure


def persistently_isolated(material: Material) -> Figure | None:
    """WARP, Figs 17 and 18: PI over time."""
    curves = []
    for traffic, placement in (("zoned", "fdp"), ("zipf12", "fdp-share")):
        results = material.with_job(f"three-stream-{traffic}-{placement}")
        first = _first(results, "warp-pi", "persistently")
        curves.append((f"{TRAFFIC[traffic]}, {PLACEMENTS[placement]}", first))
    return _panel(material, curves, "Persistently isolated, OP 10 %")


#: Published WAF of each handle at x6 (FAST '26, Fig. 16; those of handles 1 and 2 are lower bounds).
_HANDLES = {0: 1.2, 1: 3.0, 2: 3.3}


def noisy_handle(material: Material) -> Figure | None:
    """WARP, Fig. 16: WAF of each handle."""
    panels = []
    for device, isolation, name in (
        ("warp", "initially", "II"),
        ("warp-pi", "persistently", "PI (hollow: published)"),
    ):
        result = _first(material.with_job("three-stream-zoned-fdp"), device, isolation)
        if result is not None:
            panels.append((name, result))
    if not panels:
        return None
    roles = {0: "0: sequential", 1: "1: last 10 %, uniform", 2: "2: overwrites 0, 80/20", "gc": "GC open RU"}
    figure, found = grid_of_axes(len(panels))
    for (name, result), ax in zip(panels, found):
        for number, (key, handle) in enumerate(result.handles.items()):
            colour, marker = handle_colour(key), MARKERS[number % len(MARKERS)]
            ax.plot(
                result.timeline.volume, handle.cumulative_waf, color=colour, label=roles.get(key, str(key))
            )
            if result.config["isolation"] == "persistently" and key in _HANDLES:
                ax.plot([6], [_HANDLES[key]], marker=marker, color=colour, **PUBLISHED)
        title(ax, name)
        label_axes(ax, "cumulative WAF of the handle" if ax is found[0] else "")
    legend(found[0])
    return figure


def save_sequential(material: Material) -> Figure | None:
    """WARP, Fig. 15: extra media bytes by the handle that causes them."""
    runs = material.with_job("three-stream-zoned-fdp")
    # Prefer the run with attribution of relocations.
    result = _first([r for r in runs if r.record.get("attribution")], "warp", "initially")
    result = result or _first(runs, "warp", "initially")
    if result is None:
        return None
    figure, (ax,) = grid_of_axes(1)
    timeline = result.timeline
    extra = {
        key: (h.media_bytes.astype(np.float64) - h.host_bytes.astype(np.float64)) / result.capacity
        for key, h in result.handles.items()
    }
    labels = {0: "0: sequential", 1: "1: last 10 %", 2: "2: 80/20", "gc": "moved again"}
    ax.stackplot(
        timeline.volume,
        list(extra.values()),
        labels=[labels.get(key, str(key)) for key in extra],
        colors=COLOURS[: len(extra)],
        alpha=0.85,
        linewidth=0,
    )
    end, total = float(timeline.volume[-1]), float(sum(part[-1] for part in extra.values()))
    attribution = result.record.get("attribution")
    if attribution and abs(end - 5) < 0.01:
        caused = np.asarray(attribution["relocated_bytes"], dtype=np.float64)
        ours = total * float(caused[0].sum() / caused.sum())
        ax.plot([end], [ours], "o", color="black", clip_on=False, label="caused by 0")
        marker = {**PUBLISHED, "markersize": 8}
        ax.plot(
            [end],
            [total / 2],
            marker="o",
            color="black",
            clip_on=False,
            label="the same, published",
            **marker,
        )
    legend(ax, loc="upper left")
    ax.set_xlabel("host bytes / logical capacity")
    ax.set_ylabel("extra media bytes / logical capacity")
    title(ax, "Save Sequential: by origin, 80/20")
    return figure


#: Published WAF at x5 (FAST '26, Figs 17 and 18), 80/20, 224 GiB: RU in MiB, isolation -> OP -> WAF.
_MAP = {
    (256, "initially"): {0.05: 2.278, 0.07: 1.961, 0.10: 1.488, 0.14: 1.128},
    (256, "persistently"): {0.05: 2.365, 0.07: 1.972, 0.10: 1.264, 0.14: 1.100},
    (128, "initially"): {0.05: 1.884, 0.07: 1.403, 0.10: 1.203, 0.14: 1.118},
    (128, "persistently"): {0.05: 1.908, 0.07: 1.476, 0.10: 1.264, 0.14: 1.062},
}


def isolation_map(material: Material) -> Figure | None:
    """WARP, Figs 17 and 18: II against PI over over-provisioning, at x5."""
    ours: dict[tuple[int, str], dict[float, list[float]]] = {}
    for result in material.with_job("three-stream-zoned-fdp"):
        # 224 GiB in RUs of 256 MiB are 896, in RUs of 128 MiB 1,792, whatever the scale.
        unit = next(
            (u for u, n in ((256, 896), (128, 1792)) if abs(_logical_rus(result) / n - 1) < 0.01), None
        )
        at5 = float(result.timeline.waf_at(5))
        if unit is None or np.isnan(at5) or _device(result) != "warp-pi":
            continue
        # Prefer the over-provisioning in the name: it excludes RUs that are never used.
        named = re.search(r"-op(\d+)$", result.name)
        spare = int(named[1]) / 100 if named else round(float(result.geometry["overprovisioning"]), 2)
        key = (unit, str(result.config["isolation"]))
        ours.setdefault(key, {}).setdefault(spare, []).append(at5)
    if not any(len(points) > 1 for points in ours.values()):
        return None
    figure, found = grid_of_axes(2)
    for unit, ax in zip((256, 128), found):
        for number, isolation in enumerate(("initially", "persistently")):
            colour, marker = COLOURS[number], MARKERS[number]
            published = _MAP[unit, isolation]
            ax.plot(
                [100 * op for op in published],
                list(published.values()),
                color=colour,
                marker=marker,
                markerfacecolor="none",
                linestyle=":",
                linewidth=1,
                label=f"{isolation[0].upper()}I, published",
            )
            points = sorted(ours.get((unit, isolation), {}).items())
            if points:
                ax.plot(
                    [100 * op for op, _ in points],
                    [float(np.mean(wafs)) for _, wafs in points],
                    color=colour,
                    marker=marker,
                    markersize=4,
                    label=f"{isolation[0].upper()}I, wafer",
                )
        title(ax, f"RU {unit} MiB")
        ax.set_xticks([5, 7, 10, 14])
        ax.set_xlabel("over-provisioning, %")
    found[0].set_ylabel("WAF at x5, 80/20")
    legend(found[0])
    return figure


#: Label and published cumulative WAF (KIOXIA, performance brief, 2025) by suffix of the run's name.
_KERNEL = {
    "memory-off": ("memory to spare, FDP off", 2.2),
    "memory-on": ("memory to spare, FDP on", 1.0),
    "8gb-off": ("8 GB, FDP off", 2.8),
    "8gb-on": ("8 GB, FDP on", 1.0),
}
#: Label by the part of the name before it: the model, and the captured build, alone and preconditioned.
_BUILDS = {
    "": "model",
    "captured-alone": "captured build, alone",
    "captured-preconditioned": "captured build, preconditioned",
}


def _builds(material: Material) -> dict[str, dict[str, Result]]:
    """Returns the runs of the kernel compilation by kind and scenario, with the smallest seed."""
    found: dict[str, dict[str, Result]] = {}
    for result in sorted(material.results, key=_seed):
        study, _, rest = result.name.rpartition("/")[-1].partition("-")
        for scenario in _KERNEL:
            kind = rest.removesuffix(scenario).rstrip("-")
            if study == "kioxia" and rest.endswith(scenario) and kind in _BUILDS:
                found.setdefault(kind, {}).setdefault(scenario, result)
    return {kind: found[kind] for kind in _BUILDS if kind in found}


def kernel_compilation(material: Material) -> Figure | None:
    """KIOXIA: cumulative, instantaneous and clamped WAF over the compilations."""
    builds = _builds(material)
    if not builds:
        return None
    figure, found = grid_of_axes(3, len(builds), sharey=False)
    for row, (kind, runs) in enumerate(builds.items()):
        panels = found[3 * row : 3 * row + 3]
        for number, (scenario, (label, published)) in enumerate(_KERNEL.items()):
            if scenario not in runs:
                continue
            timeline = runs[scenario].timeline
            colour, marker = COLOURS[number], MARKERS[number]
            instant = timeline.instantaneous_waf
            panels[0].plot(timeline.volume, timeline.waf, color=colour, label=label)
            # The volume is not published, so the point goes to the end of the run.
            end = [timeline.volume[-1]]
            panels[0].plot(end, [published], marker=marker, color=colour, clip_on=False, **PUBLISHED)
            panels[1].plot(timeline.volume, instant, color=colour, linewidth=0.7)
            panels[2].plot(timeline.volume, np.minimum(instant, 5), color=colour, linewidth=0.7)
        for ax, shown in zip(panels, ("cumulative", "instantaneous", "instantaneous, clamped at 5")):
            label_axes(ax, f"{shown} WAF" if ax is panels[0] else shown)
            ax.set_ylim(bottom=0.9)
        title(panels[1], f"Kernel compilation: {_BUILDS[kind]} (hollow: published)")
    handles, labels = found[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=7, frameon=False)
    return figure


_CACHES = {"soc4": "SOC 4 %", "soc20": "SOC 20 %", "soc40": "SOC 40 %"}
_EMULATED = {
    "emulator": "256 MiB RUs",
    "emulator-shares": "256 MiB RUs, shares as measured",
    "emulator-small-ru": "32 MiB RUs",
}


def cachelib(material: Material) -> Figure | None:
    """WARP: CacheLib with small-object caches (SOC) of several sizes, on drive A and on the emulator."""
    runs: dict[str, Result] = {}
    for result in sorted(material.results, key=_seed):
        _, found, kind = result.name.lower().rpartition("cachelib-")
        if found:
            runs.setdefault(kind, result)
    drives: list[tuple[str, str, str, Result]] = []
    for number, (share, label) in enumerate(_CACHES.items()):
        for kind, more, line in (("fdp", "FDP", "-"), ("nofdp", "no FDP", "--")):
            if f"{share}-{kind}" in runs:
                drives.append((f"{label}, {more}", COLOURS[number], line, runs[f"{share}-{kind}"]))
    emulated = [
        (label, COLOURS[number], "-", runs[kind])
        for number, (kind, label) in enumerate(_EMULATED.items())
        if kind in runs
    ]
    panels = [
        (name, curves)
        for name, curves in (("CacheLib on drive A", drives), ("emulator, SOC 40 %, FDP", emulated))
        if curves
    ]
    if not panels:
        return None
    figure, axes = grid_of_axes(len(panels))
    figure.set_size_inches(3.6 * len(panels), 2.9)
    for (name, curves), ax in zip(panels, axes):
        for number, (label, colour, line, result) in enumerate(curves):
            ax.plot(result.timeline.volume, result.timeline.waf, color=colour, linestyle=line, label=label)
            marker = MARKERS[number % len(MARKERS)]
            # The record with small RUs contains the curve of large ones; its own point is in the table.
            own = result.name.endswith("small-ru")
            if own or not plot_published(result, ax, color=colour, marker=marker):
                points = material.points(result)
                at, waf = [at for at, _ in points], [waf for _, waf in points]
                ax.plot(at, waf, marker=marker, color=colour, **PUBLISHED)
        title(ax, f"{name} (hollow: measured)")
        label_axes(ax, "cumulative WAF" if ax is axes[0] else "")
        # Leaves room for the legend above the curves.
        ax.set_ylim(0.95, 2.5)
        legend(ax, loc="upper left", ncols=2 if len(curves) > 3 else 1)
    return figure


def f2fs(material: Material) -> Figure | None:
    """WARP: F2FS file server."""
    runs: dict[tuple[bool, str], Result] = {}
    for result in sorted(material.results, key=_seed):
        name = result.name.lower()
        if "f2fs" in name:
            runs.setdefault(("captured" in name, name.rpartition("-")[-1]), result)
    placements = {"fdp": "FDP, a handle for each log", "nofdp": "no FDP"}
    sources = {False: "model", True: "recorded"}
    curves = [
        (f"{source}, {label}", runs.get((captured, kind)))
        for captured, source in sources.items()
        for kind, label in placements.items()
    ]
    return _panel(material, curves, "F2FS file server (lines: wafer; hollow: measured)")


#: A study with more rows than this is plotted as relative differences.
MOST_BARS = 16


def _differences(rows: list[dict[str, Any]], heading: str) -> Figure:
    """Plots the relative difference of each row from the published value, with its tolerance."""
    figure, (ax,) = grid_of_axes(1)
    figure.set_size_inches(5.5, 1.0 + 0.14 * len(rows))
    at = np.arange(len(rows))[::-1]
    published = np.array([row["published"] for row in rows], dtype=np.float64)
    ours = np.array([row["ours"] for row in rows], dtype=np.float64)
    spread = np.array([row.get("spread") or 0 for row in rows], dtype=np.float64)
    tolerance = np.array([row.get("tolerance") or 0 for row in rows], dtype=np.float64)
    far = 100 * (ours / published - 1)
    ax.barh(at, 200 * tolerance, left=-100 * tolerance, color="#DDDDDD", height=0.9, label="tolerance")
    inside = np.abs(far) <= 100 * tolerance
    for kept, colour, name in ((inside, COLOURS[0], "within"), (~inside, COLOURS[1], "outside")):
        if np.any(kept):
            ax.errorbar(
                far[kept],
                at[kept],
                xerr=(100 * spread / published)[kept],
                color=colour,
                marker="o" if name == "within" else "D",
                markersize=3,
                linestyle="none",
                label=name,
            )
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(at, [row["id"].split("/", 1)[1] for row in rows], fontsize=5.5)
    ax.set_ylim(-1, len(rows))
    ax.set_xlabel("wafer against published, %")
    title(ax, heading)
    ax.grid(axis="y", visible=False)
    legend(ax)
    return figure


def _bars(study: str, heading: str) -> Callable[[Material], Figure | None]:
    """Returns a plot of published and simulated values side by side, with tolerance and spread over seeds."""

    def draw(material: Material) -> Figure | None:
        # An order either holds or does not, so the table lists it.
        rows = [row for row in material.study(study) if "/order" not in row["id"]]
        if not rows:
            return None
        if len(rows) > MOST_BARS:
            return _differences(rows, heading)
        figure, (ax,) = grid_of_axes(1)
        figure.set_size_inches(max(3.5, 1.2 + 0.42 * len(rows)), 3.4)
        at = np.arange(len(rows))
        published = np.array([row["published"] for row in rows], dtype=np.float64)
        ours = np.array([row["ours"] for row in rows], dtype=np.float64)
        tolerance = published * np.array([row.get("tolerance") or 0 for row in rows], dtype=np.float64)
        spread = np.array([row.get("spread") or 0 for row in rows], dtype=np.float64)
        # Bars of WAF start at 1, so that their height is the avoidable part. Ratios start at 0.
        floor = 1.0 if min(float(published.min()), float(ours.min())) >= 0.99 else 0.0
        bar: dict[str, Any] = {"width": 0.38, "bottom": floor, "capsize": 2, "error_kw": {"linewidth": 0.8}}
        ax.bar(
            at - 0.2, published - floor, yerr=tolerance, color="#BBBBBB", label="published, tolerance", **bar
        )
        ax.bar(at + 0.2, ours - floor, yerr=spread, color=COLOURS[0], label="wafer, spread", **bar)
        names = [row["id"].split("/", 1)[1] for row in rows]
        ax.set_xticks(at, names, rotation=40, ha="right", fontsize=6.5)
        ax.set_ylabel("WAF (from 1)" if floor == 1.0 else "WAF; change: ratio of WAFs")
        title(ax, heading)
        ax.grid(axis="x", visible=False)
        legend(ax)
        return figure

    return draw


FIGURES: tuple[StudyFigure, ...] = (
    StudyFigure("warp-one-stream", "one stream", one_stream),
    StudyFigure("warp-three-streams", "three streams, three placements", three_streams),
    StudyFigure("warp-noisy-handle", "WAF of each handle", noisy_handle),
    StudyFigure("warp-save-sequential", "extra media bytes by origin", save_sequential),
    StudyFigure("warp-persistently-isolated", "persistently isolated, over time", persistently_isolated),
    StudyFigure("warp-isolation-map", "II against PI over over-provisioning", isolation_map),
    StudyFigure("warp-cachelib", "CacheLib", cachelib),
    StudyFigure("warp-f2fs", "F2FS file server", f2fs),
    StudyFigure("warp-table", "all figures of WARP", _bars("warp", "WARP (FAST '26)")),
    StudyFigure("kioxia-waf", "kernel compilation over time", kernel_compilation),
    StudyFigure("kioxia-table", "kernel compilation", _bars("kioxia", "Kernel compilation (KIOXIA)")),
    StudyFigure("namespaces-table", "four tenants", _bars("namespaces", "Four tenants, a namespace each")),
    StudyFigure("micron-table", "Aerospike on one drive", _bars("micron", "Aerospike (Micron)")),
)
