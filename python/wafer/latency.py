"""Latency of runs with a clock, by direction and job."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Latencies", "Latency"]


class Latency:
    """Latency and rate of the reads, writes, trims or flushes of a run or of a job.

    Parameters
    ----------
    record
        ``read``, ``write``, ``trim`` or ``flush`` of the ``time`` of a result record.

    Attributes
    ----------
    count
        Number of requests.
    iops
        Requests per second.
    bytes_per_second
        Bytes per second.
    mean_us
        Mean latency, microseconds.
    min_us
        Minimum latency, microseconds.
    max_us
        Maximum latency, microseconds.
    percentiles_us
        Latency by percentile (``99.9``), microseconds, within 1 %.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("pm9a3", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[r]\\nrw=randread\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=20ms\\n")
    >>> read = wafer.run(device, job, time=True, precondition="sequential").latency.read
    >>> read.percentiles_us[50] <= read.percentiles_us[99]
    True
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.count = int(record["count"])
        self.iops = float(record["iops"])
        self.bytes_per_second = float(record["bytes_per_second"])
        self.mean_us = float(record["mean_us"])
        self.min_us = float(record["min_us"])
        self.max_us = float(record["max_us"])
        percentiles = {float(percent): float(us) for percent, us in record["percentiles_us"].items()}
        self.percentiles_us: Mapping[float, float] = MappingProxyType(dict(sorted(percentiles.items())))
        self._record = record

    @cached_property
    def histogram(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint64]]:
        """Latencies in microseconds and the number of requests of each; empty in brief records of sweeps."""
        histogram = self._record.get("histogram", [])
        latencies = np.array([us for us, _ in histogram], dtype=np.float64)
        counts = np.array([count for _, count in histogram], dtype=np.uint64)
        return latencies, counts

    def __reduce__(self) -> tuple[Any, ...]:
        return (Latency, (self._record,))

    def __repr__(self) -> str:
        median, tail = self.percentiles_us[50.0], self.percentiles_us[99.0]
        return f"<wafer.Latency {self.count}, {self.iops:.0f} IOPS, p50 {median:g} µs, p99 {tail:g} µs>"


class Latencies:
    """Latency of the reads, writes, trims and flushes of a run, or of one of its jobs.

    Parameters
    ----------
    record
        ``time`` of a result record, or one of its jobs.

    Attributes
    ----------
    read
        The reads; ``None`` if there are none.
    write
        The writes; ``None`` if there are none.
    trim
        The trims; ``None`` if there are none.
    flush
        The flushes; ``None`` if there are none.
    jobs
        The same by job name; empty for a job.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("pm9a3", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[r]\\nrw=randread\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=20ms\\n")
    >>> latency = wafer.run(device, job, time=True, precondition="sequential").latency
    >>> latency.read.count == latency.jobs["r"].read.count
    True
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.read = Latency(record["read"]) if "read" in record else None
        self.write = Latency(record["write"]) if "write" in record else None
        self.trim = Latency(record["trim"]) if "trim" in record else None
        self.flush = Latency(record["flush"]) if "flush" in record else None
        jobs = {name: Latencies(job) for name, job in record.get("jobs", {}).items()}
        self.jobs: Mapping[str, Latencies] = MappingProxyType(jobs)
        self._record = record

    def __reduce__(self) -> tuple[Any, ...]:
        return (Latencies, (self._record,))

    def __repr__(self) -> str:
        directions = f"read {self.read!r}, write {self.write!r}, trim {self.trim!r}, flush {self.flush!r}"
        return f"<wafer.Latencies {directions}, jobs {list(self.jobs)}>"
