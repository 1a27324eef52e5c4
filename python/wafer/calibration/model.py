"""Candidate devices, and the distance of their curves from the measured one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wafer._errors import Cancelled, ConfigError
from wafer._wafer import Cancel
from wafer.calibration.counters import Curve
from wafer.calibration.scaling import PAGE, Job, covers
from wafer.device import Device
from wafer.result import Result
from wafer.running import Experiment

__all__ = ["Candidate", "Measured", "Structure", "Trial"]

Array = npt.NDArray[np.float64]
#: More values than any timeline has.
EVERY = 2**31


@dataclass(frozen=True)
class Structure:
    """The categorical parameters of a device: policy, separation, background GC."""

    policy: str = "greedy"
    #: Destination of relocated data: ``"isolation"`` (RUs of its own, initially isolated) or ``"host"``
    #: (with new data).
    destination: str = "isolation"
    #: Share of free RUs below which background GC runs; 0 for none.
    background_free: float = 0.0

    def __str__(self) -> str:
        apart = {"isolation": "relocated data apart", "host": "relocated data with new data"}
        background = (
            f", background GC at {100 * self.background_free:g} % free" if self.background_free else ""
        )
        return f"{self.policy}, {apart.get(self.destination, self.destination)}{background}"


@dataclass(frozen=True)
class Candidate:
    """A device: its structure and its numeric parameters."""

    structure: Structure
    #: (physical - logical) / logical capacity.
    overprovisioning: float
    #: Number of physical reclaim units.
    count: int
    #: Number of reclaim units that forced GC keeps free.
    reserve: int = 3
    #: Number of reclaim unit handles, each with an open reclaim unit.
    handles: int = 8
    #: Known keys of the device: a table as in a device file.
    known: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)

    def with_(self, **changes: Any) -> Candidate:
        """Returns a copy with changed values."""
        return replace(self, **changes)

    @property
    def net_spare(self) -> float:
        """Spare space without the reserve and the open RUs, over the logical capacity."""
        unit = (1 + self.overprovisioning) / self.count
        return self.overprovisioning - unit * (self.reserve + self.handles)

    def with_net(self, count: int, net_spare: float) -> Candidate | None:
        """Returns a copy with ``count`` RUs and this net spare; ``None`` if too few RUs remain for data."""
        held = (self.reserve + self.handles) / count
        if held >= 0.9:
            return None
        return self.with_(count=count, overprovisioning=(net_spare + held) / (1 - held))

    def whole(self, pages: int) -> Candidate:
        """Returns a copy with the same net spare and whole pages per RU; ``count`` moves by up to 1.5 %."""
        reach = max(round(0.015 * self.count), 1)
        counts = np.arange(max(self.count - reach, 1), self.count + reach + 1)
        held = (self.reserve + self.handles) / counts
        counts, held = counts[held < 0.9], held[held < 0.9]
        units = pages * (self.net_spare + 1) / (1 - held) / counts
        if not len(counts):
            return self
        # The nearest of those whose pages come within a thousandth of whole, or the closest.
        off = np.abs(np.round(units) / units - 1)
        fits = off <= max(float(off.min()), 1e-3)
        count = min(counts[fits].tolist(), key=lambda count: abs(count - self.count))
        return self.with_net(count, self.net_spare) or self

    def device(self, capacity: int, *, page: int = PAGE) -> Device:
        """Returns the device with a logical capacity and a page size, both in bytes.

        Raises
        ------
        ConfigError
            No such device is possible.
        """
        pages = capacity // page
        unit = max(round(pages * (1 + self.overprovisioning) / self.count), 1)
        config = {
            "capacity": f"{pages * page}B",
            "page": f"{page}B",
            "handles": self.handles,
            "groups": 1,
            "isolation": "initially",
            "reclaim_unit": {"size": f"{unit * page}B", "count": self.count},
            "gc": {
                "policy": self.structure.policy,
                "background_free": self.structure.background_free,
                "background_max_valid": 0.05,
                # The device rounds down: half a unit more than the reserve yields the reserve.
                "forced_free": (self.reserve + 0.5) / self.count,
            },
        }
        if self.structure.destination != "isolation":
            config["gc"]["destination"] = self.structure.destination  # type: ignore[index]
        return Device.from_dict({**config, **self.known}, name="calibrated")


@dataclass(frozen=True)
class Trial:
    """Errors of a candidate's curve at the comparison points of the measured one."""

    candidate: Candidate
    #: Relative error of cumulative WAF at each point.
    cumulative: Array
    #: Relative error of the WAF of each interval of the curve.
    interval: Array
    #: The run, if it is kept.
    result: Result | None = field(default=None, repr=False, compare=False)

    @property
    def level(self) -> float:
        """Mean error of cumulative WAF, which over-provisioning can correct."""
        return float(np.mean(self.cumulative))

    @property
    def rms(self) -> float:
        """Root mean square error of cumulative WAF."""
        return float(np.sqrt(np.mean(self.cumulative**2)))

    @property
    def shape(self) -> float:
        """Root mean square error of the intervals about their mean: what remains for other parameters."""
        return float(np.sqrt(np.mean((self.interval - np.mean(self.interval)) ** 2)))

    @property
    def score(self) -> float:
        """Combined error; smaller is better. Cumulative errors, being averages, weigh fivefold."""
        return float(np.hypot(5 * self.rms, self.shape))


class Measured:
    """The measured curve with its comparison points, and the workload that produced it."""

    #: Approximate number of comparison points.
    POINTS = 160
    #: Maximum number of intervals; half of them lie in the first third, where the curve bends.
    INTERVALS = 40
    #: First comparison point, in drive writes; GC has not begun before it.
    FIRST = 0.5

    def __init__(self, curve: Curve, job: Job, precondition: str | None, cancel: Cancel) -> None:
        self.curve, self.job, self.precondition, self.cancel = curve, job, precondition, cancel
        self.volume = float(curve.host_bytes[-1]) / job.capacity
        #: Why the last impossible device was refused.
        self.refused = ""

    def points(self, volume: float) -> Array:
        """Returns the comparison points up to a volume in drive writes: host bytes of thinned samples."""
        volumes = self.curve.host_bytes / self.job.capacity
        kept = self.curve.host_bytes[(volumes >= min(self.FIRST, volume / 4)) & (volumes <= volume)]
        step = max(1, -(-len(kept) // self.POINTS))
        return kept[::-1][::step][::-1]

    def trial(self, candidate: Candidate, blocks: int, volume: float, seed: int = 1) -> Trial | None:
        """Runs a candidate and compares it; returns ``None`` if no such device is possible.

        Parameters
        ----------
        candidate
            The device.
        blocks
            Number of pages of the run, one for each block of the workload.
        volume
            Host bytes of the run, in drive writes.
        seed
            Random seed.

        Raises
        ------
        Cancelled
            The calibration was stopped.
        RunError
            The workload ends too early.
        """
        if self.cancel.cancelled:
            raise Cancelled("the calibration was stopped")
        at = self.points(volume)
        candidate = candidate.whole(blocks)
        try:
            device = candidate.device(blocks * self.job.page, page=self.job.page)
            wanted = device.logical_bytes * float(at[-1]) / self.job.capacity
            samples = max(640, 4 * len(at))
            made = Experiment(
                device,
                self.job.workload(blocks, seed),
                volume=f"{round(wanted)}B",
                seed=seed,
                samples=samples,
                precondition=self.precondition,
            )
            result = made.brief(EVERY, self.cancel)
        except ConfigError as error:
            self.refused = str(error)
            return None
        covers(result, wanted)
        # RUs have whole pages: with a few dozen each, over-provisioning differs a little from the request.
        return self.compare(candidate.with_(overprovisioning=device.overprovisioning), result, at)

    def compare(self, candidate: Candidate, result: Result, at: Array) -> Trial:
        """Returns the errors of a run at the comparison points ``at``, in host bytes of the drive."""
        ratio = result.capacity / self.job.capacity
        # The run may end a little before the last point, because its volume is rounded.
        end = float(result.timeline.host_bytes[-1])
        ours = result.timeline.media_at(np.minimum(at * ratio, end)) / ratio
        theirs = self.curve.media_at(at)
        edges = self._edges(at)
        growth = np.diff(theirs[edges])
        grown = growth > 0
        return Trial(
            candidate,
            cumulative=ours / theirs - 1,
            interval=np.diff(ours[edges])[grown] / growth[grown] - 1,
            result=result,
        )

    def _edges(self, at: Array) -> npt.NDArray[np.int64]:
        """Returns the indexes of the points that bound the intervals."""
        third = at[0] + (at[-1] - at[0]) / 3
        half = self.INTERVALS // 2
        wanted = np.concatenate([np.linspace(at[0], third, half + 1), np.linspace(third, at[-1], half + 1)])
        return np.unique(np.searchsorted(at, wanted * (1 - 1e-12)).clip(0, len(at) - 1))
