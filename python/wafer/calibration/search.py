"""From a measured curve to the device behind it.

Over-provisioning sets the level of the curve, the number of reclaim units its shape; structures (policy,
separation, background GC) differ in shape that no number puts right. So for each structure and number of
units the over-provisioning is solved for, which is one-dimensional and monotonic, and the shapes are
compared. All of that is done with few blocks, in parallel; the last steps use as many as the drive has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wafer._errors import RunError
from wafer.calibration.model import Candidate, Measured, Structure, Trial

__all__ = ["STRUCTURES", "Found", "Valley", "search", "valley"]

#: What is tried, the plainest first. Cost-age-time is left out: no curve tells it from cost-benefit.
STRUCTURES = (
    Structure("greedy"),
    Structure("greedy", background_free=0.10),
    Structure("greedy", destination="host"),
    Structure("cost-benefit"),
    Structure("d-choices"),
    Structure("windowed-greedy"),
    Structure("fifo"),
    Structure("random"),
)

#: Blocks of the device in the first steps and in the middle; the last step takes what the drive has.
COARSE, MIDDLE, FULL = 400_000, 2_000_000, 60_000_000
#: Volumes, in capacities, that the steps look at.
COARSE_VOLUME, MIDDLE_VOLUME = 6.0, 14.0
#: Page writes by the host that one run at full size may take.
MOST_PAGES = 800_000_000
LEAST_OP, MOST_OP = 0.005, 1.5
#: So many times the error of the best is nearly as good: the curve does not tell the two apart.
NEARLY = 1.5
#: So many times the error of the best is as good, once both have the numbers that suit them.
ALIKE = 1.2
WIDE = (0.25, 0.35, 0.5, 0.7, 0.84, 1.0, 1.2, 1.44, 2.0, 2.9, 4.0)
NARROW = (0.7, 0.84, 1.0, 1.2, 1.44)
COUNTS = (150, 300, 600, 1200, 2400)

Tell = Callable[[str, int, int], None]


@dataclass
class Found:
    """What the search ends with."""

    best: Candidate
    #: The best of each structure, best first.
    structures: list[Trial]
    #: The best of each number of reclaim units that was tried.
    counts: list[Trial]
    #: The last run, with as many blocks as could be afforded, and with how many.
    last: Trial
    blocks: int
    #: Every structure with some numbers of units, all with the same few blocks: what else could be.
    tried: list[Trial] = field(default_factory=list)
    runs: int = 0
    #: d ln(WAF) / d ln(over-provisioning).
    slope: float = -0.8
    notes: list[str] = field(default_factory=list)

    def others(self) -> list[Trial]:
        """Devices of other structures that fit nearly as well as the one that was found."""
        best = min(trial.score for trial in self.tried)
        mine = self.best.structure
        return [t for t in self.tried if t.candidate.structure != mine and t.score < NEARLY * best]


class _Search:
    def __init__(self, measured: Measured, threads: int, seed: int, tell: Tell) -> None:
        self.measured, self.seed, self.tell = measured, seed, tell
        self.threads = threads
        self.runs = 0
        self.slope = -0.8

    def solve(
        self, candidate: Candidate, blocks: int, volume: float, tolerance: float, most: int = 8
    ) -> Trial | None:
        """The over-provisioning with which the level agrees: secant steps in logarithms, bracketed."""
        low, high = math.log(LEAST_OP), math.log(MOST_OP)
        at = math.log(candidate.overprovisioning)
        best: Trial | None = None
        before: tuple[float, float] | None = None
        slope = self.slope
        for _ in range(most):
            trial = self.measured.trial(
                candidate.with_(overprovisioning=math.exp(at)), blocks, volume, self.seed
            )
            self.runs += 1
            if trial is None:  # too little spare space for a device
                low = max(low, at)
                at = (at + high) / 2 if before is None else (at + before[0]) / 2
                continue
            level = math.log1p(trial.level)
            if best is None or abs(trial.level) < abs(best.level):
                best = trial
            if abs(trial.level) <= tolerance:
                break
            if level > 0:
                low = at
            else:
                high = at
            if before is not None and abs(at - before[0]) > 1e-6:
                found = (level - before[1]) / (at - before[0])
                slope = min(max(found, -3.0), -0.15)
            before = (at, level)
            step = at - level / slope
            at = step if low < step < high else (low + high) / 2
            if high - low < 1e-4:
                break
        return best

    def each(
        self, candidates: Sequence[Candidate], blocks: int, volume: float, tolerance: float, stage: str
    ) -> list[Trial]:
        """Solve for several, in parallel; those that can be no device are left out."""
        done = 0

        def one(candidate: Candidate) -> Trial | None:
            nonlocal done
            trial = self.solve(candidate, blocks, volume, tolerance)
            done += 1
            self.tell(stage, done, len(candidates))
            return trial

        with ThreadPoolExecutor(self.threads) as pool:
            futures = [pool.submit(one, candidate) for candidate in candidates]
            try:
                found = [future.result() for future in futures]
            except BaseException:
                self.measured.cancel.cancel()
                raise
        return sorted((trial for trial in found if trial is not None), key=lambda trial: trial.score)


def search(
    measured: Measured,
    *,
    structures: Sequence[Structure] = STRUCTURES,
    reserve: int = 3,
    handles: int = 8,
    known: Mapping[str, Any] | None = None,
    threads: int = 2,
    seed: int = 1,
    tell: Tell = lambda stage, done, total: None,
) -> Found:
    """Find the device; see the module."""
    job = measured.job
    drive = job.blocks
    steps = _Search(measured, threads, seed, tell)
    coarse_volume = min(COARSE_VOLUME, measured.volume)
    middle_volume = min(MIDDLE_VOLUME, measured.volume)

    def start(structure: Structure, count: int, op: float) -> Candidate:
        return Candidate(structure, op, count, reserve, handles, known or {})

    # 1. Numbers of reclaim units with the plainest structure.
    firsts = [start(structures[0], count, 0.15) for count in COUNTS]
    counts = steps.each(firsts, job.blocks_for(COARSE, 1200), coarse_volume, 2e-3, "reclaim units")
    if not counts:
        raise RunError("no device writes so little to its media; is this the workload of the curve?")
    best = counts[0].candidate

    # 2. Structures, at the best number of units and around it.
    others = [start(s, best.count, best.overprovisioning) for s in structures[1:]]
    tried = steps.each(others, job.blocks_for(COARSE, 1200), coarse_volume, 2e-3, "structures")
    structured = sorted([counts[0], *tried], key=lambda trial: trial.score)
    # A number of units that suits one structure may hide another: the next best get their own numbers.
    close = [t for t in structured if t.score < 3 * structured[0].score][:3]
    if not any(t.candidate.structure == structures[0] for t in close):
        close.append(counts[0])
    more = [
        t.candidate.with_(count=count)
        for t in close
        for count in (round(best.count / 1.5), round(best.count * 1.5))
    ]
    again = steps.each(more, job.blocks_for(COARSE, 1200), coarse_volume, 2e-3, "structures again")
    everything = [*structured, *again]
    structured = _best_of_each(everything)

    # 3. The number of units of the best structures, with more blocks and further along the curve.
    # Of two that fit alike the plainer is the better guess: it is looked at whenever it is near.
    near = [_plainest(structured, structures, NEARLY)]
    near += [t for t in structured if t is not near[0] and t.score < 2 * structured[0].score][:1]
    # The best structure gets a wide grid, the profile that its intervals are read from.
    grid = [
        t.candidate.with_(count=max(round(t.candidate.count * factor), 40))
        for t, factors in zip(near, (WIDE, NARROW))
        for factor in factors
    ]
    refined = steps.each(grid, job.blocks_for(MIDDLE, 1200), middle_volume, 1e-3, "refinement")
    winner = _plainest(_best_of_each(refined), structures, ALIKE).candidate.structure
    if winner != near[0].candidate.structure:
        # The second overtook the first: it needs the wide grid too.
        centre = near[-1].candidate
        wider = [f for f in WIDE if f not in NARROW]
        more = [centre.with_(count=max(round(centre.count * factor), 40)) for factor in wider]
        blocks = job.blocks_for(MIDDLE, 1200)
        refined += steps.each(more, blocks, middle_volume, 1e-3, "profile")
    mine = sorted((t for t in refined if t.candidate.structure == winner), key=lambda t: t.score)
    count = round(valley(mine).count)
    middle = steps.solve(
        mine[0].candidate.with_(count=count), job.blocks_for(MIDDLE, 1200), middle_volume, 5e-4
    )
    middle = middle if middle is not None else mine[0]

    # 4. As many blocks as the drive has, for small units fluctuate more than large ones.
    blocks = min(drive, FULL, int(MOST_PAGES / measured.volume))
    blocks = max(blocks, job.blocks_for(MIDDLE, middle.candidate.count))
    tell("full size", 0, 1)
    last = steps.solve(middle.candidate, blocks, measured.volume, 5e-4, most=2) or middle
    tell("full size", 1, 1)
    final = last.candidate
    if abs(last.level) > 2e-4:
        # The rest of the way by the slope; too little to be worth another run.
        moved = math.log(final.overprovisioning) - math.log1p(last.level) / steps.slope
        final = final.with_(overprovisioning=math.exp(moved))
    return Found(
        best=final,
        structures=_best_of_each([*structured, *mine[:1]]),
        counts=sorted(mine, key=lambda trial: trial.candidate.count),
        last=last,
        blocks=blocks,
        tried=everything,
        runs=steps.runs,
        slope=steps.slope,
    )


def _plainest(trials: Sequence[Trial], structures: Sequence[Structure], times: float) -> Trial:
    """The first of the list of structures whose error is at most so many times that of the best."""
    best = min(trial.score for trial in trials)
    near = [trial for trial in trials if trial.score <= times * best]
    return min(near, key=lambda trial: structures.index(trial.candidate.structure))


def _best_of_each(trials: Sequence[Trial]) -> list[Trial]:
    best: dict[Structure, Trial] = {}
    for trial in trials:
        kept = best.get(trial.candidate.structure)
        if kept is None or trial.score < kept.score:
            best[trial.candidate.structure] = trial
    return sorted(best.values(), key=lambda trial: trial.score)


@dataclass(frozen=True)
class Valley:
    """Squared scores over the logarithm of the number of units, as a parabola with the scatter around it.

    Scores scatter, for simulated and measured curves have their own randomness. So neither the smallest nor
    the points next to it say much; all of them together do.
    """

    count: float
    floor: float
    curvature: float
    #: Standard deviation of squared scores around the parabola.
    scatter: float

    def at(self, count: float) -> float:
        """Squared score that is expected with so many units."""
        return self.floor + self.curvature * (math.log(count / self.count)) ** 2


def valley(trials: Sequence[Trial]) -> Valley:
    """The parabola through the trials whose scores are near the best."""
    best = min(trials, key=lambda trial: trial.score)
    near = [trial for trial in trials if trial.score <= 2.5 * best.score]
    flat = Valley(best.candidate.count, best.score**2, 0.0, best.score**2)
    if len(near) < 4:
        return flat
    x = np.array([math.log(trial.candidate.count) for trial in near])
    y = np.array([trial.score**2 for trial in near])
    a, b, c = np.polyfit(x, y, 2, w=1 / y)
    scatter = float(np.sqrt(np.sum((y - np.polyval([a, b, c], x)) ** 2) / (len(near) - 3)))
    bottom = -b / (2 * a) if a > 0 else math.inf
    if not x.min() <= bottom <= x.max():
        # No bottom among the trials: the best is as good a guess as any.
        return Valley(flat.count, flat.floor, max(float(a), 0.0), max(scatter, flat.floor / 4))
    floor = max(float(c - b * b / (4 * a)), best.score**2 / 4)
    return Valley(math.exp(bottom), floor, float(a), scatter)
