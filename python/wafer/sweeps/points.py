"""The points of a sweep: lists, grids, random samples and Latin hypercubes over an experiment."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wafer import _toml, _wafer
from wafer._arguments import file, flag, number, read_text, whole
from wafer._errors import ConfigError
from wafer.device import dotted, nested, profiles

__all__ = ["Point", "Spec", "read_spec"]

# Keys of a sweep that are not keys of an experiment.
_OWN = ("name", "points", "grid", "random", "latin", "seeds", "compare", "validate")
# Tables of an experiment whose keys a sweep may name with a prefix.
_TABLES = ("device", "workload")
# Keys of a range of values to draw from.
_RANGE = ("low", "high", "log", "integer")
# Prefix of labels, which are only columns of the catalogue.
_LABEL = "label."


@dataclass(frozen=True)
class Point:
    """One run of a sweep: an experiment, complete except for the files that its workload reads."""

    experiment: dict[str, Any]
    #: What distinguishes it from the other points.
    values: dict[str, Any]

    @property
    def id(self) -> str:
        """Digest of the experiment, which names the record. Equal points have equal ids on any machine."""
        text = json.dumps(self.experiment, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Spec:
    """The specification of a sweep."""

    name: str
    base: dict[str, Any]
    axes: list[list[dict[str, Any]]]
    folder: Path

    def points(self) -> list[Point]:
        """Returns all points, each once, in the order of the axes; the last varies fastest.

        Raises
        ------
        ConfigError
            Two points differ only in a label.
        """
        found: dict[str, Point] = {}
        for parts in itertools.product(*self.axes):
            values = {key: value for part in parts for key, value in part.items()}
            point = Point(_resolve(self.base, values, self.folder), values)
            same = found.setdefault(point.id, point)
            labels = [key for key in values if key.startswith(_LABEL) and same.values.get(key) != values[key]]
            if labels:
                raise ConfigError(
                    f"{self.name}: {labels[0]}: two points differ in nothing else, so they are one run"
                )
        return list(found.values())


def read_spec(source: str | os.PathLike[str] | Mapping[str, Any], folder: Path | None = None) -> Spec:
    """Reads a sweep from a TOML file or a dict.

    A sweep is an experiment with ``points``, ``grid``, ``random``, ``latin`` or ``seeds``.

    Parameters
    ----------
    source
        The file, or the dict.
    folder
        Folder from which relative paths of a dict start.

    Returns
    -------
    Spec
        The specification, whose ``points()`` are the runs.

    Raises
    ------
    ConfigError
        The sweep is invalid; the message names the key.
    """
    if isinstance(source, Mapping):
        given, name, where = dict(source), str(source.get("name", "sweep")), folder or Path()
        place = name
    else:
        path = Path(file("source", source))
        place, name, where = str(path), path.stem, path.parent
        given = _loads(path)
    kept = {key: value for key, value in given.items() if key not in _OWN and value is not None}
    base = {key: _plain(f"{place}: {key}", value) for key, value in kept.items()}
    if isinstance(base.get("device"), Mapping):
        base["device"] = nested(base["device"])
    first = whole(f"{place}: seed", base.get("seed", 1))
    axes: list[list[dict[str, Any]]] = []
    if "points" in given:
        axes.append(_points(place, given["points"], base))
    grid = _table(place, given, "grid")
    for key, values in grid.items():
        values = values.tolist() if hasattr(values, "tolist") else values
        if not isinstance(values, (list, tuple, range)) or not values:
            raise ConfigError(f"{place}: grid.{key}: expected a list of at least one value")
        axes.append([_values(f"{place}: grid", {key: value}, base) for value in values])
    for kind in ("random", "latin"):
        table = _table(place, given, kind)
        if table:
            axes.append(_drawn(place, kind, table, base))
    if "seeds" in given:
        count = whole(f"{place}: seeds", given["seeds"], 1)
        axes.append([{"seed": first + more} for more in range(count)])
    if not axes:
        raise ConfigError(f"{place}: nothing to vary; give points, grid, random, latin or seeds")
    keys = [key for axis in axes for key in {key for part in axis for key in part}]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise ConfigError(f"{place}: {', '.join(sorted(twice))}: varied twice")
    return Spec(name, base, axes, where.resolve())


def _loads(path: Path) -> dict[str, Any]:
    text = read_text(path)
    try:
        return _toml.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None


def _table(place: str, given: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = given.get(key, {})
    if not isinstance(table, Mapping):
        raise ConfigError(f"{place}: {key}: expected a table")
    return _flattened(table) if key == "grid" else dict(table)


def _flattened(table: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Returns dotted keys: ``[grid.device.gc] policy`` becomes ``device.gc.policy``."""
    flattened: dict[str, Any] = {}
    for name, value in table.items():
        key = f"{path}{name}"
        # A model's table below `workload` is replaced as a whole, and so are the handles' isolations.
        whole_value = path.startswith("workload.") or name == "handle_isolation"
        if isinstance(value, Mapping) and not whole_value:
            flattened.update(_flattened(value, f"{key}."))
        else:
            flattened[key] = value
    return flattened


def _points(place: str, given: Any, base: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the listed points; keys that a point omits keep the value of the experiment."""
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(p, Mapping) for p in given):
        raise ConfigError(f"{place}: points: expected a list of tables")
    return [_values(f"{place}: points", _flattened(point), base) for point in given]


def _values(place: str, given: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a point varies: full keys, and values that JSON and TOML can represent."""
    values = {_key(key, base): _plain(f"{place}.{key}", value) for key, value in given.items()}
    if "seed" in values:
        whole(f"{place}.seed", values["seed"])
    return values


def _key(key: str, base: Mapping[str, Any]) -> str:
    """Returns the full key: ``overprovisioning`` becomes ``device.overprovisioning``."""
    if key in (*_TABLES, "seed", "volume", "pace", "pace_from", "precondition", "samples"):
        return key
    table, _, rest = key.partition(".")
    if key.startswith(_LABEL):
        return key
    if table in _TABLES:
        return f"device.{dotted(rest)}" if table == "device" else key
    return f"device.{dotted(key)}"


def _plain(name: str, value: Any) -> Any:
    """Returns a value that JSON and TOML can represent."""
    try:
        return None if value is None else _toml.plain(value)
    except TypeError as error:
        raise ConfigError(f"{name}: {error}; a sweep takes plain values, tables and paths of files") from None


def _drawn(place: str, kind: str, table: dict[str, Any], base: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the points of a table ``random`` or ``latin``."""
    samples = whole(f"{place}: {kind}.samples", table.pop("samples", None), 1)
    rng = np.random.default_rng(whole(f"{place}: {kind}.seed", table.pop("seed", 1)))
    if not table:
        raise ConfigError(f"{place}: {kind}: no keys to vary")
    scales = {_key(key, base): _scale(f"{place}: {kind}.{key}", what) for key, what in table.items()}
    if kind == "random":
        unit = rng.random((samples, len(scales)))
    else:
        # One sample in each of `samples` slices of every range, slices paired at random.
        slices = np.stack([rng.permutation(samples) for _ in scales], axis=1)
        unit = (slices + rng.random(slices.shape)) / samples
    return [{key: scale(u) for (key, scale), u in zip(scales.items(), row)} for row in unit]


def _scale(name: str, given: Any) -> Callable[[float], Any]:
    """Returns what turns numbers from 0 to 1 into values of a list or a range."""
    what = _plain(name, given)
    if isinstance(what, list) and what:
        return lambda u: what[min(int(u * len(what)), len(what) - 1)]
    if not isinstance(what, Mapping) or not {"low", "high"} <= what.keys():
        raise ConfigError(f"{name}: expected a list, or low and high")
    for key in what.keys() - set(_RANGE):
        raise ConfigError(f"{name}: no key `{key}` of a range; known: {', '.join(_RANGE)}")
    low, high = (number(f"{name}.{key}", what[key]) for key in ("low", "high"))
    log, integer = (flag(f"{name}.{key}", what.get(key)) for key in ("log", "integer"))
    if not low < high or (log and low <= 0):
        raise ConfigError(f"{name}: low must be below high, and above 0 with log")
    if integer and math.ceil(low) > math.floor(high):
        raise ConfigError(f"{name}: no whole number lies between low and high")
    # Each whole number represents an interval of length 1, including the ends.
    end = math.floor(high) + 1 if integer else high
    start = math.ceil(low) if integer else low

    def scale(u: float) -> float:
        """Returns the value at a share of the range."""
        value = start * (end / start) ** u if log else start + (end - start) * u
        # Six digits are more than any parameter needs, and print well.
        return min(math.floor(value), end - 1) if integer else float(f"{value:.6g}")

    return scale


def _resolve(base: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Returns the experiment of a point, with the text of its job and device files."""
    made: dict[str, Any] = copy.deepcopy({k: v for k, v in base.items() if k != "description"})
    # Copies, as points share the values that are tables.
    device, workload = (copy.deepcopy(values.get(table, made.get(table, {}))) for table in _TABLES)
    if not isinstance(device, (str, Mapping)):
        raise ConfigError(f"device: expected a name or a table, not {device!r:.60}")
    if not isinstance(workload, Mapping):
        raise ConfigError(f"workload: expected a table, not {workload!r:.60}")
    both = ("device.overprovisioning", "device.reclaim_unit.count")
    if all(key in values for key in both):
        raise ConfigError(f"{' and '.join(both)}: one follows from the other; vary one of them")
    made["device"] = {"profile": device} if isinstance(device, str) else dict(device)
    if workload:
        made["workload"] = dict(workload)
    for key, value in values.items():
        table, _, rest = key.partition(".")
        if key in _TABLES or key.startswith(_LABEL):
            continue
        target = made
        if table in _TABLES and rest:
            target = made.setdefault(table, {})
            *parents, leaf = rest.split(".")
            for parent in parents:
                target = target.setdefault(parent, {})
                if not isinstance(target, dict):
                    raise ConfigError(f"{key}: {parent} is a value, not a table")
            _exclusive(made["device"], rest)
            target[leaf] = value
        else:
            target[key] = value
    _inline_device(made["device"], folder)
    workload = made.get("workload", {})
    if "fio" in workload:
        path = folder / workload.pop("fio")
        # The record's name, and that of the job in messages.
        made.setdefault("name", path.stem)
        workload["fio_text"] = _wafer.Workload.job_text(os.fspath(path))
    return made


def _exclusive(device: dict[str, Any], key: str) -> None:
    """Removes the number of RUs if over-provisioning is varied, and vice versa: one implies the other."""
    if key == "overprovisioning" and isinstance(device.get("reclaim_unit"), dict):
        device["reclaim_unit"].pop("count", None)
    elif key == "reclaim_unit.count":
        device.pop("overprovisioning", None)


def _inline_device(device: dict[str, Any], folder: Path) -> None:
    """Copies a device file into the experiment, so that workers of a cluster do not need the file."""
    profile = device.get("profile")
    if profile is None or profile in profiles():
        return
    path = folder / str(profile)
    if not path.exists():
        return  # The run reports what is wrong with the name.
    del device["profile"]
    lower = _loads(path)
    if "overprovisioning" in device:
        lower.get("reclaim_unit", {}).pop("count", None)
    elif "count" in device.get("reclaim_unit", {}):
        lower.pop("overprovisioning", None)
    upper = copy.deepcopy(device)
    device.clear()
    device.update(_merged(lower, upper))


def _merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(below, value) if both else value  # type: ignore[arg-type]
    return merged


def walk(points: list[Point]) -> list[str]:
    """Returns all keys that the points vary, in order of first use."""
    return list(dict.fromkeys(key for point in points for key in point.values))
