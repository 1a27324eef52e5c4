"""What a calibration answers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wafer import __version__
from wafer.calibration.counters import Curve
from wafer.calibration.model import Candidate, Structure
from wafer.device import Device
from wafer.result import Result, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Fit", "Interval"]


@dataclass(frozen=True)
class Interval:
    """A value with the bounds of its 95 % confidence interval."""

    low: float
    value: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class Fit:
    """The device behind a measured curve.

    Attributes:
        device: the device, at the drive's full capacity; runs like any other.
        parameters: best values by name.
        intervals: 95 % intervals by name: of ``net_spare`` (spare space without reserve and idle open
            RUs), ``overprovisioning``, ``reclaim_unit_count``, ``reclaim_unit_bytes``. They reach over all
            structures that are about as likely as the one found.
        warnings: what the curve cannot tell, and where the fit is poor. Read them.
        alternatives: other structures (policy, separation, background GC), with how many times larger
            their error is.
        error: root mean square error of cumulative WAF over the part that was fitted, a share.
        prediction_error: largest error of cumulative WAF over the part that was *not* fitted, a share;
            ``None`` if all was fitted.
        runs: simulations that it took; ``seconds``: time.

    """

    device: Device
    parameters: dict[str, float]
    intervals: dict[str, Interval]
    structure: Structure
    warnings: tuple[str, ...]
    alternatives: dict[str, float]
    error: float
    prediction_error: float | None
    runs: int
    seconds: float
    capacity: int
    source: str
    curve: Curve
    #: Host bytes up to which the curve was fitted.
    fitted: float
    #: Our curve over the whole measured one.
    result: Result
    candidate: Candidate

    def predict(self, host_bytes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Media bytes of the real drive when hosts had written so much; NaN past the measured curve."""
        ratio = self.result.capacity / self.capacity
        host = np.asarray(host_bytes, dtype=np.float64)
        end = float(self.result.timeline.host_bytes[-1])
        # The run's end may fall short of the curve's by the rounding of its volume.
        at = np.where(host * ratio <= end * (1 + 1e-6), np.minimum(host * ratio, end), np.inf)
        return self.result.timeline.media_at(at) / ratio

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """The device as a profile with where each value comes from; also written to ``path``."""
        lines = [
            f"# Calibrated by wafer {__version__} from {self.source}.",
            f"# Structure: {self.structure}.",
            f"# Error of cumulative WAF {100 * self.error:.2f} % rms over the fitted part"
            + (
                f", at most {100 * self.prediction_error:.2f} % over the rest."
                if self.prediction_error is not None
                else "; nothing was left to check a prediction."
            ),
            "# 95 % intervals:",
            *(f"#   {name}: {interval}" for name, interval in self.intervals.items()),
            *(f"# Warning: {warning}" for warning in self.warnings),
        ]
        text = "\n".join(lines) + "\n" + self.device.to_toml()
        if path is not None:
            write_text(Path(path), text)
        return text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the measured curve, ours, and where fitting ended; needs ``wafer[analysis]``."""
        from wafer.figures.curves import plot_fit

        return plot_fit(self, ax)

    def __str__(self) -> str:
        rows = [f"{self.source}: {self.structure}"]
        rows += [f"  {name:20} {interval}" for name, interval in self.intervals.items()]
        rows.append(f"  error over the fitted part {100 * self.error:.2f} % rms")
        if self.prediction_error is not None:
            rows.append(f"  error over the rest at most {100 * self.prediction_error:.2f} %")
        rows += [f"  {name}: error {times:.1f} times as large" for name, times in self.alternatives.items()]
        rows += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(rows)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the curves, for JSON."""
        return {
            "parameters": self.parameters,
            "intervals": {k: [i.low, i.value, i.high] for k, i in self.intervals.items()},
            "structure": str(self.structure),
            "warnings": list(self.warnings),
            "alternatives": self.alternatives,
            "error": self.error,
            "prediction_error": self.prediction_error,
            "device": self.device.config,
        }
