"""Ctrl-C that keeps the results so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from wafer._errors import Cancelled
from wafer._wafer import Cancel

__all__ = ["interruptible"]


@contextmanager
def interruptible() -> Iterator[Cancel]:
    """Returns a context in which Ctrl-C stops the runs that were passed its :class:`wafer.Cancel`.

    Ctrl-C ends the context, and the code after it runs, with the results so far. A second Ctrl-C raises
    ``KeyboardInterrupt`` as usual. Outside the main thread, Ctrl-C behaves as usual.

    Yields
    ------
    Cancel
        The :class:`wafer.Cancel` to pass to runs.

    Raises
    ------
    KeyboardInterrupt
        At a second Ctrl-C.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\nnorandommap=1\\n")
    >>> results = []
    >>> with wafer.interruptible() as cancel:
    ...     for seed in range(3):
    ...         results.append(wafer.run(device, job, volume="1x", seed=seed, cancel=cancel))
    >>> len(results)
    3
    """
    cancel = Cancel()

    def _stop(number: int, frame: FrameType | None) -> None:
        """Cancels; the second call ends at once."""
        if cancel.cancelled:
            raise KeyboardInterrupt
        cancel.cancel()

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, _stop) if main else None
    try:
        yield cancel
    except Cancelled:
        if not cancel.cancelled:
            raise
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
