"""Means with confidence intervals, and paired comparisons.

A run is repeatable, so its only randomness is its seed. Runs of one experiment with several seeds give a
mean with a 95 % interval (Student's t). Two experiments with the same seeds are compared seed by seed,
which removes the variation that the seeds share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from wafer import _wafer
from wafer._arguments import names, number, several, whole
from wafer._errors import ConfigError

if TYPE_CHECKING:
    from wafer.result import Result

__all__ = ["Change", "Mean", "Summary", "compare", "mean", "student", "summarise"]


@dataclass(frozen=True)
class Mean:
    """A mean with its 95 % interval. For a single value, ``half`` is NaN."""

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
        if self.count == 1:
            return f"{self.value:.4g} (one value)"
        if not math.isfinite(self.half):
            return f"{self.value:.4g} ± {self.half:.4g}"
        digits = 3 if self.half == 0 else max(0, 1 - math.floor(math.log10(self.half)))
        if digits > 6:
            return f"{self.value:.4g} ± {self.half:.2g}"
        return f"{self.value:.{digits}f} ± {self.half:.{digits}f}"


@dataclass(frozen=True)
class Change:
    """The difference between B and A as a share of A, with its 95 % interval."""

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
        """Whether the interval excludes "no change"; false for a single pair, which has no interval."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        verb = "less" if self.share < 0 else "more"
        what = {"media_bytes": "to media"}.get(self.what, self.what)
        spread = "one pair" if self.count == 1 else f"± {100 * self.half:.2g} %"
        return f"B writes {100 * abs(self.share):.3g} % {spread} {verb} {what} than A"


@dataclass(frozen=True)
class Summary:
    """The mean of a column for one combination of keys."""

    values: dict[str, Any]
    mean: Mean


def student(freedom: int, confidence: float = 0.95) -> float:
    """Returns the two-sided quantile of Student's t: half the width of an interval in standard errors.

    Parameters
    ----------
    freedom
        Degrees of freedom, from 1.
    confidence
        Share of the distribution within the interval, between 0 and 1.

    Raises
    ------
    ConfigError
        The confidence is out of range, or ``freedom`` is not a whole number of at least 1.

    Examples
    --------
    >>> import wafer
    >>> round(wafer.stats.student(4), 3)
    2.776
    """
    return _wafer.student(whole("freedom", freedom, 1), number("confidence", confidence))


def mean(values: Sequence[float] | npt.NDArray[Any]) -> Mean:
    """Returns the mean and the 95 % interval of independent values.

    Parameters
    ----------
    values
        At least one.

    Raises
    ------
    ConfigError
        There are no values, or one is NaN.
    TypeError
        They are not numbers.

    Examples
    --------
    >>> import wafer
    >>> print(wafer.stats.mean([1.0, 1.2, 1.1]))
    1.10 ± 0.25
    """
    try:
        given = list(values)
        if any(isinstance(value, (str, bytes)) for value in given):
            raise TypeError("texts")
        numbers = [float(value) for value in given]
    except (TypeError, ValueError):
        raise TypeError(f"values: expected numbers, not {values!r:.60}") from None
    for index, value in enumerate(numbers):
        if math.isnan(value):
            raise ConfigError(f"values[{index}]: expected a number, not nan")
    found = _wafer.mean(numbers)
    if found is None:
        raise ConfigError("mean: no values")
    return Mean(*found, len(numbers))


def compare(
    a: Result | Sequence[Result] | Mapping[int, float],
    b: Result | Sequence[Result] | Mapping[int, float],
    value: str = "media_bytes",
) -> Change:
    """Compares B with A, seed by seed: "B writes 23 % ± 2 % less to media than A".

    Parameters
    ----------
    a
        Results, or values by seed.
    b
        Results with the same seeds, or values by seed.
    value
        Column of the summary of results.

    Returns
    -------
    Change
        The change, with its interval.

    Raises
    ------
    ConfigError
        There is no common seed, a value is not positive, or the summary has no such column of numbers.

    Examples
    --------
    >>> import wafer
    >>> round(wafer.stats.compare({1: 10.0, 2: 11.0}, {1: 8.0, 2: 8.8}, "waf").share, 3)
    -0.2
    """
    first, second = _by_seed("a", a, value), _by_seed("b", b, value)
    seeds = sorted(first.keys() & second.keys(), key=lambda seed: -1 if seed is None else seed)
    change = _wafer.change([(first[seed], second[seed]) for seed in seeds])
    return Change(*change, len(seeds), value)


def _by_seed(
    name: str, runs: Result | Sequence[Result] | Mapping[int, float], value: str
) -> dict[int | None, float]:
    # Results import the package's other modules, so the class cannot be imported above.
    from wafer.result import Result

    if isinstance(runs, Mapping):
        return {int(seed): float(number) for seed, number in runs.items()}
    # A measured drive has no seed; its only run has the key None.
    found: dict[int | None, float] = {}
    for result in several(name, runs, Result):
        if result.seed in found:
            twice = "several runs without a seed" if result.seed is None else f"seed {result.seed} twice"
            raise ConfigError(f"compare: {twice}")
        found[result.seed] = _number(result.summary, value)
    return found


def _number(row: Mapping[str, Any], column: str) -> float:
    if column not in row:
        raise ConfigError(f"{column}: no such column; known: {', '.join(map(str, row))}")
    try:
        found = float(row[column])
    except (TypeError, ValueError):
        found = math.nan
    if math.isnan(found):
        raise ConfigError(f"{column}: expected a column of numbers, not {row[column]!r:.60}")
    return found


def summarise(rows: Sequence[Mapping[str, Any]], value: str, by: str | Sequence[str]) -> list[Summary]:
    """Returns the mean of a column for each combination of the columns ``by``, in order of first use.

    Parameters
    ----------
    rows
        Rows with the columns.
    value
        Column of numbers.
    by
        A column, or columns, whose combinations each get a mean; with none, one mean of all rows.

    Raises
    ------
    ConfigError
        No row has a column of ``by``, a row has no ``value``, or it is not a number.

    Examples
    --------
    >>> import wafer
    >>> rows = [{"op": 0.1, "waf": 2.0}, {"op": 0.1, "waf": 2.2}]
    >>> wafer.stats.summarise(rows, "waf", ["op"])[0].mean.count
    2
    """
    by = names("by", by)
    missing = [name for name in by if rows and not any(name in row for row in rows)]
    if missing:
        raise ConfigError(f"by: no row has {', '.join(missing)}")
    groups: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        key = tuple(_hashable(row.get(name)) for name in by)
        groups.setdefault(key, []).append(_number(row, value))
    return [Summary(dict(zip(by, key)), mean(numbers)) for key, numbers in groups.items()]


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return str(value) if isinstance(value, dict) else value
