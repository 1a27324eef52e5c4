"""A progress bar on stderr with throughput and remaining time."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["Bar", "duration"]

_UNITS = ["B", "kB", "MB", "GB", "TB", "PB"]


def size(value: float) -> str:
    """Formats bytes with three significant digits and a decimal unit, such as ``1.23 GB``."""
    unit = 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value /= 1000
        unit += 1
    return f"{value:.3g} {_UNITS[unit]}"


def duration(seconds: float) -> str:
    """Formats seconds as ``42 s``, ``12 min`` or ``3.4 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Bar:
    """A progress bar that redraws at most ten times a second, and not at all in the first second.

    Args:
        name: text before the bar.
        unit: what is counted; ``"B"`` prints bytes with a decimal prefix.
        stream: where to draw. Default: stderr.

    """

    WIDTH = 30

    def __init__(self, name: str, unit: str = "B", stream: TextIO | None = None) -> None:
        self._name, self._unit = name, unit
        self._stream = sys.stderr if stream is None else stream
        self._started = self._drawn = time.monotonic()
        self._stage = ""
        self._shown = False

    def update(self, stage: str, done: int, total: int | None) -> None:
        """Draws the progress of a stage: ``done`` of ``total`` units; a ``total`` of ``None`` is unknown."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._started = stage, now
        finished = total is not None and done >= total
        if now - self._drawn < (0.1 if self._shown else 1.0) and not (finished and self._shown):
            return
        self._drawn, self._shown = now, True
        rate = done / max(now - self._started, 1e-3)
        text = f"{self._name} {stage} "
        if total:
            filled = min(self.WIDTH, self.WIDTH * done // total)
            text += f"[{'#' * filled}{'.' * (self.WIDTH - filled)}] {100 * done / total:3.0f} %"
        if self._unit == "B":
            text += f"  {size(done)}  {size(rate)}/s"
        else:
            text += f"  {done}{f'/{total}' if total else ''} {self._unit}"
        if total and rate > 0 and not finished:
            text += f"  {duration((total - done) / rate)} left"
        end = "" if self._stream.isatty() else "\n"
        start = "\r\x1b[K" if self._stream.isatty() else ""
        self._stream.write(start + text + end)
        self._stream.flush()

    def close(self) -> None:
        """Ends the line."""
        if self._shown and self._stream.isatty():
            self._stream.write("\n")
            self._stream.flush()
