"""The result of a calibration."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wafer import __version__, _html
from wafer._arguments import file, not_an_input
from wafer._colours import COLOURS
from wafer.calibration.counters import Curve
from wafer.calibration.model import Candidate, Structure
from wafer.device import Device
from wafer.result import Result, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Fit", "Interval"]


@dataclass(frozen=True)
class Interval:
    """A value and the bounds of its 95 % confidence interval."""

    low: float
    value: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


@dataclass(frozen=True)
class Fit:
    """The device inferred from a measured curve.

    Attributes
    ----------
    device
        The device at the drive's full capacity, for :func:`wafer.run`.
    parameters
        Best values by name.
    intervals
        95 % confidence intervals by name, which hold jointly: ``net_spare`` (spare space without the
        reserve and the open RUs, over the logical capacity), ``overprovisioning``,
        ``reclaim_unit_count``, ``reclaim_unit_bytes``. They cover every structure that is about as
        likely as the best.
    structure
        The best policy, separation and background GC.
    warnings
        Parameters that the curve does not determine, and places where the fit is poor. Read them.
    alternatives
        Other structures, and the factor by which their error is larger.
    error
        Relative root mean square error of cumulative WAF over the fitted part.
    prediction_error
        Largest relative error of cumulative WAF over the rest; ``None`` if all of the curve
        was fitted.
    runs
        Number of simulations.
    seconds
        Time taken.
    capacity
        Logical capacity of the drive, bytes.
    source
        File of the measured curve.
    curve
        The measured curve.
    fitted
        Host bytes up to which the curve was fitted.
    result
        Run of the calibrated device over the whole curve, possibly scaled.
    candidate
        The device as the search describes it.
    stopped
        The stage in which Ctrl-C or ``time_limit`` stopped the search; ``None`` if it is complete.
    inputs
        The files that were read; :meth:`to_toml` does not overwrite them.

    Examples
    --------
    >>> import wafer
    >>> fit = wafer.calibrate("stats.json", "3.84TB")  # doctest: +SKIP
    >>> print(fit.intervals["overprovisioning"])  # doctest: +SKIP
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
    fitted: float
    result: Result
    candidate: Candidate
    stopped: str | None = None
    inputs: tuple[str, ...] = ()

    def predict(self, host_bytes: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns the predicted media bytes of the drive at ``host_bytes``; NaN beyond the measured curve.

        Parameters
        ----------
        host_bytes
            Host bytes of the drive since the first sample.
        """
        ratio = self.result.capacity / self.capacity
        host = np.asarray(host_bytes, dtype=np.float64)
        end = float(self.result.timeline.host_bytes[-1])
        # The run may end a little before the curve, because its volume is rounded.
        at = np.where(host * ratio <= end * (1 + 1e-6), np.minimum(host * ratio, end), np.inf)
        return self.result.timeline.media_at(at) / ratio

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the device as a commented profile, and writes it to ``path`` if given.

        Parameters
        ----------
        path
            File to write.

        Raises
        ------
        ConfigError
            ``path`` is a file that the calibration read.
        """
        lines = [
            f"# Calibrated by wafer {__version__} from {self.source}.",
            f"# Structure: {self.structure}.",
            f"# Error of cumulative WAF {100 * self.error:.2f} % rms over the fitted part"
            + (
                f", at most {100 * self.prediction_error:.2f} % over the rest."
                if self.prediction_error is not None
                else "; the whole curve was fitted, so no prediction was checked."
            ),
            "# 95 % intervals:",
            *(f"#   {name}: {interval}" for name, interval in self.intervals.items()),
            *(f"# Warning: {warning}" for warning in self.warnings),
        ]
        text = "\n".join(lines) + "\n" + self.device.to_toml()
        if path is not None:
            name = file("path", path)
            not_an_input(name, self.inputs)
            write_text(Path(name), text)
        return text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plots the measured and the calibrated curve; needs the extra ``analysis``.

        Parameters
        ----------
        ax
            Axes to draw on. Default: new ones.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        MissingExtra
            Matplotlib is not installed.
        """
        from wafer.plot.curves import plot_fit

        return plot_fit(self, ax)

    def _repr_html_(self) -> str:
        lines = [
            ("measured", COLOURS[1], self.curve.host_bytes / self.capacity, self.curve.waf),
            ("calibrated", COLOURS[0], self.result.timeline.volume, self.result.timeline.waf),
        ]
        rows = [
            {"parameter": name, "low": interval.low, "value": interval.value, "high": interval.high}
            for name, interval in self.intervals.items()
        ]
        return _html.page(
            f"{self.source}: {self.structure}",
            _html.table(rows),
            _html.chart(lines, "host bytes / capacity", "cumulative WAF"),
            "".join(f"<p>{html.escape(warning)}</p>" for warning in self.warnings),
        )

    def __str__(self) -> str:
        rows = [f"{self.source}: {self.structure}"]
        rows += [f"  {name:20} {interval}" for name, interval in self.intervals.items()]
        rows.append(f"  error over the fitted part {100 * self.error:.2f} % rms")
        if self.prediction_error is not None:
            rows.append(f"  error over the rest at most {100 * self.prediction_error:.2f} %")
        rows += [f"  {name}: {times:.1f} times the error" for name, times in self.alternatives.items()]
        rows += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(rows)

    def to_dict(self) -> dict[str, Any]:
        """Returns everything but the curves, ready for JSON."""
        return {
            "parameters": self.parameters,
            "intervals": {k: [i.low, i.value, i.high] for k, i in self.intervals.items()},
            "structure": str(self.structure),
            "warnings": list(self.warnings),
            "alternatives": self.alternatives,
            "error": self.error,
            "prediction_error": self.prediction_error,
            "stopped": self.stopped,
            "device": self.device.config,
        }
