"""Results as tidy data frames: one row per run, per run and sample, or per run and handle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from wafer import _wafer
from wafer._errors import ConfigError
from wafer._extras import need
from wafer._protocols import Run

__all__ = ["columns", "made"]

#: Totals of the summary that become columns.
_TOTALS = ("host_bytes", "media_bytes", "erased_bytes", "relocated_pages", "waf")
_ROWS = ("run", "sample", "handle")
_LIBRARIES = ("polars", "pandas")


def made(table: Mapping[str, Any], library: str) -> Any:
    """Returns columns as a data frame of a library.

    Parameters
    ----------
    table
        Columns by name.
    library
        ``"polars"`` or ``"pandas"``.

    Raises
    ------
    ConfigError
        The library is not one of those known.
    MissingExtra
        It is not installed.
    """
    if library not in _LIBRARIES:
        raise ConfigError(f"library: {library!r} is not one of {', '.join(_LIBRARIES)}")
    module = need(library, "analysis" if library == "polars" else "frames")
    return module.DataFrame(dict(table))


def columns(runs: Sequence[Run], by: str) -> dict[str, Any]:
    """Returns the columns of :func:`wafer.frame`.

    Parameters
    ----------
    runs
        The results.
    by
        ``"run"``, ``"sample"`` or ``"handle"``.

    Raises
    ------
    ConfigError
        ``by`` is not one of these.
    """
    if by not in _ROWS:
        raise ConfigError(f"by: {by!r} is not one of {', '.join(_ROWS)}")
    names = _wafer.labels([run.to_json() for run in runs]) if len(runs) > 1 else [runs[0].name]
    if by == "run":
        return _by_run(runs, names)
    parts = [_samples(run) if by == "sample" else _handles(run) for run in runs]
    counts = [len(part["host_bytes"]) for part in parts]
    seeds = [run.seed for run, count in zip(runs, counts) for _ in range(count)]
    table: dict[str, Any] = {
        "run": [name for name, count in zip(names, counts) for _ in range(count)],
        # NumPy arrays have no null, which is the seed of a measured drive.
        "seed": seeds if None in seeds else np.array(seeds, dtype=np.uint64),
    }
    for key in parts[0]:
        found = [part[key] for part in parts]
        table[key] = np.concatenate(found) if isinstance(found[0], np.ndarray) else list(chain(*found))
    return table


def _by_run(runs: Sequence[Run], names: Sequence[str]) -> dict[str, Any]:
    table: dict[str, Any] = {"run": list(names), "seed": [run.seed for run in runs]}
    configs = [dict(_flat(run.record["provenance"].get("config") or {})) for run in runs]
    for key in dict.fromkeys(key for config in configs for key in config):
        values = [config.get(key) for config in configs]
        if any(value != values[0] for value in values):
            table[key] = values
    table["volume"] = [run.host_bytes / (run.capacity or math.nan) for run in runs]
    for key in _TOTALS:
        table[key] = [run.summary.get(key) for run in runs]
    table["digest"] = [run.record.get("digest") for run in runs]
    return table


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields dotted keys with their values; lists as text."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value) if isinstance(value, list) else value


def _samples(run: Run) -> dict[str, Any]:
    timeline = run.timeline
    return {
        "volume": timeline.volume,
        "host_bytes": timeline.host_bytes,
        "media_bytes": timeline.media_bytes,
        "waf": timeline.waf,
        "instantaneous_waf": timeline.instantaneous_waf,
    }


def _handles(run: Run) -> dict[str, Any]:
    handles = run.handles
    return {
        "handle": [str(key) for key in handles],
        "host_bytes": np.array([handle.total_host_bytes for handle in handles.values()], dtype=np.uint64),
        "media_bytes": np.array([handle.total_media_bytes for handle in handles.values()], dtype=np.uint64),
        "waf": np.array([handle.waf for handle in handles.values()], dtype=np.float64),
    }
