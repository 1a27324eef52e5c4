"""Points on a Dask cluster.

Dask's own scheduler knows nothing of memory that a task will take. So the points are placed here: a worker
gets a point when it has a free thread and, by its memory limit, room for the point's device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wafer._errors import RunError, WaferError
from wafer._extras import need
from wafer.sweeps.local import SHARE
from wafer.sweeps.points import Point
from wafer.sweeps.task import Outcome, memory_bytes, run_point

__all__ = ["run_dask"]

Done = Callable[[Point, Outcome], None]

#: How often a point is tried when workers die under it.
ATTEMPTS = 3


@dataclass
class _Worker:
    threads: int
    memory: int
    running: dict[Any, tuple[Point, int]] = field(default_factory=dict)

    def fits(self, needed: int) -> bool:
        taken = sum(memory for _, memory in self.running.values())
        return len(self.running) < self.threads and taken + needed <= self.memory


def run_dask(points: list[Point], folder: str, done: Done, *, workers: int, cluster: Any = None) -> None:
    """Run all points on ``cluster``: a client, a scheduler's address, or a new local cluster."""
    distributed = need("distributed", "dask")
    if cluster is None:
        made = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        )
        with made, distributed.Client(made) as client:
            _run(distributed, client, points, folder, done)
    elif isinstance(cluster, str):
        with distributed.Client(cluster) as client:
            _run(distributed, client, points, folder, done)
    else:
        _run(distributed, cluster, points, folder, done)


def _run(distributed: Any, client: Any, points: list[Point], folder: str, done: Done) -> None:
    waiting: list[tuple[Point, int]] = []
    for point in points:
        try:
            waiting.append((point, memory_bytes(point.experiment, folder)))
        except (WaferError, ValueError, TypeError) as error:
            done(point, Outcome(None, type(error).__name__, str(error)))
    client.wait_for_workers(1, timeout=120)
    pool: dict[str, _Worker] = {}
    attempts: dict[str, int] = {}
    # The largest first: they are hardest to place.
    waiting.sort(key=lambda item: item[1])
    running: dict[Any, str] = {}
    try:
        while waiting or running:
            waiting.extend(_refresh(client, pool, running, attempts, done))
            largest = max((worker.memory for worker in pool.values()), default=0)
            for item in [item for item in waiting if pool and item[1] > largest]:
                waiting.remove(item)
                gib = [amount / 2**30 for amount in (item[1], largest)]
                message = f"needs {gib[0]:.1f} GiB of memory, the largest worker has {gib[1]:.1f} GiB"
                done(item[0], Outcome(None, "NotEnoughMemory", message))
            _place(client, pool, waiting, running, folder)
            if not running:
                if waiting:
                    client.wait_for_workers(1, timeout=120)
                continue
            try:
                distributed.wait(list(running), timeout=1, return_when="FIRST_COMPLETED")
            except (TimeoutError, distributed.TimeoutError):
                continue
            for future in [future for future in running if future.done()]:
                worker = pool.get(running[future])
                if worker is None or future not in worker.running:
                    del running[future]
                    continue
                point, needed = worker.running[future]
                if future.status == "finished":
                    try:
                        outcome = future.result(timeout=5)
                    except (TimeoutError, distributed.TimeoutError):
                        # A worker that is gone took the result along; the next look at the workers tells.
                        continue
                    done(point, outcome)
                else:
                    waiting.extend(_again(point, needed, attempts, done, str(future.exception())))
                del running[future], worker.running[future]
    except BaseException:
        client.cancel(list(running))
        raise


def _refresh(
    client: Any, pool: dict[str, _Worker], running: dict[Any, str], attempts: dict[str, int], done: Done
) -> list[tuple[Point, int]]:
    """Learn of new workers and of those that are gone; answers the points that these had."""
    found = client.scheduler_info(n_workers=-1)["workers"]
    for address, about in found.items():
        limit = about.get("memory_limit") or 2**62
        pool.setdefault(address, _Worker(about["nthreads"], int(SHARE * limit)))
    again: list[tuple[Point, int]] = []
    for address in [address for address in pool if address not in found]:
        for future, (point, needed) in pool.pop(address).running.items():
            running.pop(future, None)
            client.cancel([future], force=True)
            again.extend(_again(point, needed, attempts, done, "its worker was lost"))
    return again


def _again(
    point: Point, needed: int, attempts: dict[str, int], done: Done, why: str
) -> list[tuple[Point, int]]:
    attempts[point.id] = attempts.get(point.id, 1) + 1
    if attempts[point.id] <= ATTEMPTS:
        return [(point, needed)]
    done(point, Outcome(None, RunError.__name__, f"tried {ATTEMPTS} times: {why}"))
    return []


def _place(
    client: Any,
    pool: dict[str, _Worker],
    waiting: list[tuple[Point, int]],
    running: dict[Any, str],
    folder: str,
) -> None:
    """Give points to workers that have room."""
    for item in reversed(list(waiting)):
        point, needed = item
        free = [(address, worker) for address, worker in pool.items() if worker.fits(needed)]
        if not free:
            if all(len(worker.running) >= worker.threads for worker in pool.values()):
                return
            continue
        address, worker = min(free, key=lambda pair: len(pair[1].running))
        future = client.submit(
            run_point, point.experiment, folder, workers=[address], allow_other_workers=False, pure=False
        )
        worker.running[future] = item
        running[future] = address
        waiting.remove(item)
