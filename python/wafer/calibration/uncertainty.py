"""How well a curve tells the parameters of a device, and which it cannot tell apart."""

from __future__ import annotations

import numpy as np

from wafer.calibration.fit import Interval
from wafer.calibration.model import Candidate
from wafer.calibration.search import Found

__all__ = ["MOST_RESERVE", "intervals", "warnings"]

#: Largest share of the reclaim units that GC may keep free, where nothing is known: from one unit to this.
#: WARP's emulator keeps 1 %.
MOST_RESERVE = 0.02
#: What a model's WAF is worth in net spare, at the least: no device is exactly ours.
_RESOLUTION = 0.002


def intervals(found: Found, capacity: int, reserve: int | None = None) -> dict[str, Interval]:
    """95 % intervals of the numbers, over all structures that are about as likely as the one found.

    Over-provisioning and number of units are told with all that GC may keep free, if `reserve` is not known.
    """
    best = found.best
    regions = [surface.likely(found.excess) for surface in found.surfaces.values()]
    count = np.exp(np.concatenate([x for x, _ in regions]))
    net = np.exp(np.concatenate([z for _, z in regions]) + found.moved)
    # What the curve tells is the units that hold data and how large they are; the others come on top.
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
    """What the curve cannot tell, in words."""
    best: Candidate = found.best
    told: list[str] = []
    op, net = bounds["overprovisioning"], bounds["net_spare"]
    kept = (
        f"{best.reserve} RUs of reserve and {best.handles} open RUs are assumed, and 1 RU to "
        f"{100 * MOST_RESERVE:g} % of them in the intervals of over-provisioning and number"
        if reserve is None
        else f"{best.reserve} RUs of reserve and {best.handles} open RUs are taken for granted"
    )
    told.append(
        f"over-provisioning, reserve and open RUs share the spare space: the curve tells their sum "
        f"(net spare {100 * net.value:.1f} %), not the parts. {kept}; each RU more or less moves "
        f"over-provisioning by {100 * (1 + best.overprovisioning) / best.count:.2f} points"
    )
    count = bounds["reclaim_unit_count"]
    if count.high / count.low > 1.5:
        told.append(
            f"over-provisioning and the number of RUs trade off: from {count.low:.0f} RUs to "
            f"{count.high:.0f} RUs fit about as well, with over-provisioning from {100 * op.low:.1f} to "
            f"{100 * op.high:.1f} %"
        )
    if count.high >= 0.95 * found.most:
        told.append(
            "the number of RUs is bounded on one side only: with more, blocks would be too few for each"
        )
    if found.share < 0.99:
        told.append(
            f"the search ran with {100 * found.share:.0f} % of the drive's blocks, which shifts the number "
            "of RUs: it may lie outside its interval"
        )
    for structure in found.surfaces:
        if structure != best.structure:
            told.append(
                f"{structure} fits about as well: the curve does not tell it from what was found, and "
                "intervals reach to its numbers"
            )
    if found.excess > 3:
        told.append(
            f"the best device misses the curve by {found.excess**0.5:.1f} times what two runs of one device "
            "differ: intervals are widened by as much, and assume that what is missing is not in the level"
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
