"""Simulates NVMe Flexible Data Placement (FDP) and SSD write amplification.

Examples
--------
>>> import wafer
>>> device = wafer.Device("warp", capacity="28GiB", reclaim_unit_size="8MiB")
>>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=128k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
>>> result = wafer.run(device, job, volume="5x")
>>> round(result.waf, 1)
2.3

:func:`wafer.run` takes a :class:`wafer.Device` and a workload (:func:`wafer.fio`, :func:`wafer.model`,
:func:`wafer.trace`, :class:`wafer.Commands`) and returns a :class:`wafer.Result`. :func:`wafer.sweep` runs
many points, and :func:`wafer.calibrate` infers a device from a measured curve. :mod:`wafer.plot` plots,
:mod:`wafer.stats` computes confidence intervals, and :mod:`wafer.endurance` converts a WAF into years of
service, cost and carbon.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wafer._errors import (
    Cancelled,
    ConfigError,
    MissingExtra,
    NotEnoughMemory,
    PolicyError,
    RunError,
    WaferError,
    WorkloadError,
)
from wafer._wafer import Cancel, ReclaimUnits, __version__
from wafer.device import Device, policies, profiles
from wafer.interrupt import interruptible
from wafer.latency import Latencies, Latency
from wafer.policy import Policy
from wafer.result import Result
from wafer.results import frame, labels, read_results, report
from wafer.running import Experiment, available_memory, experiment, run
from wafer.timeline import Handle, Handles, Timeline
from wafer.traces import Requests, requests
from wafer.workload import (
    Commands,
    Workload,
    commands,
    fio,
    fio_text,
    model,
    models,
    tenants,
    trace,
    workload,
)

if TYPE_CHECKING:
    from wafer import calibration, endurance, figures, plot, progress, stats, sweeps
    from wafer.calibration import Fit, calibrate, calibrate_timing
    from wafer.sweeps import Sweep, sweep

__all__ = [
    "Cancel",
    "Cancelled",
    "Commands",
    "ConfigError",
    "Device",
    "Experiment",
    "Fit",
    "Handle",
    "Handles",
    "Latencies",
    "Latency",
    "MissingExtra",
    "NotEnoughMemory",
    "Policy",
    "PolicyError",
    "ReclaimUnits",
    "Requests",
    "Result",
    "RunError",
    "Sweep",
    "Timeline",
    "WaferError",
    "Workload",
    "WorkloadError",
    "__version__",
    "available_memory",
    "calibrate",
    "calibrate_timing",
    "calibration",
    "commands",
    "endurance",
    "experiment",
    "figures",
    "fio",
    "fio_text",
    "frame",
    "interruptible",
    "labels",
    "model",
    "models",
    "plot",
    "policies",
    "profiles",
    "progress",
    "read_results",
    "report",
    "requests",
    "run",
    "stats",
    "sweep",
    "sweeps",
    "tenants",
    "trace",
    "workload",
]

# Loaded on first use, so that `import wafer` loads only NumPy and takes a tenth of a second.
_LAZY = {
    "Fit": "wafer.calibration",
    "calibrate": "wafer.calibration",
    "calibrate_timing": "wafer.calibration",
    "Sweep": "wafer.sweeps",
    "sweep": "wafer.sweeps",
}
_MODULES = ("calibration", "endurance", "figures", "plot", "progress", "stats", "sweeps")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"wafer.{name}")
    raise AttributeError(f"module 'wafer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
