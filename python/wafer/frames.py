"""Results as tidy data frames: one row per run, per run and sample, or per run and handle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from wafer import _wafer
from wafer._arguments import several
from wafer._errors import ConfigError
from wafer._extras import need

if TYPE_CHECKING:
    from wafer.result import Result

__all__ = ["columns", "frame", "made"]

#: Totals of the summary that become columns.
_TOTALS = ("host_bytes", "media_bytes", "erased_bytes", "relocated_pages", "waf")
_ROWS = ("run", "sample", "handle")
_LIBRARIES = ("polars", "pandas")


def frame(results: Result | Sequence[Result], by: str = "run", *, library: str = "polars") -> Any:
    """Returns results as a tidy data frame.

    Parameters
    ----------
    results
        One result, or several.
    by
        ``"run"`` for one row per run, with its totals and the keys of the device that differ between the
        runs; ``"sample"`` for one row per run and sample of its timeline; ``"handle"`` for one row per run
        and handle.
    library
        ``"polars"`` (extra ``wafer[analysis]``) or ``"pandas"`` (extra ``wafer[frames]``).

    Returns
    -------
    Any
        A ``polars.DataFrame`` or a ``pandas.DataFrame``. ``run`` is the label of :func:`wafer.labels`,
        ``volume`` is in multiples of the logical capacity, NaN where that is unknown; bytes are bytes.

    Raises
    ------
    ConfigError
        There are no results, or ``by`` or ``library`` is not one of those.
    MissingExtra
        The library is not installed.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\nnorandommap=1\\n")
    >>> runs = [wafer.run(device, job, volume="1x", seed=seed) for seed in (1, 2)]
    >>> wafer.frame(runs)["seed"].to_list()
    [1, 2]
    """
    if by not in _ROWS:
        raise ConfigError(f"by: {by!r} is not one of {', '.join(_ROWS)}")
    # Results make frames of themselves, so the class cannot be imported above.
    from wafer.result import Result

    return made(columns(several("results", results, Result), by), library)


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


def columns(runs: Sequence[Result], by: str) -> dict[str, Any]:
    """Returns the columns of :func:`frame`.

    Parameters
    ----------
    runs
        The results.
    by
        ``"run"``, ``"sample"`` or ``"handle"``.
    """
    names = _wafer.labels([run.to_json() for run in runs]) if len(runs) > 1 else [runs[0].name]
    if by == "run":
        return _by_run(runs, names)
    parts = [_samples(run) if by == "sample" else _handles(run) for run in runs]
    counts = [len(part["host_bytes"]) for part in parts]
    seeds = [run.seed for run, count in zip(runs, counts) for _ in range(count)]
    table: dict[str, Any] = {
        "run": [name for name, count in zip(names, counts) for _ in range(count)],
        # Arrays of numbers have no null, which is the seed of a measured drive.
        "seed": seeds if None in seeds else np.array(seeds),
    }
    for key in parts[0]:
        found = [part[key] for part in parts]
        table[key] = np.concatenate(found) if isinstance(found[0], np.ndarray) else list(chain(*found))
    return table


def _by_run(runs: Sequence[Result], names: Sequence[str]) -> dict[str, Any]:
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


def _samples(run: Result) -> dict[str, Any]:
    timeline = run.timeline
    return {
        "volume": timeline.volume,
        "host_bytes": timeline.host_bytes,
        "media_bytes": timeline.media_bytes,
        "waf": timeline.waf,
        "instantaneous_waf": timeline.instantaneous_waf,
    }


def _handles(run: Result) -> dict[str, Any]:
    handles = run.handles
    return {
        "handle": [str(key) for key in handles],
        "host_bytes": np.array([handle.total_host_bytes for handle in handles.values()], dtype=np.uint64),
        "media_bytes": np.array([handle.total_media_bytes for handle in handles.values()], dtype=np.uint64),
        "waf": np.array([handle.waf for handle in handles.values()], dtype=np.float64),
    }
