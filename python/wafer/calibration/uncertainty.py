"""How well a curve tells the parameters of a device, and which it cannot tell apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wafer.calibration.fit import Interval
from wafer.calibration.model import Candidate, Trial
from wafer.calibration.search import Found

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


def _allowed(found: Found) -> list[Trial]:
    """Trials of the profile that fit about as well as the best: a likelihood-ratio test on the scores.

    Each trial of the profile has the over-provisioning that suits its number of reclaim units, so this is
    the profile likelihood of that number.
    """
    best = min(found.counts, key=lambda trial: trial.score)
    samples = effective_samples(best.interval.tolist())
    # Scores below 0.3 % are the simulation's own spread between seeds; nothing is told by less.
    least = max(best.score, 3e-3) ** 2
    return [t for t in found.counts if samples * (t.score**2 - best.score**2) / least <= _CHI2]


def intervals(found: Found, capacity: int) -> dict[str, Interval]:
    """95 % intervals of the numbers of the structure that was found."""
    best = found.best
    allowed = _allowed(found)
    counts = [trial.candidate.count for trial in allowed]
    tried = sorted(trial.candidate.count for trial in found.counts)
    # The bound lies somewhere between the last that is allowed and the first that is not.
    below = [count for count in tried if count < min(counts)]
    above = [count for count in tried if count > max(counts)]
    low = math.sqrt(min(counts) * below[-1]) if below else min(counts)
    high = math.sqrt(max(counts) * above[0]) if above else max(counts)
    low, high = min(low, best.count), max(high, best.count)

    # Level: the standard error of its mean, the simulation's resolution, and half the tolerance of the
    # search, turned into over-provisioning by the slope.
    residuals = found.last.cumulative
    spread = float(np.std(residuals)) / math.sqrt(effective_samples(residuals.tolist()))
    level = 1.96 * math.hypot(spread, 1e-3) / abs(found.slope)
    # The profile was made with few blocks, which shifts all of it alike: apply the shift of the best.
    nearest = min(found.counts, key=lambda trial: abs(math.log(trial.candidate.count / best.count)))
    shift_op = best.overprovisioning / nearest.candidate.overprovisioning
    ops = [trial.candidate.overprovisioning * shift_op for trial in allowed] + [best.overprovisioning]
    shift_net = best.net_spare / nearest.candidate.net_spare
    nets = [trial.candidate.net_spare * shift_net for trial in allowed] + [best.net_spare]
    unit = capacity * (1 + best.overprovisioning)
    return {
        "net_spare": Interval(min(nets) * (1 - level), best.net_spare, max(nets) * (1 + level)),
        "overprovisioning": Interval(min(ops) * (1 - level), best.overprovisioning, max(ops) * (1 + level)),
        "reclaim_unit_count": Interval(low, best.count, high),
        "reclaim_unit_bytes": Interval(unit / high, unit / best.count, unit / low),
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
    tried = sorted(trial.candidate.count for trial in found.counts)
    allowed = [trial.candidate.count for trial in _allowed(found)]
    if max(allowed) == tried[-1] or min(allowed) == tried[0]:
        told.append("the number of RUs is bounded on one side only: no larger or smaller number was tried")
    closest = found.structures[0].score
    for trial in found.structures[1:]:
        if trial.score < 1.5 * closest:
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
