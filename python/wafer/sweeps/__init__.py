"""Many runs: over a grid, at random, or by Latin hypercube; in threads, on Dask or on Ray."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wafer import _html
from wafer._arguments import file, names, whole_or_none
from wafer._colours import COLOURS
from wafer._errors import ConfigError, RunError
from wafer._extras import need
from wafer.device import dotted
from wafer.progress import Bar
from wafer.result import Result
from wafer.stats import Summary, summarise
from wafer.sweeps.engine import Engine, EngineSettings, engine_names, make_engine, register, run_points
from wafer.sweeps.points import Point, Spec, read_spec
from wafer.sweeps.store import Store
from wafer.sweeps.task import Outcome, run_point

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray

__all__ = [
    "Engine",
    "Outcome",
    "Point",
    "EngineSettings",
    "Spec",
    "Sweep",
    "engine_names",
    "read_spec",
    "register",
    "run_point",
    "sweep",
]


#: Number of rows that a notebook shows.
SHOWN = 10
#: Number of values in the timeline of a brief record: 20 samples with one handle, 6 with eight.
NUMBERS = 120
#: Points after which a sweep stops if none of them gave a result.
FIRST = 8


class Sweep:
    """The results of a sweep: a row for each point, and the records behind them.

    Attributes
    ----------
    rows
        A dict for each point, in the order of the grid: ``id``, ``status`` ("done" or "failed"), the
        keys that vary, ``waf``, ``host_bytes``, ``media_bytes``, ``error``, ...
    folder
        Folder of the records and the catalogue.
    keys
        The keys that vary.
    ran
        Number of runs of this call; the others already existed.

    Examples
    --------
    >>> import tempfile, wafer
    >>> job = "[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n"
    >>> small = {"profile": "warp", "capacity": "64MiB", "reclaim_unit": {"size": "1MiB"}}
    >>> spec = {"device": small, "workload": {"fio_text": job}, "volume": "2x", "seeds": 2}
    >>> spec["grid"] = {"overprovisioning": [0.5, 0.6]}
    >>> sweep = wafer.sweep(spec, out=tempfile.mkdtemp())
    >>> len(sweep), sweep.keys
    (4, ['device.overprovisioning', 'seed'])
    >>> sweep.summary(by=["overprovisioning"])[0].mean.count
    2
    """

    def __init__(self, folder: Path, rows: list[dict[str, Any]], keys: list[str], ran: int) -> None:
        self.folder, self.rows, self.keys, self.ran = folder, rows, keys, ran

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Rows of the points that failed, with their ``error``."""
        return [row for row in self.rows if row["status"] == "failed"]

    @property
    def errors(self) -> list[tuple[str, int]]:
        """The messages of the failures and how many points failed with each, the most frequent first.

        Messages that differ only in numbers count as one, which is the first of them.
        """
        return _by_message(row["error"] for row in self.failures)

    def results(self, **values: Any) -> list[Result]:
        """Returns the records of some points: ``s.results(isolation="initially", seed=1)``.

        Parameters
        ----------
        **values
            Keys, by full name or end, with the value that they must have.

        Raises
        ------
        ConfigError
            No single key has the name.
        """
        wanted = {self.key(name): value for name, value in values.items()}
        rows = [r for r in self.rows if r["record"] and all(r[k] == v for k, v in wanted.items())]
        return [Result.from_json(self.folder / row["record"]) for row in rows]

    def key(self, name: str) -> str:
        """Returns a varied key by its full name or its end: ``overprovisioning``, ``gc_policy``.

        Parameters
        ----------
        name
            The key, or its end.

        Raises
        ------
        ConfigError
            No single key has the name.
        """
        ends = (name, dotted(name))
        found = [k for k in self.keys if k == name or any(k.endswith(f".{end}") for end in ends)]
        if len(found) != 1:
            raise ConfigError(f"{name}: no single key; the sweep varies {', '.join(self.keys)}")
        return found[0]

    def summary(self, value: str = "waf", by: str | Sequence[str] | None = None) -> list[Summary]:
        """Returns the mean and 95 % interval of a column over seeds, for each combination of other keys.

        Points that differ only in keys that ``by`` leaves out are first averaged, seed by seed. A warning is
        given if some of them have no result, because means are then over different points.

        Parameters
        ----------
        value
            Column of the rows.
        by
            A key, or keys whose combinations each get a mean; with none, one mean of all points.
            Default: all but the seed.

        Raises
        ------
        ConfigError
            No single key has a name, or there is no such column of numbers.
        """
        if by is None:
            keys = [key for key in self.keys if key != "seed"]
        else:
            keys = [self.key(name) for name in names("by", by)]
        rows = [row for row in self.rows if row["status"] == "done"]
        if set(self.keys) - {*keys, "seed"}:
            if missing := len(self.rows) - len(rows):
                warnings.warn(f"means are over different points: {missing} have no result", stacklevel=2)
            seed = [key for key in self.keys if key == "seed"]
            each = summarise(rows, value=value, by=[*keys, *seed])
            rows = [{**one.values, value: one.mean.value} for one in each]
        return summarise(rows, value=value, by=keys)

    def to_polars(self) -> polars.DataFrame:
        """Returns the rows as a polars data frame.

        Raises
        ------
        MissingExtra
            Polars is not installed.
        """
        pl = need("polars", "analysis")
        frame: polars.DataFrame = pl.DataFrame(self.rows, infer_schema_length=None)
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the rows as a pandas data frame.

        Raises
        ------
        MissingExtra
            Pandas is not installed.
        """
        frame: pandas.DataFrame = need("pandas", "frames").DataFrame(self.rows)
        return frame

    def to_xarray(self) -> xarray.Dataset:
        """Returns the rows as an xarray dataset.

        A grid has a dimension for each varied key, named as in :attr:`keys`; points without a result are
        NaN. Drawn points (``random``, ``latin``) have one dimension, ``point``, with the keys as coordinates.

        Raises
        ------
        ConfigError
            Two points have the same keys.
        MissingExtra
            Xarray is not installed.
        """
        from wafer.sweeps.arrays import dataset

        return dataset(self.rows, self.keys)

    def _repr_html_(self) -> str:
        numeric = [k for k in self.keys if all(isinstance(row[k], (int, float)) for row in self.rows)]
        lines: list[_html.Line] = []
        if numeric:
            done = [row for row in self.rows if row["status"] == "done"]
            lines.append(("WAF", COLOURS[0], [r[numeric[0]] for r in done], [r["waf"] for r in done]))
        shown = [{k: row[k] for k in ("status", *self.keys, "waf", "error")} for row in self.rows[:SHOWN]]
        more = f"<small>and {len(self) - SHOWN} more points</small>" if len(self) > SHOWN else ""
        chart = _html.chart(lines, numeric[0] if numeric else "", "WAF", dots=True)
        return _html.page(repr(self).strip("<>"), _html.table(shown), more, chart)

    def plot(self, x: str, series: str | None = None, value: str = "waf", ax: Any = None) -> Any:
        """Plots a column over a key, with a line for each value of ``series`` and intervals over seeds.

        Parameters
        ----------
        x
            Key on the horizontal axis.
        series
            Key whose values get a line each. Default: one line.
        value
            Column of the rows.
        ax
            Axes to draw on. Default: new ones.

        Returns
        -------
        Any
            The axes.

        Raises
        ------
        ConfigError
            No single key has a name, or no point has a result.
        MissingExtra
            Matplotlib is not installed.
        """
        from wafer.plot.sweeps import plot_sweep

        return plot_sweep(self, x, series, value, ax)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<wafer.Sweep {self.folder}: {len(self)} points{failed}>"


def sweep(
    grid: str | os.PathLike[str] | Mapping[str, Any],
    engine: str = "local",
    out: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    cluster: Any = None,
    memory: int | None = None,
    retry_failures: bool = False,
    progress: bool = False,
    on_error: str = "raise",
    records: str = "brief",
) -> Sweep:
    """Runs an experiment at many points.

    Parameters
    ----------
    grid
        A TOML file or a dict: an experiment (``device``, ``workload``, ``volume``, ...) with what
        varies: ``points`` (a list of tables: keys that change together), ``grid`` (keys to lists, all
        combinations), ``random`` or ``latin`` (``samples``, and keys
        to ``{low, high, log, integer}`` or lists), ``seeds`` (their number, from ``seed`` or 1 up).
        Keys are those of the device (``overprovisioning``, ``"gc.policy"``), of the workload
        (``"workload.KEY"``), ``"label.NAME"`` (only a column of the rows), and ``device``,
        ``seed``, ``volume``, ``precondition``, ``pace``.
    engine
        ``"local"`` (threads), ``"dask"`` or ``"ray"`` (extras ``dask``, ``ray``), or
        one added with :func:`wafer.sweeps.register`.
    out
        Folder for records and catalogue. Default: the name of the sweep, in ``sweeps/``. If it holds
        records of the same points, the sweep resumes and runs nothing twice; it warns of files, such as
        traces, that have changed since.
    workers
        Concurrent runs, for ``local`` and for a new local cluster. Default: one per core.
    cluster
        For ``dask`` a client or a scheduler's address, for ``ray`` an address. Default: a new
        local cluster.
    memory
        Bytes that local runs may take together. Default: the available memory.
    retry_failures
        Repeat points that failed before.
    progress
        Show a bar on stderr.
    on_error
        ``"raise"`` stops when the first points all fail, which is hardly ever the fault of a
        point; ``"keep"`` continues whatever fails.
    records
        ``"brief"`` keeps totals, provenance and a thinned timeline of each point, less than 5 kB;
        ``"whole"`` what :func:`wafer.run` returns, ten times as much, in a folder that holds no brief ones.

        A point that fails is kept with its error, and the sweep continues. Ctrl-C stops the current runs and
        keeps the finished ones.

    Returns
    -------
    Sweep
        A row for each point, and the records behind them.

    Raises
    ------
    ConfigError
        The sweep is invalid; raised before anything runs.
    RunError
        The first points, or all, failed, with ``on_error="raise"``; or the engine lost its cluster.

    Examples
    --------
    >>> import tempfile, wafer
    >>> job = "[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n"
    >>> small = {"profile": "warp", "capacity": "64MiB", "reclaim_unit": {"size": "1MiB"}}
    >>> spec = {"device": small, "workload": {"fio_text": job}, "volume": "2x", "seeds": 2}
    >>> spec["grid"] = {"overprovisioning": [0.5, 0.6]}
    >>> sweep = wafer.sweep(spec, out=tempfile.mkdtemp())
    >>> [row["status"] for row in sweep]
    ['done', 'done', 'done', 'done']
    """
    if on_error not in ("raise", "keep"):
        raise ConfigError(f'on_error: expected "raise" or "keep", not {on_error!r}')
    if records not in ("brief", "whole"):
        raise ConfigError(f'records: expected "brief" or "whole", not {records!r}')
    if engine not in engine_names():
        raise ConfigError(f"engine: {engine!r} is not one of {', '.join(engine_names())}")
    workers, memory = whole_or_none("workers", workers, 1), whole_or_none("memory", memory, 1)
    if engine == "local" and cluster is not None:
        raise ConfigError('cluster: engine="local" has none')
    spec = read_spec(grid if isinstance(grid, Mapping) else file("grid", grid))
    points = spec.points()
    store = Store(Path("sweeps") / spec.name if out is None else Path(file("out", out)), points)
    store.write_catalogue()
    if records == "whole" and store.brief:
        raise ConfigError(f'records: {store.folder} holds brief records; "whole" ones need another folder')
    for name, count in store.changed_files(os.fspath(spec.folder)).items():
        note = f"{name} changed after {count} of {len(points)} points had run, and their records are kept"
        warnings.warn(f"{note}; give another folder to run them again", stacklevel=2)
    left = [point for point in points if not store.is_done(point, retry_failures)]
    bar = Bar(spec.name, unit="runs") if progress else None
    ended = 0
    failed: list[str] = []

    def done(point: Point, outcome: Outcome) -> None:
        nonlocal ended
        if outcome.record is None:
            store.keep_failure(point, outcome.error, outcome.message)
            failed.append(f"{outcome.error}: {outcome.message}")
        else:
            store.keep(point, outcome.record)
        ended += 1
        if bar is not None:
            bar.update("running", ended, len(left))
        fresh = len(left) == len(points)
        if on_error == "raise" and fresh and len(failed) == ended >= min(FIRST, len(left)):
            raise _all_failed("all" if ended == len(points) else "the first", failed)

    settings = EngineSettings(
        os.fspath(spec.folder),
        workers or os.cpu_count() or 1,
        cluster,
        memory,
        NUMBERS if records == "brief" else None,
    )
    try:
        if left:
            run_points(make_engine(engine, settings), left, done)
    finally:
        if bar is not None:
            bar.close()
        rows = store.write_catalogue()
    made = Sweep(store.folder, rows, store.keys, ended)
    if on_error == "raise" and rows and len(made.failures) == len(rows):
        before = "" if left else "; they failed in an earlier call, and retry_failures=True repeats them"
        raise _all_failed("all", [row["error"] for row in rows], before)
    each = ({_kind(remark): remark for remark in found}.values() for found in store.remarks.values())
    for remark, count in _by_message(remark for found in each for remark in found):
        warnings.warn(f"{count} of {len(points)} runs: {remark}", stacklevel=2)
    return made


def _kind(message: str) -> str:
    """Returns a message without its numbers."""
    return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "0", message)


def _by_message(errors: Iterable[str]) -> list[tuple[str, int]]:
    """Counts messages; those that differ only in numbers count as the first of them."""
    first: dict[str, str] = {}
    kinds = (first.setdefault(_kind(error), error) for error in errors)
    return Counter(kinds).most_common()


def _all_failed(which: str, errors: list[str], before: str = "") -> RunError:
    """Returns the error of a sweep without a result."""
    ((message, count), *others) = _by_message(errors)
    more = f"; {len(others)} other messages" if others else ""
    points = "point" if len(errors) == 1 else "points"
    advice = before or '; on_error="keep" goes on'
    return RunError(f"{which} {len(errors)} {points} failed, {count} with: {message}{more}{advice}")
