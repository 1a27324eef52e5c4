"""How far a structure's curves are from the measured one, over number of reclaim units and net spare space.

A single run says little: curves of two runs of the same device differ, more where reclaim units are few, so
that the device with the smallest error is often the one with the least noise. So the runs of a design are
spread over a region, and what is smooth in them is taken for the device (a regression in the two numbers, for
each stretch of the curve), what is left for the noise that the measured curve has as well. Both together are
a likelihood (a *synthetic likelihood*, Wood, Nature 2010). Stretches next to each other are correlated:
garbage collection comes in portions of a reclaim unit, and of what one stretch has too much the next has too
little.
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

#: 95 % quantile of chi-squared with one degree of freedom.
CHI2 = 3.84
#: Where likelihoods are this far apart nothing needs to be known.
FAR = 20.0
#: Reclaim units of fewer blocks are none.
LEAST_BLOCKS = 100
_LEAST_COUNT = 30
_TERMS = 8
#: Points of a region's grid, each way.
_GRID = 101


@dataclass(frozen=True)
class Region:
    """A band along a line: ln net spare over ln number of units."""

    centre: float
    half: float
    level: float
    slope: float
    width: float

    def at(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Logarithms of number and net spare, at places from -1 to 1."""
        x = self.centre + self.half * u
        return x, self.level + self.slope * (x - self.centre) + self.width * v

    def place(self, x: Array, z: Array) -> tuple[Array, Array]:
        """The places of logarithms."""
        u = (x - self.centre) / self.half
        return u, (z - self.level - self.slope * (x - self.centre)) / self.width

    @classmethod
    def around(cls, trials: Sequence[Trial], count: float, most: float) -> Region:
        """Five times fewer and more units than `count`, along the net spare of trials that are level."""
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
        """Places that fill the region evenly (the R2 sequence), and go on where others ended."""
        golden = 1.32471795724474602596
        at = np.arange(1 + skip, 1 + skip + runs)
        u, v = (np.asarray(2 * ((0.5 + at * golden**-power) % 1) - 1, dtype=np.float64) for power in (1, 2))
        return self.at(u, v)


def _basis(u: Array, v: Array) -> Array:
    return np.stack([np.ones_like(u), u, u * u, u**3, v, v * v, u * v, u * u * v], axis=-1)


def _correlation(left: Array) -> Array:
    """Of stretches by their distance, pooled; tapered, so that it is one."""
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
    """The regression through the runs of one structure in a region."""

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
        # Stretches near each other have alike noise: smoothed, for each was seen in few runs.
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
        #: Squared distance from the measured curve over the grid, in standard deviations.
        self.misfit, self._leverage = self._misfits()
        self.stretches = left.shape[1]

    def _misfits(self) -> tuple[Array, Array]:
        basis = _basis(self.u.ravel(), self.v.ravel())
        curve = np.linalg.solve(self._root, (basis @ self._terms).T)
        # The regression is not known exactly, least so at the region's edges.
        leverage = 1 + np.sum((basis @ self._gram) * basis, axis=1)
        misfit = np.sum(curve**2, axis=0) / leverage
        return misfit.reshape(self.u.shape), leverage.reshape(self.u.shape)

    def excess(self) -> float:
        """How much more the best curve misses than noise would, 1 at least.

        What is left of a device that is no model of ours is correlated over long stretches, which are then
        worth fewer.
        """
        at = np.unravel_index(int(np.argmin(self.misfit)), self.misfit.shape)
        least: float = float(self.misfit[at])
        over = least / max(self.stretches - 2, 1)
        if over <= 1.5:
            return float(max(over, 1.0))
        basis = _basis(self.u[at], self.v[at])
        left = np.linalg.solve(self._root, basis @ self._terms)
        r = float(left[:-1] @ left[1:]) / max(float(left @ left), 1e-30)
        r = min(max(r, 0.0), 0.9)
        return float(over * (1 + r) / (1 - r))

    def unlikely(self, excess: float) -> Array:
        """Minus twice the logarithm of the likelihood over the grid, but for a constant."""
        told = self.misfit / excess + self._norm + self.stretches * np.log(self._leverage)
        return np.asarray(told, dtype=np.float64)

    def least(self, excess: float = 1.0) -> float:
        """The smallest of :meth:`unlikely`."""
        return float(np.min(self.unlikely(excess)))

    def likely(self, excess: float) -> tuple[Array, Array]:
        """Logarithms of number and net spare within the 95 % region."""
        told = self.unlikely(excess)
        kept = told <= told.min() + CHI2
        return self.x[kept], self.z[kept]

    def centre(self, excess: float) -> tuple[float, float]:
        """Mean of the logarithms, by likelihood: where the surface is flat its lowest place is chance."""
        told = self.unlikely(excess)
        weight = np.exp(-(told - told.min()) / 2)
        return float(np.average(self.x, weights=weight)), float(np.average(self.z, weights=weight))

    def level_slope(self, x: float, z: float) -> float:
        """How the mean error of cumulative WAF changes with the logarithm of net spare."""
        u, v = self.region.place(np.array(x), np.array(z))
        step = 0.05
        ends = _basis(np.array([u, u]), np.array([v + step, v - step])) @ self._level
        return float(ends[0] - ends[1]) / (2 * step * self.region.width)

    def next(self, excess: float, most: float) -> tuple[Region, bool]:
        """The part of the region that matters, larger where it ends at an edge; whether it is new."""
        told = self.unlikely(excess)
        likely = told - told.min() < FAR
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
        best = np.array([self.z[i, int(np.argmin(told[i]))] for i in np.flatnonzero(rows)])
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


#: Runs candidates with their seeds; those that can be no device are left out.
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
    """Runs in a region until it is the one that matters; ``None`` where there are too few devices in it."""
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
