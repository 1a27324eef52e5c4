"""Points in threads of this process: runs release the interpreter's lock."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

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
    """Runs as many points at once as there are workers, within the available memory."""

    def __init__(self, settings: EngineSettings) -> None:
        available = available_memory()
        self._folder, self._numbers = settings.folder, settings.numbers
        self._total = settings.memory or (int(SHARE * available) if available else 2**63)
        self._gate = MemoryGate(self._total)
        self._cancel = Cancel()
        self._pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="wafer")
        # Not the futures themselves: Ctrl-C during a wait can leave their locks taken forever.
        self._ended: SimpleQueue[tuple[Point, Outcome | BaseException]] = SimpleQueue()

    def submit(self, point: Point) -> None:
        """Queues a point."""
        self._pool.submit(self._work, point)

    def gather(self, timeout: float) -> list[tuple[Point, Outcome]]:
        """Returns the points that have ended."""
        ended: list[tuple[Point, Outcome]] = []
        try:
            while not ended or not self._ended.empty():
                point, outcome = self._ended.get(timeout=timeout)
                if isinstance(outcome, BaseException):
                    raise outcome
                ended.append((point, outcome))
        except Empty:
            pass
        return ended

    def cancel(self) -> None:
        """Stops all runs."""
        self._cancel.cancel()
        self._pool.shutdown(cancel_futures=True)

    def _work(self, point: Point) -> None:
        try:
            outcome: Outcome | BaseException = self._run(point)
        except BaseException as error:  # `gather` raises it
            outcome = error
        self._ended.put((point, outcome))

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
