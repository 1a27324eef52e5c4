"""Protocols of runs, fits and sweeps for plots and data frames, which those classes themselves import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Fitted", "Grid", "Run", "Volumes"]

Array = npt.NDArray[np.float64]


class Volumes(Protocol):
    """WAF over volume: :class:`wafer.Timeline`."""

    @property
    def volume(self) -> Array:
        """Host bytes in multiples of the logical capacity."""

    @property
    def _written(self) -> tuple[Array, str]:
        """The horizontal axis of curves, and its name."""

    @property
    def host_bytes(self) -> npt.NDArray[Any]:
        """Cumulative host bytes."""

    @property
    def media_bytes(self) -> npt.NDArray[Any]:
        """Cumulative media bytes."""

    @property
    def waf(self) -> Array:
        """Cumulative WAF."""

    @property
    def instantaneous_waf(self) -> Array:
        """WAF of each interval."""


class PartOfRun(Protocol):
    """A handle over a run: :class:`wafer.Handle`."""

    @property
    def total_host_bytes(self) -> int:
        """Bytes that hosts wrote through it."""

    @property
    def total_media_bytes(self) -> int:
        """Bytes programmed for it."""

    @property
    def waf(self) -> float | None:
        """Its WAF."""

    @property
    def cumulative_waf(self) -> Array:
        """Cumulative WAF."""


class Run(Protocol):
    """A run: :class:`wafer.Result`."""

    record: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of the experiment."""

    @property
    def seed(self) -> int | None:
        """Random seed; none for a measured drive."""

    @property
    def summary(self) -> dict[str, Any]:
        """Totals of the run."""

    def to_json(self) -> str:
        """Returns the record as JSON."""

    @property
    def host_bytes(self) -> int:
        """Bytes written by hosts."""

    @property
    def capacity(self) -> int:
        """Logical capacity, bytes."""

    @property
    def timeline(self) -> Volumes:
        """WAF over volume."""

    @property
    def handles(self) -> Mapping[Any, PartOfRun]:
        """Handles by number."""


class Measured(Protocol):
    """A measured curve: :class:`wafer.calibration.Curve`."""

    @property
    def host_bytes(self) -> Array:
        """Host bytes."""

    @property
    def waf(self) -> Array:
        """Cumulative WAF."""


class Fitted(Protocol):
    """A measured curve and its calibrated run: :class:`wafer.Fit`."""

    @property
    def curve(self) -> Measured:
        """The measured curve."""

    @property
    def result(self) -> Run:
        """The calibrated run."""

    @property
    def capacity(self) -> int:
        """Logical capacity, bytes."""

    @property
    def fitted(self) -> float:
        """Host bytes up to which the curve was fitted."""


class Interval(Protocol):
    """A mean with its interval: :class:`wafer.stats.Mean`."""

    @property
    def value(self) -> float:
        """Mean."""

    @property
    def half(self) -> float:
        """Half the width of the interval."""


class Point(Protocol):
    """A mean for one combination of keys: :class:`wafer.stats.Summary`."""

    @property
    def values(self) -> dict[str, Any]:
        """The keys with their values."""

    @property
    def mean(self) -> Interval:
        """The mean."""


class Grid(Protocol):
    """Rows of a sweep: :class:`wafer.sweeps.Sweep`."""

    rows: list[dict[str, Any]]

    def key(self, name: str) -> str:
        """Returns the varied key that a name refers to."""

    def summary(self, value: str = ..., by: Sequence[str] | None = ...) -> Sequence[Point]:
        """Returns the mean of a column for each combination of keys."""
