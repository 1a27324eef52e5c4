"""Points in threads of this process: runs release the interpreter's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from wafer._errors import NotEnoughMemory, WaferError
from wafer._wafer import Cancel
from wafer.running import available_memory
from wafer.sweeps.points import Point
from wafer.sweeps.task import Outcome, memory_bytes, run_point

__all__ = ["MemoryGate", "run_local"]

Done = Callable[[Point, Outcome], None]

#: Of the memory there is, for runs; the rest is for records, the interpreter and others.
SHARE = 0.9


class MemoryGate:
    """Lets runs in while their memory fits."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = 0
        self._changed = threading.Condition()

    def take(self, wanted: int, cancel: Cancel) -> int:
        """Wait until so many bytes are free and take them; what never fits waits for all."""
        wanted = min(wanted, self.total)
        with self._changed:
            while self.used + wanted > self.total and not cancel.cancelled:
                self._changed.wait(0.2)
            self.used += wanted
        return wanted

    def give(self, taken: int) -> None:
        """Give back what was taken."""
        with self._changed:
            self.used -= taken
            self._changed.notify_all()


def run_local(
    points: list[Point], folder: str, done: Done, *, workers: int, memory: int | None = None
) -> None:
    """Run all points, at most ``workers`` at a time and within the memory there is."""
    cancel = Cancel()
    available = available_memory()
    total = memory if memory is not None else int(SHARE * available) if available else 2**63
    gate = MemoryGate(total)

    def one(point: Point) -> Outcome:
        try:
            needed = memory_bytes(point.experiment, folder)
        except (WaferError, ValueError, TypeError) as error:
            return Outcome(None, type(error).__name__, str(error))
        if needed > total:
            told = f"needs {needed / 2**30:.1f} GiB of memory, {total / 2**30:.1f} GiB may be used"
            return Outcome(None, NotEnoughMemory.__name__, told)
        taken = gate.take(needed, cancel)
        try:
            return run_point(point.experiment, folder, cancel)
        finally:
            gate.give(taken)

    with ThreadPoolExecutor(workers, thread_name_prefix="wafer") as pool:
        futures: dict[Future[Outcome], Point] = {}
        waiting = list(reversed(points))
        try:
            while waiting or futures:
                while waiting and len(futures) < workers:
                    point = waiting.pop()
                    futures[pool.submit(one, point)] = point
                ended, _ = wait(futures, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in ended:
                    done(futures.pop(future), future.result())
        except BaseException:
            cancel.cancel()
            raise
