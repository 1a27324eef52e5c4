"""Points on a Ray cluster. Ray's scheduler places tasks by the memory that they declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wafer._errors import WaferError
from wafer._extras import need
from wafer.sweeps.points import Point
from wafer.sweeps.task import Outcome, memory_bytes, run_point

__all__ = ["run_ray"]

Done = Callable[[Point, Outcome], None]

#: Tasks known to Ray at a time, for each processor.
AHEAD = 4


def run_ray(points: list[Point], folder: str, done: Done, *, workers: int, cluster: Any = None) -> None:
    """Run all points on the Ray that is connected, at the address ``cluster``, or on a new local one."""
    ray = need("ray", "ray")
    own = not ray.is_initialized()
    if own and cluster is not None:
        ray.init(address=cluster, log_to_driver=False, logging_level="error")
    elif own:
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        _run(ray, points, folder, done)
    finally:
        if own:
            ray.shutdown()


def _run(ray: Any, points: list[Point], folder: str, done: Done) -> None:
    task = ray.remote(run_point)
    largest = max((node["Resources"].get("memory", 0) for node in ray.nodes() if node["Alive"]), default=0)
    ahead = AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
    waiting = list(reversed(points))
    running: dict[Any, Point] = {}
    try:
        while waiting or running:
            while waiting and len(running) < ahead:
                point = waiting.pop()
                try:
                    needed = memory_bytes(point.experiment, folder)
                except (WaferError, ValueError, TypeError) as error:
                    done(point, Outcome(None, type(error).__name__, str(error)))
                    continue
                if needed > largest:
                    gib = [amount / 2**30 for amount in (needed, largest)]
                    message = f"needs {gib[0]:.1f} GiB of memory, the largest node has {gib[1]:.1f} GiB"
                    done(point, Outcome(None, "NotEnoughMemory", message))
                    continue
                made = task.options(num_cpus=1, memory=needed, max_retries=2)
                running[made.remote(point.experiment, folder)] = point
            if not running:
                continue
            ended, _ = ray.wait(list(running), timeout=1.0)
            for reference in ended:
                point = running.pop(reference)
                try:
                    outcome = ray.get(reference)
                except ray.exceptions.RayError as error:
                    first = str(error).strip().splitlines() or [""]
                    outcome = Outcome(None, type(error).__name__, first[0])
                done(point, outcome)
    except BaseException:
        for reference in running:
            ray.cancel(reference, force=True)
        raise
