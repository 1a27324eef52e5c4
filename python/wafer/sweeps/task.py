"""One point of a sweep, in any process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wafer._errors import Cancelled, WaferError
from wafer._wafer import Cancel
from wafer.running import experiment, run

__all__ = ["Outcome", "memory_bytes", "run_point"]


@dataclass(frozen=True)
class Outcome:
    """The record of a run as JSON, or why there is none."""

    record: str | None
    error: str = ""
    message: str = ""


def memory_bytes(point: dict[str, Any], folder: str) -> int:
    """Returns the bytes of memory that a point takes, on any machine."""
    return experiment(point, folder=folder)._inner.needed_memory()


def run_point(point: dict[str, Any], folder: str, cancel: Cancel | None = None) -> Outcome:
    """Runs a point. Errors become an outcome, except cancellation, which is raised."""
    try:
        result = run(experiment(point, folder=folder), cancel=cancel)
    except Cancelled:
        raise
    except (WaferError, OSError, MemoryError, ValueError, TypeError) as error:
        return Outcome(None, type(error).__name__, str(error))
    return Outcome(result.to_json())
