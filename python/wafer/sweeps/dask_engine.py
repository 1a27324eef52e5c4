"""Points on a Dask cluster.

Dask's scheduler does not know how much memory a task will take. This module therefore assigns the points: a
worker gets a point when it has a free thread and enough memory for the point's device.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from wafer._errors import ConfigError, RunError
from wafer._extras import need
from wafer.sweeps.engine import EngineSettings, needed_memory, too_large
from wafer.sweeps.local import SHARE
from wafer.sweeps.points import Point
from wafer.sweeps.task import Outcome, run_point

__all__ = ["DaskEngine"]

#: Maximum number of attempts at a point whose workers are lost.
ATTEMPTS = 3
#: Seconds to wait for the first worker.
WORKERS_WITHIN = 120


@dataclass
class _Worker:
    threads: int
    memory: int
    running: dict[Any, tuple[Point, int]] = field(default_factory=dict)

    def fits(self, needed: int) -> bool:
        taken = sum(memory for _, memory in self.running.values())
        return len(self.running) < self.threads and taken + needed <= self.memory


class DaskEngine:
    """Runs points on ``cluster``: a client, a scheduler's address, or a new local cluster."""

    def __init__(self, settings: EngineSettings) -> None:
        self._distributed = distributed = need("distributed", "dask")
        self._folder, self._numbers = settings.folder, settings.numbers
        self._opened = ExitStack()
        cluster = settings.cluster
        if cluster is None:
            cluster = self._opened.enter_context(
                distributed.LocalCluster(
                    n_workers=settings.workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
                )
            )
            self._client = self._opened.enter_context(distributed.Client(cluster))
        elif isinstance(cluster, str):
            self._client = self._opened.enter_context(distributed.Client(cluster))
        elif isinstance(cluster, distributed.Client):
            self._client = cluster
        else:
            raise ConfigError(f"cluster: expected a client or an address, not {cluster!r:.60}")
        self._client.wait_for_workers(1, timeout=WORKERS_WITHIN)
        self._waiting: list[tuple[Point, int]] = []
        self._pool: dict[str, _Worker] = {}
        self._running: dict[Any, str] = {}
        self._attempts: dict[str, int] = {}
        self._ended: list[tuple[Point, Outcome]] = []

    def submit(self, point: Point) -> None:
        """Queues a point."""
        needed = needed_memory(point, self._folder)
        if isinstance(needed, Outcome):
            self._ended.append((point, needed))
        else:
            self._waiting.append((point, needed))

    def gather(self, timeout: float) -> list[tuple[Point, Outcome]]:
        """Places waiting points on workers and returns those that have ended."""
        try:
            return self._gather(timeout)
        except Exception as error:
            # Dask raises many kinds of errors after a cluster was closed or restarted.
            first = (str(error).strip().splitlines() or [""])[0]
            raise RunError(
                f"engine 'dask': lost its cluster: {type(error).__name__}: {first}; the sweep can be resumed"
            ) from error

    def _gather(self, timeout: float) -> list[tuple[Point, Outcome]]:
        self._refresh()
        self._place()
        if self._running and not self._ended:
            with suppress(TimeoutError, self._distributed.TimeoutError):
                self._distributed.wait(list(self._running), timeout=timeout, return_when="FIRST_COMPLETED")
            self._collect()
        elif self._waiting and not self._ended:
            self._client.wait_for_workers(1, timeout=WORKERS_WITHIN)
        ended, self._ended = self._ended, []
        return ended

    def cancel(self) -> None:
        """Stops all runs, and the cluster if it was started here."""
        with self._opened:
            self._client.cancel(list(self._running))

    def _refresh(self) -> None:
        """Updates the workers, and requeues the points of lost ones."""
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        for address, about in found.items():
            limit = about.get("memory_limit") or 2**62
            self._pool.setdefault(address, _Worker(about["nthreads"], int(SHARE * limit)))
        for address in [address for address in self._pool if address not in found]:
            for future, (point, needed) in self._pool.pop(address).running.items():
                self._running.pop(future, None)
                self._client.cancel([future], force=True)
                self._again(point, needed, "its worker was lost")

    def _place(self) -> None:
        """Assigns points to workers with room, the largest first because they are hardest to place."""
        largest = max((worker.memory for worker in self._pool.values()), default=0)
        self._waiting.sort(key=lambda item: item[1], reverse=True)
        left: list[tuple[Point, int]] = []
        for point, needed in self._waiting:
            free = [pair for pair in self._pool.items() if pair[1].fits(needed)]
            if self._pool and needed > largest:
                self._ended.append((point, too_large(needed, largest, "the largest worker has")))
            elif not free:
                left.append((point, needed))
            else:
                self._start(point, needed, *min(free, key=lambda pair: len(pair[1].running)))
        self._waiting = left

    def _start(self, point: Point, needed: int, address: str, worker: _Worker) -> None:
        where = {"workers": [address], "allow_other_workers": False, "pure": False}
        future = self._client.submit(run_point, point.experiment, self._folder, self._numbers, **where)
        worker.running[future] = (point, needed)
        self._running[future] = address

    def _collect(self) -> None:
        for future in [future for future in self._running if future.done()]:
            worker = self._pool.get(self._running[future])
            if worker is None or future not in worker.running:
                del self._running[future]
                continue
            point, needed = worker.running[future]
            if future.status == "finished":
                try:
                    self._ended.append((point, future.result(timeout=5)))
                except (TimeoutError, self._distributed.TimeoutError):
                    # The result was lost with its worker; the next refresh requeues the point.
                    continue
            else:
                self._again(point, needed, str(future.exception()))
            del self._running[future], worker.running[future]

    def _again(self, point: Point, needed: int, why: str) -> None:
        self._attempts[point.id] = self._attempts.get(point.id, 1) + 1
        if self._attempts[point.id] <= ATTEMPTS:
            self._waiting.append((point, needed))
        else:
            self._ended.append((point, Outcome(None, RunError.__name__, f"tried {ATTEMPTS} times: {why}")))
