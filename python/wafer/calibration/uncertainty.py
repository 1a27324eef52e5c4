"""Confidence intervals of the parameters, and warnings about what a curve does not determine."""

from __future__ import annotations

import numpy as np

from wafer.calibration.fit import Interval
from wafer.calibration.model import Candidate
from wafer.calibration.search import Found

__all__ = ["MOST_RESERVE", "intervals", "warnings"]

#: Maximum share of the reclaim units in the reserve, if the reserve is unknown; the minimum is one unit.
#: WARP's emulator keeps 1 %.
MOST_RESERVE = 0.02
#: Minimum half-width of intervals of net spare, relative: no real device matches the model exactly.
_RESOLUTION = 0.002


def intervals(found: Found, capacity: int, reserve: int | None = None) -> dict[str, Interval]:
    """Returns the 95 % intervals by name, over all structures that are about as likely as the best.

    If ``reserve`` is unknown, over-provisioning and the number of units allow for every possible reserve.
    """
    best = found.best
    if found.surfaces:
        regions = [surface.likely(found.excess) for surface in found.surfaces.values()]
        count = np.exp(np.concatenate([x for x, _ in regions]))
        net = np.exp(np.concatenate([z for _, z in regions]) + found.moved)
    else:
        # Stopped before the likelihood: the spread of the structures tried.
        count = np.array([float(trial.candidate.count) for trial in found.structures])
        net = np.array([max(trial.candidate.net_spare, 1e-4) for trial in found.structures])
    # The curve determines the number and size of the units that hold data; the others add to them.
    holding = np.maximum(count - best.reserve - best.handles, 1.0)
    unit = (1 + net) / holding
    if reserve is None:
        fewest = holding + best.handles + 1
        largest = np.maximum((holding + best.handles) / (1 - MOST_RESERVE), count)
    else:
        fewest = largest = count
    least, most = unit * fewest - 1, unit * largest - 1

    def interval(low: float, value: float, high: float, slack: float = 0.0) -> Interval:
        return Interval(float(min(low * (1 - slack), value)), value, float(max(high * (1 + slack), value)))

    op = best.overprovisioning
    return {
        "net_spare": interval(net.min(), best.net_spare, net.max(), _RESOLUTION),
        "overprovisioning": interval(least.min(), op, most.max(), _RESOLUTION),
        "reclaim_unit_count": interval(fewest.min(), best.count, largest.max()),
        "reclaim_unit_bytes": interval(
            capacity * unit.min(), capacity * (1 + op) / best.count, capacity * unit.max()
        ),
    }


def warnings(
    found: Found, bounds: dict[str, Interval], volume: float, reserve: int | None = None
) -> list[str]:
    """Returns what the curve does not determine, in sentences."""
    best: Candidate = found.best
    notes: list[str] = []
    if found.stopped:
        notes.append(
            f"stopped at the stage `{found.stopped}`: the best device of {found.runs} runs"
            + ("" if found.surfaces else "; the intervals are no confidence intervals")
        )
    op, net = bounds["overprovisioning"], bounds["net_spare"]
    kept = (
        f"A reserve of {best.reserve} RUs and {best.handles} open RUs are assumed; the intervals of "
        f"over-provisioning and number of RUs allow for a reserve of 1 RU to {100 * MOST_RESERVE:g} % of all"
        if reserve is None
        else f"The reserve of {best.reserve} RUs and {best.handles} open RUs are taken as given"
    )
    notes.append(
        f"over-provisioning, reserve and open RUs share the spare space: the curve determines only the net "
        f"spare ({100 * net.value:.1f} %). {kept}. Each RU more or less shifts over-provisioning by "
        f"{100 * (1 + best.overprovisioning) / best.count:.2f} percentage points"
    )
    count = bounds["reclaim_unit_count"]
    if count.high / count.low > 1.5:
        notes.append(
            f"over-provisioning and the number of RUs trade off: {count.low:.0f} to {count.high:.0f} RUs fit "
            f"about equally well, with over-provisioning from {100 * op.low:.1f} to {100 * op.high:.1f} %"
        )
    if count.high >= 0.95 * found.most:
        notes.append(
            "the number of RUs is bounded only from below: the search ends where an RU has too few blocks"
        )
    if found.share < 0.99:
        notes.append(
            f"the search used {100 * found.share:.0f} % of the blocks, which biases the number of RUs: "
            "the true number may lie outside its interval"
        )
    for structure in found.surfaces:
        if structure != best.structure:
            notes.append(
                f"{structure} fits about equally well: the curve does not distinguish it, and the intervals "
                "include its values"
            )
    if found.excess > 3:
        notes.append(
            f"the best device misses the curve by {found.excess**0.5:.1f} times the noise between runs of "
            "one device; the intervals are widened by that factor and assume that the level is correct"
        )
    if found.last.rms > 0.01:
        notes.append(
            f"the best device misses the curve by {100 * found.last.rms:.1f} % rms: something other than "
            "these parameters shapes it (the workload, the initial state, a mechanism outside the model)"
        )
    if volume < 3:
        notes.append(
            f"the curve covers {volume:.1f} drive writes; below 3 it misses the steady state, and the "
            "intervals are too narrow"
        )
    return notes
