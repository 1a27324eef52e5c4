"""Points on a Ray cluster. Ray's scheduler places tasks by the memory that they declare."""

from __future__ import annotations

from collections import deque
from typing import Any

from wafer._extras import need
from wafer.running import available_memory
from wafer.sweeps.engine import EngineSettings, needed_memory, too_large
from wafer.sweeps.points import Point
from wafer.sweeps.task import Outcome, run_point

__all__ = ["RayEngine"]

#: Tasks known to Ray at a time, for each processor.
AHEAD = 4


class RayEngine:
    """Runs points on the connected Ray, at the address ``cluster``, or on a new local one."""

    def __init__(self, settings: EngineSettings) -> None:
        self._ray = ray = need("ray", "ray")
        self._folder, self._numbers = settings.folder, settings.numbers
        self._own = not ray.is_initialized()
        quiet = {"log_to_driver": False, "logging_level": "error"}
        if self._own and settings.cluster is not None:
            ray.init(address=settings.cluster, **quiet)
        elif self._own:
            ray.init(num_cpus=settings.workers, include_dashboard=False, **quiet)
        self._task = ray.remote(run_point)
        if self._own and settings.cluster is None:
            # Starts the workers: each takes a second to import Ray.
            ray.get([ray.remote(available_memory).remote() for _ in range(settings.workers)])
        alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        self._largest = max((resources.get("memory", 0) for resources in alive), default=0)
        self._ahead = AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self._waiting: deque[Point] = deque()
        self._running: dict[Any, Point] = {}

    def submit(self, point: Point) -> None:
        """Queues a point."""
        self._waiting.append(point)

    def gather(self, timeout: float) -> list[tuple[Point, Outcome]]:
        """Submits waiting points to Ray and returns those that have ended."""
        ended = self._start()
        if self._running and not ended:
            tasks = list(self._running)
            ready, _ = self._ray.wait(tasks, timeout=timeout)
            # All that have ended by now, not only the first.
            ready, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=0) if ready else ([], tasks)
            ended.extend((self._running.pop(task), self._outcome(task)) for task in ready)
        return ended

    def cancel(self) -> None:
        """Stops all runs, and Ray if it was started here."""
        if self._own:
            # This also ends the tasks. Cancelling them just before can make Ray abort the process.
            self._ray.shutdown()
            return
        for task in self._running:
            self._ray.cancel(task, force=True)

    def _start(self) -> list[tuple[Point, Outcome]]:
        """Submits points and returns those that cannot run."""
        failed: list[tuple[Point, Outcome]] = []
        while self._waiting and len(self._running) < self._ahead:
            point = self._waiting.popleft()
            needed = needed_memory(point, self._folder)
            if isinstance(needed, Outcome):
                failed.append((point, needed))
            elif needed > self._largest:
                failed.append((point, too_large(needed, self._largest, "the largest node has")))
            else:
                # Ray keeps a separate queue and workers for each amount of memory that tasks request.
                memory = min(1 << (needed - 1).bit_length(), self._largest)
                task = self._task.options(num_cpus=1, memory=memory, max_retries=2)
                self._running[task.remote(point.experiment, self._folder, self._numbers)] = point
        return failed

    def _outcome(self, task: Any) -> Outcome:
        try:
            outcome: Outcome = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            first = str(error).strip().splitlines() or [""]
            return Outcome(None, type(error).__name__, first[0])
        return outcome
