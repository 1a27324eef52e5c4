"""Several results at a time: their labels, data frame and report, and reading them from files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wafer import _wafer, frames
from wafer._arguments import file as path_of
from wafer._arguments import read_text, several
from wafer._arguments import text as text_of
from wafer._errors import ConfigError
from wafer.result import SCHEMA, Result, write_text

__all__ = ["frame", "labels", "read_results", "records_of", "report"]


def labels(results: Result | Sequence[Result]) -> list[str]:
    """Returns a label for each result by what differs between the runs: ``"gc.policy = fifo"``.

    Names that differ are kept; runs without a recorded difference are numbered.

    Parameters
    ----------
    results
        The runs.

    Raises
    ------
    ConfigError
        There are no results.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
    >>> runs = [wafer.run(device.replace(gc_policy=p), job, volume="1x") for p in ("greedy", "fifo")]
    >>> wafer.labels(runs)
    ['gc.policy = greedy', 'gc.policy = fifo']
    """
    return _wafer.labels([result.to_json() for result in several("results", results, Result)])


def report(
    results: Result | Sequence[Result],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
) -> str:
    """Creates a page of one or more results: WAF, reclaim units, handles, time, and why the WAF is as it is.

    The page is a single self-contained HTML file that works offline, as ``wafer report`` writes it.

    Parameters
    ----------
    results
        The runs to show, side by side.
    path
        File to write, as a whole or not at all.
    title
        Title of the page. Default: the names of the runs.

    Returns
    -------
    str
        The page as HTML.

    Raises
    ------
    ConfigError
        There are no results, or ``path`` is a folder.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
    >>> page = wafer.report(wafer.run(device, job, volume="1x"), title="One run")
    >>> "<title>One run</title>" in page
    True
    """
    texts = [run.to_json() for run in several("results", results, Result)]
    file = None if path is None else Path(path_of("path", path))
    page = _wafer.report(texts, text_of("title", title))
    if file is not None:
        write_text(file, page)
    return page


def read_results(*paths: str | os.PathLike[str]) -> list[Result]:
    """Reads result records from files, which may hold an array, and from the ``*.json`` of folders.

    Parameters
    ----------
    *paths
        Files or folders.

    Returns
    -------
    list[Result]
        The results in the order of the paths; files of a folder by name.

    Raises
    ------
    ConfigError
        A file cannot be read or is not a record.

    Examples
    --------
    >>> import tempfile, wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
    >>> folder = tempfile.mkdtemp()
    >>> text = wafer.run(device, job, volume="1x", seed=3).to_json(f"{folder}/run.json")
    >>> [result.seed for result in wafer.read_results(folder)]
    [3]
    """
    results: list[Result] = []
    for path in (Path(path_of("paths", path)) for path in paths):
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            results.extend(records_of(file, skip=path.is_dir()))
    return results


def records_of(path: Path, *, skip: bool) -> list[Result]:
    """Returns the records of one file.

    Parameters
    ----------
    path
        The file.
    skip
        Whether a file with other JSON has no records instead of being an error.

    Raises
    ------
    ConfigError
        The file cannot be read, or a record is damaged.
    """
    text = read_text(path)
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    first = found[0] if isinstance(found, list) and found else found
    is_record = isinstance(first, dict) and first.get("schema") == SCHEMA
    if skip and not is_record:
        return []
    return [Result(record) for record in _wafer.read_records(os.fspath(path), text)]


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
        ``"polars"`` (extra ``analysis``) or ``"pandas"`` (extra ``frames``).

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
    return frames.made(frames.columns(several("results", results, Result), by), library)
