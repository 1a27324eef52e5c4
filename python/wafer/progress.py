"""Progress with smoothed rates and remaining time: tqdm's bar in a terminal, its widget in a notebook.

If stderr is neither, such as a file, it prints one line per minute.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

__all__ = ["Bar"]


class _Lines:
    """A file that receives, as lines, what tqdm redraws in place."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        for line in text.replace("\r", "\n").splitlines():
            if line.strip():
                self._stream.write(line.rstrip() + "\n")

    def flush(self) -> None:
        self._stream.flush()


class Bar:
    """A progress bar that appears after a second.

    Parameters
    ----------
    name
        Text before the bar.
    unit
        What is counted; ``"B"`` prints bytes with a decimal prefix.
    stream
        Where to draw. Default: stderr, or the notebook.
    """

    #: Seconds before anything is drawn, and between two lines if stderr is not a terminal.
    DELAY = 1.0
    BETWEEN_LINES = 60.0

    def __init__(self, name: str, unit: str = "B", stream: TextIO | None = None) -> None:
        self._name, self._unit, self._stream = name, unit, stream
        self._stage: str | None = None
        self._bar: Any = None

    def update(self, stage: str, done: int, total: int | None) -> None:
        """Shows the progress of a stage: ``done`` of ``total`` units; a ``total`` of ``None`` is unknown."""
        if stage != self._stage:
            self.close()
            self._stage, self._bar = stage, self._made(stage, total)
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()
            self._stage = self._bar = None

    def _made(self, stage: str, total: int | None) -> Any:
        from tqdm.auto import tqdm as auto
        from tqdm.std import tqdm

        stream = sys.stderr if self._stream is None else self._stream
        notebook = self._stream is None and _is_widget(auto)
        how: dict[str, Any] = {
            "desc": f"{self._name}: {stage}",
            "total": total,
            "unit": self._unit if self._unit == "B" else f" {self._unit}",
            "unit_scale": self._unit == "B",
            "leave": False,
            "miniters": 1,
        }
        if notebook:
            return auto(**how, delay=self.DELAY)
        if stream.isatty():
            return tqdm(**how, delay=self.DELAY, file=stream, dynamic_ncols=True)
        return tqdm(
            **how, delay=self.BETWEEN_LINES, mininterval=self.BETWEEN_LINES, file=_Lines(stream), ncols=100
        )


def _is_widget(bar: type) -> bool:
    """Returns whether a class of tqdm draws widgets, which needs a notebook and ipywidgets."""
    return any(kind.__module__ == "tqdm.notebook" for kind in bar.__mro__)
