"""Means with intervals, and paired comparisons.

A run is repeatable, so its only randomness is its seed. Runs of the same experiment with several seeds
give a mean with a 95 % interval (Student's t). Two experiments with the same seeds are compared seed by
seed, which takes out what the seeds have in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wafer._errors import ConfigError

if TYPE_CHECKING:
    from wafer.result import Result

__all__ = ["Change", "Mean", "Summary", "compare", "mean", "student", "summarise"]


@dataclass(frozen=True)
class Mean:
    """A mean with its 95 % interval. One value has none: ``half`` is NaN."""

    value: float
    #: Half the width of the interval.
    half: float
    count: int

    @property
    def low(self) -> float:
        """Lower bound."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """Upper bound."""
        return self.value + self.half

    def __str__(self) -> str:
        if math.isnan(self.half):
            return f"{self.value:.4g} (one value)"
        digits = 3 if self.half == 0 else max(0, min(6, 1 - math.floor(math.log10(self.half))))
        return f"{self.value:.{digits}f} ± {self.half:.{digits}f}"


@dataclass(frozen=True)
class Change:
    """How much B differs from A, as a share of A, with its 95 % interval."""

    share: float
    low: float
    high: float
    count: int
    what: str = "media_bytes"

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out "no change"."""
        return not self.low <= 0 <= self.high

    def __str__(self) -> str:
        verb = "less" if self.share < 0 else "more"
        what = {"media_bytes": "to media"}.get(self.what, self.what)
        spread = "one pair" if math.isnan(self.half) else f"± {100 * self.half:.2g} %"
        return f"B writes {100 * abs(self.share):.3g} % {spread} {verb} {what} than A"


@dataclass(frozen=True)
class Summary:
    """The mean of a column for one combination of keys."""

    values: dict[str, Any]
    mean: Mean


def student(freedom: int, confidence: float = 0.95) -> float:
    """Quantile of Student's t: the half width of an interval in standard errors."""
    if freedom < 1:
        return math.nan
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    scale /= math.sqrt(freedom * math.pi)

    # With t = sqrt(freedom) tan(a) the density becomes cos(a) ** (freedom - 1): smooth and bounded.
    def inside(angle: float) -> float:
        points = np.linspace(0.0, angle, 2001)
        values = np.cos(points) ** (freedom - 1)
        step = points[1]
        sum_ = values[0] + values[-1] + 4 * values[1:-1:2].sum() + 2 * values[2:-1:2].sum()
        return float(2 * scale * math.sqrt(freedom) * sum_ * step / 3)

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < confidence else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def mean(values: Sequence[float] | npt.NDArray[Any]) -> Mean:
    """Mean and 95 % interval of independent values."""
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise ConfigError("mean: no values")
    if array.size == 1:
        return Mean(float(array[0]), math.nan, 1)
    error = float(np.std(array, ddof=1)) / math.sqrt(array.size)
    return Mean(float(np.mean(array)), student(array.size - 1) * error, int(array.size))


def compare(
    a: Sequence[Result] | Mapping[int, float],
    b: Sequence[Result] | Mapping[int, float],
    value: str = "media_bytes",
) -> Change:
    """How much B differs from A, seed by seed: "B writes 23 % ± 2 % less to media than A".

    Args:
        a, b: results with the same seeds, or values by seed.
        value: column of the summary of results.

    Raises:
        ConfigError: no seed in common, or a value that is not positive.

    """
    first, second = _by_seed(a, value), _by_seed(b, value)
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        raise ConfigError("compare: no seed in common")
    if min(min(first[s], second[s]) for s in seeds) <= 0:
        raise ConfigError(f"compare: {value} must be positive")
    ratios = mean([math.log(second[seed] / first[seed]) for seed in seeds])
    bounds = (ratios.low, ratios.value, ratios.high)
    low, share, high = (math.expm1(bound) for bound in bounds)
    return Change(share, low, high, len(seeds), value)


def _by_seed(runs: Sequence[Result] | Mapping[int, float], value: str) -> dict[int, float]:
    if isinstance(runs, Mapping):
        return {int(seed): float(number) for seed, number in runs.items()}
    found: dict[int, float] = {}
    for result in runs:
        if result.seed in found:
            raise ConfigError(f"compare: seed {result.seed} twice")
        found[result.seed] = float(result.summary[value])
    return found


def summarise(rows: Sequence[Mapping[str, Any]], value: str, by: Sequence[str]) -> list[Summary]:
    """Mean and interval of a column for each combination of the columns ``by``, in order of first use."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        key = tuple(_hashable(row.get(name)) for name in by)
        groups.setdefault(key, []).append(float(row[value]))
    return [Summary(dict(zip(by, key)), mean(numbers)) for key, numbers in groups.items()]


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return str(value) if isinstance(value, dict) else value
