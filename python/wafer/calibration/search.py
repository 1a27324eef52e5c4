"""From a measured curve to the device behind it.

Over-provisioning sets the level of the curve, the number of reclaim units its shape; structures (policy,
separation, background GC) differ in shape that no number puts right. So for each structure and number of
units the over-provisioning is solved for, which is one-dimensional and monotonic, and the shapes are
compared, with few blocks. What is close is looked at with more of them, in hundreds of runs over number of
units and spare space (:mod:`wafer.calibration.surface`). The last step uses as many as the drive has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from wafer._errors import RunError
from wafer.calibration.model import Candidate, Measured, Structure, Trial
from wafer.calibration.surface import LEAST_BLOCKS, Region, Surface, explore

__all__ = ["STRUCTURES", "Found", "search"]

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

#: Blocks of the device in the first steps, and the volume, in capacities, that they look at.
COARSE, COARSE_VOLUME = 400_000, 6.0
#: Page writes by the host of a run for the likelihood, of all runs of a round, and of one at full size.
RUN_PAGES, ROUND_PAGES, MOST_PAGES = 80_000_000, 1_500_000_000, 800_000_000
#: Where so many page writes do not reach to the end with all blocks: the volume in capacities that has to do.
#: Blocks say more: with half of them WAF is lower by 0.3 %, most where fio's random map begins anew.
SHORT_VOLUME = 5.0
#: Blocks at full size.
FULL = 60_000_000
#: Runs of a round.
LEAST_RUNS, MOST_RUNS = 20, 31
MOST_COUNT = 10_000
LEAST_OP, MOST_OP = 0.005, 1.5
#: Structures that are looked at closely: so many, with so many times the error of the best at first sight.
MOST_CLOSE, CLOSE = 4, 4.0
#: Likelihoods (twice their logarithms) that are alike; that may be as well; that are not worth more runs.
ALIKE, POSSIBLE, HOPELESS = 4.0, 6.0, 60.0
COUNTS = (150, 300, 600, 1200, 2400)

Tell = Callable[[str, int, int], None]


@dataclass
class Found:
    """What the search ends with."""

    best: Candidate
    #: The best of each structure at first sight, best first.
    structures: list[Trial]
    #: Likelihoods of the structures that may be it.
    surfaces: dict[Structure, Surface]
    #: How much more than its noise the best misses.
    excess: float
    #: What the run at full size added to the logarithm of net spare.
    moved: float
    #: The last run, with as many blocks as could be afforded, and with how many.
    last: Trial
    blocks: int
    #: Share of the drive's blocks that the likelihood comes from.
    share: float
    #: Reclaim units at most, in the search.
    most: float
    runs: int = 0


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

    def trial(self, candidate: Candidate, blocks: int, volume: float, seed: int) -> Trial | None:
        """One run."""
        self.runs += 1
        return self.measured.trial(candidate, blocks, volume, seed)

    def run(
        self, wanted: Sequence[tuple[Candidate, int]], blocks: int, volume: float, stage: str
    ) -> list[Trial]:
        """Run candidates with seeds; those that can be no device are left out."""

        def one(item: tuple[Candidate, int]) -> Trial | None:
            candidate, seed = item
            trial = self.trial(candidate, blocks, volume, self.seed + seed)
            return None if trial is None else replace(trial, result=None)

        return self._parallel(one, wanted, stage)

    def each(
        self, candidates: Sequence[Candidate], blocks: int, volume: float, tolerance: float, stage: str
    ) -> list[Trial]:
        """Solve for several, in parallel; those that can be no device are left out."""

        def one(candidate: Candidate) -> Trial | None:
            return self.solve(candidate, blocks, volume, tolerance)

        return sorted(self._parallel(one, candidates, stage), key=lambda trial: trial.score)

    def _parallel(self, one: Callable[[Any], Trial | None], items: Sequence[Any], stage: str) -> list[Trial]:
        done = 0

        def told(item: Any) -> Trial | None:
            nonlocal done
            trial = one(item)
            done += 1
            self.tell(stage, done, len(items))
            return trial

        with ThreadPoolExecutor(self.threads) as pool:
            futures = [pool.submit(told, item) for item in items]
            try:
                found = [future.result() for future in futures]
            except BaseException:
                self.measured.cancel.cancel()
                raise
        return [trial for trial in found if trial is not None]


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
    steps = _Search(measured, threads, seed, tell)
    coarse_volume = min(COARSE_VOLUME, measured.volume)

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
    everything = [*counts, *tried, *again]
    structured = _best_of_each(everything)

    # 3. Of what is close, how likely each number of units and net spare space is.
    volume = min(max(RUN_PAGES / job.blocks, SHORT_VOLUME), measured.volume)
    blocks = job.blocks_for(int(RUN_PAGES / volume), 1200)
    most = min(blocks / LEAST_BLOCKS, MOST_COUNT)
    runs = max(min(int(ROUND_PAGES / (blocks * volume)), MOST_RUNS), LEAST_RUNS)
    surfaces: dict[Structure, Surface] = {}
    close = [t for t in structured if t.score < CLOSE * structured[0].score][:MOST_CLOSE]
    for at, trial in enumerate(close, start=1):
        mine = [t for t in everything if t.candidate.structure == trial.candidate.structure]

        def worth(surface: Surface) -> bool:
            """Whether more runs may make it the best."""
            both = [surface, *surfaces.values()]
            over = min(each.excess() for each in both)
            return surface.least(over) <= min(each.least(over) for each in both) + HOPELESS

        found = explore(
            trial.candidate,
            Region.around(mine, trial.candidate.count, most),
            most,
            partial(steps.run, blocks=blocks, volume=volume, stage=f"likelihood {at} of {len(close)}"),
            runs,
            worth=worth,
        )
        if found is not None:
            surfaces[trial.candidate.structure] = found
    if not surfaces:
        raise RunError("too few devices could be run near what fits; is this the workload of the curve?")
    excess = min(surface.excess() for surface in surfaces.values())
    least = {structure: surface.least(excess) for structure, surface in surfaces.items()}
    lowest = min(least.values())
    likely = [s for s in structures if s in least and least[s] <= lowest + POSSIBLE]
    # Of two that fit alike the plainer is the better guess.
    winner = next(s for s in likely if least[s] <= lowest + ALIKE)
    surface = surfaces[winner]
    x, z = surface.centre(excess)
    final = start(winner, 1, 0.0).with_net(max(round(math.exp(x)), 1), math.exp(z))
    if final is None:
        raise RunError("the calibrated device has no space for data")

    # 4. As many blocks as the drive has, for small units fluctuate more than large ones.
    full = max(min(job.blocks, FULL, int(MOST_PAGES / measured.volume)), blocks)
    slope = min(surface.level_slope(x, z), -0.01)
    last: Trial | None = None
    moved = 0.0
    for turn in range(2):
        tell("full size", turn, 2)
        whole = steps.trial(final.whole(full), full, measured.volume, seed)
        if whole is None:
            break
        last = whole
        same = full == blocks and volume == measured.volume
        if abs(whole.level) < (1e-3 if same else 2e-4) or turn == 1:
            break
        step = float(np.clip(-math.log1p(whole.level) / slope, -0.05, 0.05))
        # With all as before the surface has it right on the whole, if not at this place.
        moved += 0.0 if same else step
        final = final.with_net(final.count, final.net_spare * math.exp(step)) or final
    tell("full size", 2, 2)
    if last is None:
        raise RunError("the calibrated device could not be run")
    return Found(
        best=final,
        structures=structured,
        surfaces={s: surfaces[s] for s in likely},
        excess=excess,
        moved=moved,
        last=last,
        blocks=full,
        share=blocks / job.blocks,
        most=most,
        runs=steps.runs,
    )


def _best_of_each(trials: Sequence[Trial]) -> list[Trial]:
    best: dict[Structure, Trial] = {}
    for trial in trials:
        kept = best.get(trial.candidate.structure)
        if kept is None or trial.score < kept.score:
            best[trial.candidate.structure] = trial
    return sorted(best.values(), key=lambda trial: trial.score)
