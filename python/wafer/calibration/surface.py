"""The likelihood of a structure over the number of reclaim units and the net spare space.

A single run is not enough. Two runs of the same device differ, and more so with fewer reclaim units, so the
device with the smallest error is often merely the one with the least noise. The search therefore spreads the
runs of a design over a region. For each interval of the curve a regression in the two parameters gives the
device's mean, and its residuals give the noise, which the measured curve has too. Together they form a
*synthetic likelihood* (Wood, Nature 466, 2010). Neighbouring intervals are anticorrelated: garbage collection
works in whole reclaim units, so an excess in one interval is missing in the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wafer.calibration.model import Candidate, Trial

__all__ = ["Region", "Surface", "explore"]

Array = npt.NDArray[np.float64]

#: 95 % quantile of chi-squared with two degrees of freedom: number of units and net spare are both in the
#: region.
CHI2 = 5.99
#: Deviances this far above the minimum need not be known accurately.
FAR = 20.0
#: Minimum number of blocks in a reclaim unit, and in one of a scaled device, whose fill fluctuates more than
#: that of the drive.
LEAST_BLOCKS, LEAST_SCALED_BLOCKS = 16, 100
_LEAST_COUNT = 30
# Terms of the regression, see `_basis`.
_TERMS = 8
#: Number of grid points along each axis of a region.
_GRID = 101


@dataclass(frozen=True)
class Region:
    """A band around a line in the plane of x = ln number of RUs and z = ln net spare.

    Local coordinates u (along x) and v (across the line) run from -1 to 1.
    """

    centre: float
    half: float
    level: float
    slope: float
    width: float

    def at(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Returns (x, z) at local coordinates."""
        x = self.centre + self.half * u
        return x, self.level + self.slope * (x - self.centre) + self.width * v

    def place(self, x: Array, z: Array) -> tuple[Array, Array]:
        """Returns the local coordinates of (x, z)."""
        u = (x - self.centre) / self.half
        return u, (z - self.level - self.slope * (x - self.centre)) / self.width

    @classmethod
    def around(cls, trials: Sequence[Trial], count: float, most: float) -> Region:
        """Returns the region from a fifth to five times ``count``, along the net spare of level trials."""
        level = [t for t in trials if abs(t.level) < 0.01 and t.candidate.net_spare > 0] or list(trials)
        x = np.array([math.log(t.candidate.count) for t in level])
        z = np.array([math.log(max(t.candidate.net_spare, 1e-4)) for t in level])
        slope = 0.0
        if np.ptp(x) > 0.5:
            slope = float(np.clip(np.polyfit(x, z, 1)[0], -0.1, 0.1))
        low = max(math.log(count / 5), math.log(_LEAST_COUNT))
        high = max(min(math.log(count * 5), math.log(most)), low + 0.5)
        centre = (low + high) / 2
        values = z - slope * (x - centre)
        return cls(
            centre, (high - low) / 2, float(np.median(values)), slope, max(0.08, 1.2 * float(np.std(values)))
        )

    def design(self, runs: int, skip: int) -> tuple[Array, Array]:
        """Returns ``runs`` points of the R2 sequence, which fills the region evenly, from number ``skip``."""
        golden = 1.32471795724474602596
        at = np.arange(1 + skip, 1 + skip + runs)
        u, v = (np.asarray(2 * ((0.5 + at * golden**-power) % 1) - 1, dtype=np.float64) for power in (1, 2))
        return self.at(u, v)


def _basis(u: Array, v: Array) -> Array:
    return np.stack([np.ones_like(u), u, u * u, u**3, v, v * v, u * v, u * u * v], axis=-1)


def _correlation(left: Array) -> Array:
    """Returns the correlation of intervals by lag, pooled and tapered to stay positive definite."""
    runs, width = left.shape
    each = left / np.sqrt(np.maximum(np.mean(left**2, axis=0), 1e-18))
    reach = min(6, width - 1)
    found = np.zeros(width)
    found[0] = 1.0
    for lag in range(1, reach):
        found[lag] = float(np.sum(each[:, lag:] * each[:, :-lag])) / (runs * width) * (1 - lag / reach)
    at = np.arange(width)
    return np.asarray(found[np.abs(at[:, None] - at[None, :])], dtype=np.float64)


class Surface:
    """The regression over the runs of one structure in a region, and its likelihood."""

    def __init__(self, region: Region, trials: Sequence[Trial]) -> None:
        self.region, self.trials = region, list(trials)
        x = np.array([math.log(t.candidate.count) for t in trials])
        z = np.array([math.log(t.candidate.net_spare) for t in trials])
        basis = _basis(*region.place(x, z))
        values = np.stack([np.append(t.interval, t.level) for t in trials])
        terms, *_ = np.linalg.lstsq(basis, values, rcond=None)
        left = values - basis @ terms
        freedom = max(len(trials) - _TERMS, 1)
        left = left[:, :-1] * math.sqrt(len(trials) / freedom)
        # Neighbouring intervals have similar noise, so the few runs are smoothed over them.
        power = np.pad(np.mean(left**2, axis=0), 1, mode="edge")
        spread = np.maximum(np.sqrt(np.convolve(power, [0.25, 0.5, 0.25], "valid")), 2e-4)
        self._terms, self._level = terms[:, :-1], terms[:, -1]
        self._gram = np.linalg.pinv(basis.T @ basis)
        covariance = spread[:, None] * _correlation(left) * spread[None, :]
        covariance[np.diag_indices_from(covariance)] *= 1.01
        self._root = np.linalg.cholesky(covariance)
        self._norm = 2 * float(np.sum(np.log(np.diag(self._root))))
        self.u, self.v = np.meshgrid(np.linspace(-1, 1, _GRID), np.linspace(-1, 1, _GRID), indexing="ij")
        self.x, self.z = region.at(self.u, self.v)
        #: Squared distance from the measured curve over the grid, in units of the noise.
        self.misfit, self._leverage = self._misfits()
        self.intervals = left.shape[1]

    def _misfits(self) -> tuple[Array, Array]:
        basis = _basis(self.u.ravel(), self.v.ravel())
        curve = np.linalg.solve(self._root, (basis @ self._terms).T)
        # The regression itself has an error, which is largest at the edges of the region.
        leverage = 1 + np.sum((basis @ self._gram) * basis, axis=1)
        misfit = np.sum(curve**2, axis=0) / leverage
        return misfit.reshape(self.u.shape), leverage.reshape(self.u.shape)

    def excess(self) -> float:
        """Returns the misfit of the best curve relative to noise, at least 1.

        If no device of the model fits, the remaining error is correlated over many intervals, which then
        count as fewer independent ones.
        """
        at = np.unravel_index(int(np.argmin(self.misfit)), self.misfit.shape)
        least: float = float(self.misfit[at])
        over = least / max(self.intervals - 2, 1)
        if over <= 1.5:
            return float(max(over, 1.0))
        basis = _basis(self.u[at], self.v[at])
        left = np.linalg.solve(self._root, basis @ self._terms)
        r = float(left[:-1] @ left[1:]) / max(float(left @ left), 1e-30)
        r = min(max(r, 0.0), 0.9)
        return float(over * (1 + r) / (1 - r))

    def deviance(self, excess: float) -> Array:
        """Returns -2 ln likelihood over the grid, up to a constant."""
        deviance = self.misfit / excess + self._norm + self.intervals * np.log(self._leverage)
        return np.asarray(deviance, dtype=np.float64)

    def least(self, excess: float = 1.0) -> float:
        """Returns the minimum of the deviance."""
        return float(np.min(self.deviance(excess)))

    def likely(self, excess: float) -> tuple[Array, Array]:
        """Returns the grid points (x, z) within the 95 % confidence region."""
        deviance = self.deviance(excess)
        kept = deviance <= deviance.min() + CHI2
        return self.x[kept], self.z[kept]

    def centre(self, excess: float) -> tuple[float, float]:
        """Returns the likelihood-weighted mean of (x, z): on a flat surface the minimum is down to chance."""
        deviance = self.deviance(excess)
        weight = np.exp(-(deviance - deviance.min()) / 2)
        return float(np.average(self.x, weights=weight)), float(np.average(self.z, weights=weight))

    def level_slope(self, x: float, z: float) -> float:
        """Returns the derivative of the mean error of cumulative WAF by z."""
        u, v = self.region.place(np.array(x), np.array(z))
        step = 0.05
        ends = _basis(np.array([u, u]), np.array([v + step, v - step])) @ self._level
        return float(ends[0] - ends[1]) / (2 * step * self.region.width)

    def next(self, excess: float, most: float) -> tuple[Region, bool]:
        """Returns the next region, and whether it differs enough from this one to be explored.

        It covers the grid points of small deviance and grows beyond an edge that they touch.
        """
        deviance = self.deviance(excess)
        likely = deviance - deviance.min() < FAR
        rows, columns = np.any(likely, axis=1), np.any(likely, axis=0)
        x, region = self.x[:, 0], self.region
        low, high = float(x[rows].min()), float(x[rows].max())
        floor, ceiling = math.log(_LEAST_COUNT), math.log(most)
        grow = 0.5
        wider = False
        if rows[0] and region.centre - region.half > floor + 1e-9:
            low, wider = max(low - grow, floor), True
        if rows[-1] and region.centre + region.half < ceiling - 1e-9:
            high, wider = min(high + grow, ceiling), True
        if high - low < 0.6:
            middle = (high + low) / 2
            low, high = max(middle - 0.3, floor), min(middle + 0.3, ceiling)
        best = np.array([self.z[i, int(np.argmin(deviance[i]))] for i in np.flatnonzero(rows)])
        centre = (low + high) / 2
        slope, level = 0.0, float(np.median(best))
        if len(best) > 3:
            slope, level = (float(c) for c in np.polyfit(x[rows] - centre, best, 1))
            slope = min(max(slope, -0.3), 0.3)
        off = np.abs(self.z - level - slope * (self.x - centre))
        width = 1.15 * float(np.max(off[likely]))
        if columns[0] or columns[-1]:
            width, wider = max(width, 1.5 * region.width), True
        width = min(max(width, 0.006), 0.6)
        found = Region(centre, max((high - low) / 2, 0.25), level, slope, width)
        smaller = found.half < 0.75 * region.half or found.width < 0.6 * region.width
        return found, wider or smaller


#: Runs candidates with their seeds; the results omit impossible devices.
Runner = Callable[[Sequence[tuple[Candidate, int]]], list[Trial]]


def explore(
    start: Candidate,
    region: Region,
    most: float,
    run: Runner,
    runs: int,
    *,
    rounds: int = 4,
    worth: Callable[[Surface], bool] = lambda surface: True,
) -> Surface | None:
    """Runs designs of a structure in a region that follows the likelihood.

    Parameters
    ----------
    start
        The structure and everything else that does not vary.
    region
        Where to begin.
    most
        Maximum number of reclaim units.
    run
        Runs candidates.
    runs
        Number of runs per round.
    rounds
        Maximum number of rounds.
    worth
        Whether to continue after a round.

    Returns
    -------
    Surface | None
        The last surface, or ``None`` if the first region has too few possible devices.
    """
    trials: list[Trial] = []
    surface: Surface | None = None
    for turn in range(rounds):
        x, z = region.design(runs, turn * runs)
        wanted = [
            (start.with_net(max(round(math.exp(a)), _LEAST_COUNT), math.exp(b)), turn * runs + i + 1)
            for i, (a, b) in enumerate(zip(x.tolist(), z.tolist()))
        ]
        trials += run([(c, seed) for c, seed in wanted if c is not None])
        inside = [t for t in trials if _inside(region, t)]
        if len(inside) < _TERMS + 4:
            return surface
        surface = Surface(region, inside)
        if not worth(surface):
            break
        region, again = surface.next(surface.excess(), most)
        if not again:
            break
    return surface


def _inside(region: Region, trial: Trial) -> bool:
    if trial.candidate.net_spare <= 0:
        return False
    x, z = math.log(trial.candidate.count), math.log(trial.candidate.net_spare)
    u, v = region.place(np.array(x), np.array(z))
    return bool(abs(u) <= 1.15 and abs(v) <= 1.3)
