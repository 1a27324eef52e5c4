"""The search for the device that reproduces a measured curve.

Over-provisioning sets the level of the curve and the number of reclaim units its shape. Structures (policy,
separation, background GC) differ in a shape that no number corrects. For each structure and number of units
the search first solves for over-provisioning, which is one-dimensional and monotonic, and compares the shapes
with few blocks. It then explores the close structures with more blocks, in hundreds of runs over number of
units and spare space (:mod:`wafer.calibration.surface`). The last step uses all blocks of the drive.

A search that is stopped returns the best device so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from wafer._errors import Cancelled, RunError
from wafer.calibration.model import Candidate, Measured, Structure, Trial
from wafer.calibration.surface import LEAST_BLOCKS, LEAST_SCALED_BLOCKS, Region, Surface, explore

__all__ = ["STRUCTURES", "Found", "search"]

#: Structures to try, the simplest first, without cost-age-time: no curve distinguishes it from cost-benefit.
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

#: Number of blocks in the first steps, and their volume in drive writes.
COARSE, COARSE_VOLUME = 400_000, 6.0
#: Host page writes of a run for the likelihood, of all runs of a round, and of a run at full size.
RUN_PAGES, ROUND_PAGES, MOST_PAGES = 80_000_000, 1_500_000_000, 800_000_000
#: Minimum volume of such a run, in drive writes, if it cannot cover the whole curve with all blocks. Blocks
#: matter more than volume: half the blocks lower WAF by 0.3 %, mostly where fio's random map starts over.
SHORT_VOLUME = 5.0
#: Maximum number of blocks at full size.
FULL = 60_000_000
#: Number of runs of a round.
LEAST_RUNS, MOST_RUNS = 20, 31
MOST_COUNT = 10_000
#: Minimum size of a reclaim unit of a simulated device, bytes.
LEAST_UNIT = 2**20
LEAST_OP, MOST_OP = 0.005, 1.5
#: Structures explored further: their maximum number, and their maximum score relative to the best.
MOST_CLOSE, CLOSE = 4, 4.0
#: Differences of deviance: practically equal; still possible; not worth more runs.
ALIKE, POSSIBLE, HOPELESS = 4.0, 6.0, 60.0
COUNTS = (150, 300, 600, 1200, 2400)

Report = Callable[[str, int, int], None]


@dataclass
class Found:
    """The result of the search."""

    best: Candidate
    #: The best trial of each structure after the first steps, best first.
    structures: list[Trial]
    #: Likelihoods of the structures that remain possible.
    surfaces: dict[Structure, Surface]
    #: Misfit of the best relative to noise, at least 1.
    excess: float
    #: Correction of ln net spare by the runs at full size.
    moved: float
    #: The last run at full size, and its number of blocks.
    last: Trial
    blocks: int
    #: Share of the drive's blocks in the runs for the likelihood.
    share: float
    #: Maximum number of reclaim units in the search.
    most: float
    #: Number of simulations.
    runs: int = 0
    #: The stage in which the search was stopped; empty if it is complete.
    stopped: str = ""


class _Search:
    def __init__(self, measured: Measured, threads: int, seed: int, report: Report) -> None:
        self.measured, self.seed, self.report = measured, seed, report
        self.threads = threads
        self.runs = 0
        self.slope = -0.8
        #: Results so far, in case the search is stopped: all trials without their runs, the best one with its
        #: run and its number of blocks, and the likelihoods.
        self.tried: list[Trial] = []
        self.best: tuple[Trial, int] | None = None
        self.surfaces: dict[Structure, Surface] = {}
        self.most = float(MOST_COUNT)
        self.stage = ""

    def solve(
        self, candidate: Candidate, blocks: int, volume: float, tolerance: float, most: int = 8
    ) -> Trial | None:
        """Solves for the over-provisioning whose mean error is zero: bracketed secant steps in logarithms."""
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
            self._keep(trial, blocks)
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

    def _keep(self, trial: Trial, blocks: int) -> None:
        """Keeps a trial for a search that is stopped."""
        self.tried.append(replace(trial, result=None))
        best = self.best
        if best is None or trial.score < best[0].score:
            self.best = trial, blocks

    def trial(self, candidate: Candidate, blocks: int, volume: float, seed: int) -> Trial | None:
        """Runs one candidate and counts it."""
        self.runs += 1
        return self.measured.trial(candidate, blocks, volume, seed)

    def run(
        self, wanted: Sequence[tuple[Candidate, int]], blocks: int, volume: float, stage: str
    ) -> list[Trial]:
        """Runs candidates with their seeds in parallel; the result omits impossible devices."""

        def one(item: tuple[Candidate, int]) -> Trial | None:
            candidate, seed = item
            trial = self.trial(candidate, blocks, volume, self.seed + seed)
            return None if trial is None else replace(trial, result=None)

        return self._parallel(one, wanted, stage)

    def each(
        self, candidates: Sequence[Candidate], blocks: int, volume: float, tolerance: float, stage: str
    ) -> list[Trial]:
        """Solves for several candidates in parallel, best first; the result omits impossible devices."""

        def one(candidate: Candidate) -> Trial | None:
            return self.solve(candidate, blocks, volume, tolerance)

        return sorted(self._parallel(one, candidates, stage), key=lambda trial: trial.score)

    def so_far(self) -> Found | None:
        """Returns the result of a search that was stopped; ``None`` if no run has ended."""
        if self.best is None:
            return None
        last, blocks = self.best
        surface = self.surfaces.get(last.candidate.structure)
        return Found(
            best=last.candidate,
            structures=_best_of_each(self.tried),
            surfaces={} if surface is None else {last.candidate.structure: surface},
            excess=1.0 if surface is None else surface.excess(),
            moved=0.0,
            last=last,
            blocks=blocks,
            share=blocks / self.measured.job.blocks,
            most=self.most,
            runs=self.runs,
            stopped=self.stage,
        )

    def _parallel(self, one: Callable[[Any], Trial | None], items: Sequence[Any], stage: str) -> list[Trial]:
        done = 0
        self.stage = stage

        def counted(item: Any) -> Trial | None:
            nonlocal done
            trial = one(item)
            done += 1
            self.report(stage, done, len(items))
            return trial

        with ThreadPoolExecutor(self.threads) as pool:
            futures = [pool.submit(counted, item) for item in items]
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
    report: Report = lambda stage, done, total: None,
) -> Found:
    """Finds the device that reproduces the measured curve; the module describes the steps.

    ``measured.cancel`` and Ctrl-C stop it; the result is then the best device so far.

    Raises
    ------
    RunError
        No device reproduces the curve, or the search was stopped before its first run ended.
    """
    steps = _Search(measured, threads, seed, report)
    try:
        return _complete(steps, structures, reserve, handles, known or {})
    except (Cancelled, KeyboardInterrupt):
        found = steps.so_far()
        if found is None:
            raise
        return found


def _complete(
    steps: _Search,
    structures: Sequence[Structure],
    reserve: int,
    handles: int,
    known: Mapping[str, Any],
) -> Found:
    """Performs all steps of the search."""
    measured, seed, report = steps.measured, steps.seed, steps.report
    job = measured.job
    coarse_volume = min(COARSE_VOLUME, measured.volume)

    def start(structure: Structure, count: int, op: float) -> Candidate:
        return Candidate(structure, op, count, reserve, handles, known)

    # 1. The number of reclaim units, with the simplest structure.
    firsts = [start(structures[0], count, 0.15) for count in COUNTS]
    counts = steps.each(firsts, job.blocks_for(COARSE, 1200), coarse_volume, 2e-3, "reclaim units")
    if not counts:
        raise RunError(_impossible(measured))
    best = counts[0].candidate

    # 2. The structures, at and around the best number of units.
    others = [start(s, best.count, best.overprovisioning) for s in structures[1:]]
    tried = steps.each(others, job.blocks_for(COARSE, 1200), coarse_volume, 2e-3, "structures")
    structured = sorted([counts[0], *tried], key=lambda trial: trial.score)
    # A number of units that suits one structure may hide another, so the next best get other numbers.
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

    # 3. The likelihood over number of units and net spare, for the close structures.
    volume = min(max(RUN_PAGES / job.blocks, SHORT_VOLUME), measured.volume)
    blocks = job.blocks_for(int(RUN_PAGES / volume), 1200)
    whole = blocks >= job.blocks
    most = steps.most = min(
        blocks / (LEAST_BLOCKS if whole else LEAST_SCALED_BLOCKS),
        blocks * job.page * (1 + best.overprovisioning) / LEAST_UNIT,
        MOST_COUNT,
    )
    runs = max(min(int(ROUND_PAGES / (blocks * volume)), MOST_RUNS), LEAST_RUNS)
    surfaces = steps.surfaces
    close = [t for t in structured if t.score < CLOSE * structured[0].score][:MOST_CLOSE]
    for at, trial in enumerate(close, start=1):
        mine = [t for t in everything if t.candidate.structure == trial.candidate.structure]

        def worth(surface: Surface) -> bool:
            """Returns whether further runs could make the structure the best."""
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
        # Too few devices near the best are possible for a regression.
        best_of_all = steps.so_far()
        if best_of_all is None:
            raise RunError(_impossible(measured))
        return replace(best_of_all, stopped="")
    excess = min(surface.excess() for surface in surfaces.values())
    least = {structure: surface.least(excess) for structure, surface in surfaces.items()}
    lowest = min(least.values())
    likely = [s for s in structures if s in least and least[s] <= lowest + POSSIBLE]
    # Of equally likely structures, the simplest wins.
    winner = next(s for s in likely if least[s] <= lowest + ALIKE)
    surface = surfaces[winner]
    x, z = surface.centre(excess)
    final = start(winner, 1, 0.0).with_net(max(round(math.exp(x)), 1), math.exp(z))
    if final is None:
        raise RunError("the calibrated device has no space for data")

    # 4. All blocks of the drive, because units of few blocks fluctuate more.
    full = max(min(job.blocks, FULL, int(MOST_PAGES / measured.volume)), blocks)
    slope = min(surface.level_slope(x, z), -0.01)
    last: Trial | None = None
    moved = 0.0
    steps.stage = "full size"
    for turn in range(2):
        report(steps.stage, turn, 2)
        trial_at_full = steps.trial(final, full, measured.volume, seed)
        if trial_at_full is None:
            break
        last = trial_at_full
        same = full == blocks and volume == measured.volume
        if abs(last.level) < (1e-3 if same else 2e-4) or turn == 1:
            break
        step = float(np.clip(-math.log1p(last.level) / slope, -0.05, 0.05))
        # With unchanged blocks and volume, the whole surface is correct, whatever the error at this point.
        moved += 0.0 if same else step
        final = final.with_net(final.count, final.net_spare * math.exp(step)) or final
    report("full size", 2, 2)
    if last is None:
        raise RunError(f"the calibrated device cannot run: {measured.refused}")
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


def _impossible(measured: Measured) -> str:
    """Returns why no first device could run."""
    if measured.refused:
        return f"no device of this capacity is possible: {measured.refused}"
    return "no device has a WAF as low as the curve; check that the workload is the measured one"


def _best_of_each(trials: Sequence[Trial]) -> list[Trial]:
    best: dict[Structure, Trial] = {}
    for trial in trials:
        kept = best.get(trial.candidate.structure)
        if kept is None or trial.score < kept.score:
            best[trial.candidate.structure] = trial
    return sorted(best.values(), key=lambda trial: trial.score)
