"""A candidate device, and how far its curve is from the measured one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from wafer._errors import ConfigError
from wafer._wafer import Cancel
from wafer.calibration.counters import Curve
from wafer.calibration.scaling import PAGE, Job, covers
from wafer.device import Device
from wafer.result import Result
from wafer.running import run

__all__ = ["Candidate", "Measured", "Structure", "Trial"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Structure:
    """What cannot be put into a number: policy, separation, background GC."""

    policy: str = "greedy"
    #: Where relocated data goes: "isolation" (apart, initially isolated) or "host" (with new data).
    destination: str = "isolation"
    background_free: float = 0.0

    def __str__(self) -> str:
        apart = {"isolation": "relocated data apart", "host": "relocated data with new data"}
        background = (
            f", background GC at {100 * self.background_free:g} % free" if self.background_free else ""
        )
        return f"{self.policy}, {apart.get(self.destination, self.destination)}{background}"


@dataclass(frozen=True)
class Candidate:
    """A device: its structure and its numbers."""

    structure: Structure
    #: (physical - logical) / logical.
    overprovisioning: float
    #: Physical reclaim units.
    count: int
    #: Reclaim units that forced GC keeps free.
    reserve: int = 3
    handles: int = 8
    #: Keys of the device that are known: a table as in a device file, as TOML or JSON has it.
    known: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)

    def with_(self, **changes: Any) -> Candidate:
        """The same with other numbers."""
        return replace(self, **changes)

    @property
    def net_spare(self) -> float:
        """Spare space that data can use, over the logical capacity: without reserve and idle open RUs."""
        unit = (1 + self.overprovisioning) / self.count
        return self.overprovisioning - unit * (self.reserve + self.handles)

    def with_net(self, count: int, net_spare: float) -> Candidate | None:
        """The same with so many units and so much spare space; ``None`` where too few are left for data."""
        held = (self.reserve + self.handles) / count
        if held >= 0.9:
            return None
        return self.with_(count=count, overprovisioning=(net_spare + held) / (1 - held))

    def whole(self, pages: int) -> Candidate:
        """The same net spare with a number of units, at most 1.5 % off, of which each has whole pages."""
        found = self
        least = 1.0
        reach = round(0.015 * self.count)
        for off in sorted(range(-reach, reach + 1), key=abs):
            other = self.with_net(self.count + off, self.net_spare)
            if other is None:
                continue
            unit = pages * (1 + other.overprovisioning) / other.count
            if abs(round(unit) / unit - 1) < least:
                found, least = other, abs(round(unit) / unit - 1)
        return found

    def device(self, capacity: int, *, page: int = PAGE) -> Device:
        """The device at a logical capacity; raises ConfigError where there can be none."""
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
                # Half a unit more than the reserve, so that rounding down gives it.
                "forced_free": (self.reserve + 0.5) / self.count,
            },
        }
        if self.structure.destination != "isolation":
            config["gc"]["destination"] = self.structure.destination  # type: ignore[index]
        return Device.from_dict({**config, **self.known}, name="calibrated")


@dataclass(frozen=True)
class Trial:
    """A candidate's curve beside the measured one, at the points of the measured one."""

    candidate: Candidate
    #: Cumulative WAF, ours over measured, less one.
    cumulative: Array
    #: WAF of each stretch of the curve, the same.
    interval: Array
    result: Result | None = field(default=None, repr=False, compare=False)

    @property
    def level(self) -> float:
        """Mean error of cumulative WAF: what over-provisioning puts right."""
        return float(np.mean(self.cumulative))

    @property
    def rms(self) -> float:
        """Root mean square error of cumulative WAF."""
        return float(np.sqrt(np.mean(self.cumulative**2)))

    @property
    def shape(self) -> float:
        """Root mean square error of the stretches, the level taken out: what the rest has to explain."""
        return float(np.sqrt(np.mean((self.interval - np.mean(self.interval)) ** 2)))

    @property
    def score(self) -> float:
        """Smaller is better. Cumulative errors are averages, hence smaller: they weigh five times."""
        return float(np.hypot(5 * self.rms, self.shape))


class Measured:
    """The measured curve at points to compare at, and the workload behind it."""

    #: Points to compare at.
    POINTS = 160
    #: Stretches that it is cut into at most, half of them in its first third, where its shape is.
    STRETCHES = 40
    #: Before half a drive write nothing tells anything of GC.
    FIRST = 0.5

    def __init__(self, curve: Curve, job: Job, precondition: str | None, cancel: Cancel) -> None:
        self.curve, self.job, self.precondition, self.cancel = curve, job, precondition, cancel
        self.volume = float(curve.host_bytes[-1]) / job.capacity

    def points(self, volume: float) -> Array:
        """Host bytes to compare at, to a volume: samples of the curve, not more than are needed."""
        volumes = self.curve.host_bytes / self.job.capacity
        kept = self.curve.host_bytes[(volumes >= min(self.FIRST, volume / 4)) & (volumes <= volume)]
        step = max(1, -(-len(kept) // self.POINTS))
        return kept[::-1][::step][::-1]

    def trial(self, candidate: Candidate, blocks: int, volume: float, seed: int = 1) -> Trial | None:
        """Run a candidate with so many blocks; ``None`` where there can be no such device."""
        at = self.points(volume)
        try:
            device = candidate.device(blocks * self.job.page, page=self.job.page)
            wanted = device.logical_bytes * float(at[-1]) / self.job.capacity
            result = run(
                device,
                self.job.workload(blocks),
                volume=round(wanted),
                seed=seed,
                samples=max(2000, 4 * len(at)),
                precondition=self.precondition,
                cancel=self.cancel,
            )
        except ConfigError:
            return None
        covers(result, wanted)
        # Units have whole pages: with a few hundred each, over-provisioning is not quite what was asked for.
        return self.compare(candidate.with_(overprovisioning=device.overprovisioning), result, at)

    def compare(self, candidate: Candidate, result: Result, at: Array) -> Trial:
        """A run beside the measured curve."""
        ratio = result.capacity / self.job.capacity
        # The last point may lie past the run's end by the rounding of its volume.
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
        """Points at which stretches begin and end."""
        third = at[0] + (at[-1] - at[0]) / 3
        half = self.STRETCHES // 2
        wanted = np.concatenate([np.linspace(at[0], third, half + 1), np.linspace(third, at[-1], half + 1)])
        return np.unique(np.searchsorted(at, wanted * (1 - 1e-12)).clip(0, len(at) - 1))
