"""Points in threads of this process: runs release the interpreter's lock."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from wafer._wafer import Cancel
from wafer.running import available_memory
from wafer.sweeps.engine import EngineSettings, too_large
from wafer.sweeps.points import Point
from wafer.sweeps.task import Outcome, complete, prepare

__all__ = ["SHARE", "LocalEngine", "MemoryGate"]

#: Share of the available memory that runs may take; the rest is for records and the interpreter.
SHARE = 0.9


class MemoryGate:
    """Admits runs while their memory fits."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = 0
        self._changed = threading.Condition()

    def take(self, wanted: int, cancel: Cancel) -> int:
        """Waits until ``wanted`` bytes, at most ``total``, are free, and takes them."""
        wanted = min(wanted, self.total)
        with self._changed:
            while self.used + wanted > self.total and not cancel.cancelled:
                self._changed.wait(0.2)
            self.used += wanted
        return wanted

    def give(self, taken: int) -> None:
        """Releases bytes."""
        with self._changed:
            self.used -= taken
            self._changed.notify_all()


class LocalEngine:
    """Runs as many points at a time as there are workers, within the available memory."""

    def __init__(self, settings: EngineSettings) -> None:
        available = available_memory()
        self._folder, self._numbers = settings.folder, settings.numbers
        self._total = settings.memory or (int(SHARE * available) if available else 2**63)
        self._gate = MemoryGate(self._total)
        self._cancel = Cancel()
        self._pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="wafer")
        self._running: dict[Future[Outcome], Point] = {}

    def submit(self, point: Point) -> None:
        """Queues a point."""
        self._running[self._pool.submit(self._run, point)] = point

    def gather(self, timeout: float) -> list[tuple[Point, Outcome]]:
        """Returns the points that have ended."""
        ended, _ = wait(self._running, timeout=timeout, return_when=FIRST_COMPLETED)
        return [(self._running.pop(future), future.result()) for future in ended]

    def cancel(self) -> None:
        """Stops all runs."""
        self._cancel.cancel()
        self._pool.shutdown(cancel_futures=True)

    def _run(self, point: Point) -> Outcome:
        prepared = prepare(point.experiment, self._folder)
        if isinstance(prepared, Outcome):
            return prepared
        made, needed = prepared
        if needed > self._total:
            return too_large(needed, self._total, "runs may take")
        taken = self._gate.take(needed, self._cancel)
        try:
            return complete(made, self._numbers, self._cancel)
        finally:
            self._gate.give(taken)
