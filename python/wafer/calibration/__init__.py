"""Calibration: infers a device from its measured host and media bytes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wafer._arguments import file, number, several, whole, whole_or_none
from wafer._errors import Cancelled, ConfigError, RunError
from wafer._wafer import Cancel
from wafer.calibration.counters import Curve, read_curve
from wafer.calibration.fit import Fit, Interval
from wafer.calibration.model import Candidate, Measured, Structure, Trial
from wafer.calibration.scaling import FixedWork, Job, ScaledJob, capacity_of, whole_device
from wafer.calibration.search import MOST_PAGES, STRUCTURES, search
from wafer.calibration.timing import TimingFit, TimingParameter, calibrate_timing
from wafer.calibration.uncertainty import intervals, warnings
from wafer.device import Device, nested
from wafer.progress import Bar
from wafer.sizes import parse_size
from wafer.workload import Workload, fio, fio_text

__all__ = [
    "Candidate",
    "Curve",
    "Fit",
    "Interval",
    "STRUCTURES",
    "Structure",
    "TimingFit",
    "TimingParameter",
    "Trial",
    "calibrate",
    "calibrate_timing",
    "read_curve",
]

#: Assumed number of reclaim units that GC keeps free.
ASSUMED_RESERVE = 3

#: Workload of the published curves: 128 KiB random writes over the whole drive, each block once a pass.
ONE_STREAM = """\
[one-stream]
rw=randwrite
bs=128k
iodepth=128
size=100%
time_based=1
runtime=100d
"""


def calibrate(
    path: str | os.PathLike[str],
    capacity: str | int,
    workload: Workload | str | os.PathLike[str] | None = None,
    *,
    fraction: float = 1.0,
    precondition: str | None = None,
    structures: Sequence[Structure] = STRUCTURES,
    reserve: int | None = None,
    handles: int = 8,
    known: Mapping[str, Any] | None = None,
    page: str = "4KiB",
    threads: int | None = None,
    seed: int = 1,
    time_limit: float | None = None,
    progress: bool | Callable[[str, int, int], None] = False,
) -> Fit:
    """Infers a device from a measured curve: over-provisioning, reclaim units, policy, separation.

    The search takes a few hundred simulations of a scaled device and one or two with the drive's full number
    of blocks: a minute or two on two cores. Only fio jobs can be scaled. Any other workload runs on the whole
    drive every time, and takes correspondingly longer.

    Parameters
    ----------
    path
        Counters over time: a CSV with ``host_bytes`` and ``media_bytes``, or the collected output of
        ``nvme fdp stats`` (text or JSON). Counters are cumulative; the first sample becomes zero.
    capacity
        Logical capacity of the drive, as text such as ``"3.84TB"`` or in bytes.
    workload
        What the drive ran: the path of a fio job, or any workload (:func:`wafer.fio`,
        :func:`wafer.model`, :func:`wafer.trace`, :class:`wafer.Commands`, ...). Default: 128 KiB random
        writes over the whole drive with fio's random map, one stream.
    fraction
        Share of the curve to fit, by host bytes, in (0, 1]. The rest checks the prediction
        (``prediction_error`` of :class:`wafer.Fit`).
    precondition
        State of the drive at the first sample, as for :func:`wafer.run`. Default: fresh, that is,
        erased or fully deallocated.
    structures
        Combinations of policy, separation of relocated data and background GC to try.
    reserve
        Number of RUs that GC keeps free, if known; a curve does not determine it. Default: 3, and
        the intervals of over-provisioning and number of RUs allow for 1 RU to 2 % of all RUs.
    handles
        Number of reclaim unit handles of the drive, each with an open RU.
    known
        Known keys of the device, excluded from the search, as in a device file: ``{"isolation":
        "persistently"}``, ``{"namespaces": [...]}``. See ``nvme fdp configs`` and ``nvme list-ns``.
    page
        Mapping unit of the returned device.
    threads
        Number of concurrent simulations. Default: one per core, at most 16.
    seed
        Random seed of the simulations.
    time_limit
        Seconds after which the search stops with the best device so far. Default: none.
    progress
        ``True`` for a bar on stderr, or a function ``(stage, done, total)``.

    Returns
    -------
    Fit
        The device, the intervals of its parameters, and the error of its curve. Ctrl-C and ``time_limit``
        stop the search: ``stopped`` of the fit then names the stage, and the fit is the best so far.

    Raises
    ------
    ConfigError
        The file cannot be read, or an argument is invalid.
    RunError
        No device reproduces the curve, the workload ends before the curve does, or the time limit
        is too short for a first run.
    KeyboardInterrupt
        Ctrl-C, before the first run ended.

    Examples
    --------
    >>> import wafer
    >>> fit = wafer.calibrate("stats.json", "3.84TB", time_limit=60)  # doctest: +SKIP
    >>> fit.to_toml("my-drive.toml")  # doctest: +SKIP
    """
    started = time.monotonic()
    if not 0 < number("fraction", fraction) <= 1:
        raise ConfigError(f"fraction: {fraction} is not in (0, 1]")
    if time_limit is not None and not number("time_limit", time_limit) > 0:
        raise ConfigError(f"time_limit: expected seconds above 0, not {time_limit!r}")
    handles, seed = whole("handles", handles, 1), whole("seed", seed)
    reserve, threads = whole_or_none("reserve", reserve, 1), whole_or_none("threads", threads, 1)
    structures = several("structures", structures, Structure)
    page_bytes = parse_size(page, "page")
    Device("warp", page=page_bytes)  # refuses a page that no device can have
    path, size = file("path", path), capacity_of(capacity)
    curve = read_curve(path, size)
    if workload is None:
        workload = fio_text(ONE_STREAM, name="one-stream")
    elif not isinstance(workload, Workload):
        workload = fio(file("workload", workload))
    fitted = float(curve.host_bytes[-1]) * fraction
    part = curve.until(fitted)
    if len(part) < 10:
        raise ConfigError(f"{path}: {len(part)} samples in the fitted part; at least 10 are needed")
    if part.host_bytes[-1] < 0.5 * size:
        share = part.host_bytes[-1] / size
        raise ConfigError(
            f"{path}: the fitted part covers {share:.2f} drive writes; garbage collection begins "
            "only once the drive has been filled, so at least 0.5 are needed"
        )
    if part.media_bytes[-1] < 1.005 * part.host_bytes[-1]:
        raise RunError(f"{path}: WAF is {part.waf[-1]:.3f}; without garbage collection, nothing to fit")

    cancel = Cancel()
    if not isinstance(known or {}, Mapping):
        raise TypeError(f"known: expected a dict, not {known!r:.60}")
    keys = nested(known or {})
    for key in ("capacity", "page", "reclaim_unit", "overprovisioning", "gc"):
        if key in keys:
            raise ConfigError(f"known: {key} has its own argument or is a result of the search")
    try:
        whole_device(size, keys)
    except ConfigError as wrong:
        raise ConfigError(f"known: {wrong}") from None
    handles = whole("known: handles", keys.get("handles", handles), 1)
    job: Job
    if workload.kind == "fio":
        job = ScaledJob.of(workload, size)
    elif "load" in (precondition or ""):
        # Recorded commands do not separate the workload's own preparation from the rest.
        job = FixedWork(workload, size)
    else:
        job = FixedWork.of(workload, size, float(curve.host_bytes[-1]), seed, **keys)
    bar = Bar("calibrate", unit="steps") if progress is True else None
    report: Report = _silent
    if bar is not None:
        report = bar.update
    elif callable(progress):
        report = progress
    measured = Measured(part, job, precondition, cancel)
    workers = threads or min(os.cpu_count() or 1, 16)
    limit = None if time_limit is None else threading.Timer(time_limit, cancel.cancel)
    if limit is not None:
        limit.daemon = True  # an interpreter that ends does not wait for it
        limit.start()
    try:
        found = search(
            measured,
            structures=structures,
            reserve=ASSUMED_RESERVE if reserve is None else reserve,
            handles=handles,
            known=keys,
            threads=workers,
            seed=seed,
            report=_serial(report),
        )
        full = Measured(curve, job, precondition, Cancel())
        blocks = job.blocks_for(min(found.blocks, int(MOST_PAGES / full.volume)), found.best.count)
        if len(part) == len(curve):
            checked = found.last
        else:
            report("prediction", 0, 1)
            trial = full.trial(found.best, blocks, full.volume, seed)
            report("prediction", 1, 1)
            checked = trial if trial is not None else found.last
    except Cancelled:
        raise RunError(f"time_limit: no run ended within {time_limit:g} s") from None
    finally:
        if limit is not None:
            limit.cancel()
        if bar is not None:
            bar.close()
    if checked.result is None:
        raise RunError("the calibrated device could not be run")

    rest = full.points(full.volume) > part.host_bytes[-1]
    error = float(np.max(np.abs(checked.cumulative[rest]))) if np.any(rest) else None
    bounds = intervals(found, size, reserve)
    notes = warnings(found, bounds, measured.volume, reserve)
    first = part.host_bytes / size < 0.9
    if precondition is None and np.any(first) and float(np.max(part.waf[first])) > 1.05:
        notes.insert(
            0,
            "WAF is above 1.05 before the drive has been filled once: it was not fresh at the first sample; "
            "describe its state with `precondition`",
        )
    device = found.best.device(size, page=page_bytes)
    best = found.structures[0].score
    return Fit(
        device=device,
        parameters={
            "net_spare": found.best.net_spare,
            "overprovisioning": found.best.overprovisioning,
            "reclaim_unit_count": found.best.count,
            "reclaim_unit_bytes": float(device.pages_per_ru * device.page_bytes),
            "reserve": found.best.reserve,
            "handles": found.best.handles,
        },
        intervals=bounds,
        structure=found.best.structure,
        warnings=tuple(notes),
        alternatives={
            str(t.candidate.structure): t.score / best
            for t in found.structures
            if t.candidate.structure != found.best.structure
        },
        error=found.last.rms,
        prediction_error=error,
        runs=found.runs,
        seconds=time.monotonic() - started,
        capacity=size,
        source=path,
        curve=curve,
        fitted=float(part.host_bytes[-1]),
        result=checked.result,
        candidate=found.best,
        stopped=found.stopped or None,
        inputs=(path, workload.path),
    )


Report = Callable[[str, int, int], None]


def _silent(stage: str, done: int, total: int) -> None:
    del stage, done, total


def _serial(report: Report) -> Report:
    """Wraps a callback so that threads call it one at a time."""
    lock = threading.Lock()

    def locked(stage: str, done: int, total: int) -> None:
        """Calls back, one thread at a time."""
        with lock:
            report(stage, done, total)

    return locked
