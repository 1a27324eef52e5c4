"""How well a curve tells the parameters of a device, and which it cannot tell apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from wafer.calibration.fit import Interval
from wafer.calibration.model import Candidate
from wafer.calibration.search import NEARLY, Found, valley

__all__ = ["effective_samples", "intervals", "warnings"]

#: 95 % quantile of chi-squared with one degree of freedom.
_CHI2 = 3.84


def effective_samples(residuals: Sequence[float]) -> float:
    """Samples less what their correlation is worth: n (1 - r) / (1 + r), r from one to the next."""
    values = np.asarray(residuals, dtype=np.float64) - np.mean(residuals)
    power = float(values @ values)
    if len(values) < 4 or power == 0:
        return float(len(values))
    r = min(max(float(values[:-1] @ values[1:]) / power, 0.0), 0.99)
    return max(len(values) * (1 - r) / (1 + r), 3.0)


def _bounds(found: Found) -> tuple[float, float]:
    """Numbers of reclaim units that fit about as well as the best.

    Each trial of the profile has the over-provisioning that suits its number of units, so the squared scores
    are a profile likelihood of that number. Two things make scores differ without meaning: the spread of
    residuals (a likelihood ratio over as many samples as the residuals are worth), and the randomness of
    each simulation, which shows as scatter around the parabola.
    """
    bottom = valley(found.counts)
    best = min(found.counts, key=lambda trial: trial.score)
    samples = effective_samples(best.interval.tolist())
    most = math.hypot(_CHI2 * bottom.floor / samples, 2 * bottom.scatter)
    width = math.sqrt(most / bottom.curvature) if bottom.curvature > 0 else math.inf
    tried = [trial.candidate.count for trial in found.counts]
    low = max(bottom.count * math.exp(-min(width, 50.0)), min(tried))
    high = min(bottom.count * math.exp(min(width, 50.0)), max(tried))
    return min(low, found.best.count), max(high, found.best.count)


def _along(found: Found, what: Callable[[Candidate], float], count: float) -> float:
    """A number of the candidates at a number of units: smooth along the profile, level with the best.

    The profile was made with few blocks, which shifts all of it alike: the best says by how much.
    """
    x = [math.log(trial.candidate.count) for trial in found.counts]
    y = [math.log(max(what(trial.candidate), 1e-6)) for trial in found.counts]
    # Trials at the edge may have found no level; they would bend the line.
    kept = [i for i, trial in enumerate(found.counts) if abs(trial.level) < 0.01]
    line = np.polyfit([x[i] for i in kept], [y[i] for i in kept], min(2, len(kept) - 1))
    here, best = np.polyval(line, [math.log(count), math.log(found.best.count)])
    return what(found.best) * math.exp(float(here - best))


def intervals(found: Found, capacity: int) -> dict[str, Interval]:
    """95 % intervals of the numbers of the structure that was found.

    Where other structures fit nearly as well, their numbers are as likely: intervals reach to them.
    """
    best = found.best
    low, high = _bounds(found)
    # Level: the standard error of its mean and the simulation's resolution, turned into over-provisioning
    # by the slope.
    residuals = found.last.cumulative
    spread = float(np.std(residuals)) / math.sqrt(effective_samples(residuals.tolist()))
    level = 1.96 * math.hypot(spread, 1e-3) / abs(found.slope)

    def interval(what: Callable[[Candidate], float]) -> Interval:
        ends = [_along(found, what, count) for count in (low, best.count, high)]
        ends += [what(trial.candidate) for trial in found.others()]
        return Interval(min(ends) * (1 - level), what(best), max(ends) * (1 + level))

    unit = capacity * (1 + best.overprovisioning)
    counts = [trial.candidate.count for trial in found.others()]
    least, most = min([low, *counts]), max([high, *counts])
    return {
        "net_spare": interval(lambda candidate: candidate.net_spare),
        "overprovisioning": interval(lambda candidate: candidate.overprovisioning),
        "reclaim_unit_count": Interval(least, best.count, most),
        "reclaim_unit_bytes": Interval(unit / most, unit / best.count, unit / least),
    }


def warnings(found: Found, bounds: dict[str, Interval], volume: float) -> list[str]:
    """What the curve cannot tell, in words."""
    best: Candidate = found.best
    told: list[str] = []
    op, net = bounds["overprovisioning"], bounds["net_spare"]
    told.append(
        f"over-provisioning, reserve and open RUs share the spare space: the curve tells their sum "
        f"(net spare {100 * net.value:.1f} %), not the parts. {best.reserve} RUs of reserve and "
        f"{best.handles} open RUs are assumed; each RU more or less moves over-provisioning by "
        f"{100 * (1 + best.overprovisioning) / best.count:.2f} points"
    )
    count = bounds["reclaim_unit_count"]
    if count.high / count.low > 1.5:
        told.append(
            f"over-provisioning and the number of RUs trade off: from {count.low:.0f} RUs to "
            f"{count.high:.0f} RUs fit about as well, with over-provisioning from {100 * op.low:.1f} to "
            f"{100 * op.high:.1f} %"
        )
    tried = [trial.candidate.count for trial in found.counts]
    if count.high >= max(tried) or count.low <= min(tried):
        told.append("the number of RUs is bounded on one side only: its interval ends where the search ended")
    closest = found.structures[0].score
    for trial in found.structures[1:]:
        if trial.score < NEARLY * closest:
            told.append(
                f"{trial.candidate.structure} fits nearly as well ({trial.score / closest:.2f} times the "
                "error): the curve does not tell it from what was found"
            )
    if found.last.rms > 0.01:
        told.append(
            f"the best device misses the curve by {100 * found.last.rms:.1f} % rms: something else than "
            "these parameters shapes it (workload, starting state, a mechanism that the model lacks)"
        )
    if volume < 3:
        told.append(
            f"the curve covers {volume:.1f} drive writes; below 3 the steady state is not seen and "
            "intervals are optimistic"
        )
    return told
