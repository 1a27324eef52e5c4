"""One point of a sweep, in any process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wafer._errors import Cancelled, WaferError
from wafer._wafer import Cancel
from wafer.running import Experiment, experiment, run

__all__ = ["Outcome", "complete", "files_of", "prepare", "run_point"]


@dataclass(frozen=True)
class Outcome:
    """The record of a run as JSON, or why there is none."""

    record: str | None
    error: str = ""
    message: str = ""


def prepare(point: dict[str, Any], folder: str) -> tuple[Experiment, int] | Outcome:
    """Returns the experiment of a point and the bytes of memory that it takes, or why it cannot run."""
    try:
        made = experiment(point, folder=folder)
        return made, made._inner.needed_memory()
    except (WaferError, OSError, ValueError, TypeError) as error:
        return Outcome(None, type(error).__name__, str(error))


def files_of(point: dict[str, Any], folder: str) -> list[str]:
    """Returns the files that a point reads; none if it cannot run."""
    try:
        return experiment(point, folder=folder)._inner.files()
    except (WaferError, OSError, ValueError, TypeError):
        return []


def complete(made: Experiment, numbers: int | None, cancel: Cancel | None = None) -> Outcome:
    """Runs an experiment: :func:`run_point`."""
    try:
        result = run(made, cancel=cancel) if numbers is None else made.brief(numbers, cancel)
    except Cancelled:
        raise
    except (WaferError, OSError, MemoryError, ValueError, TypeError) as error:
        return Outcome(None, type(error).__name__, str(error))
    return Outcome(result.to_json())


def run_point(
    point: dict[str, Any], folder: str, numbers: int | None = None, cancel: Cancel | None = None
) -> Outcome:
    """Runs a point. Errors become an outcome, except cancellation, which is raised.

    Parameters
    ----------
    point
        The experiment, as :func:`wafer.experiment` takes it.
    folder
        Folder from which its relative paths start.
    numbers
        Approximate number of values in the timeline of a brief record; ``None`` for the whole
        record.
    cancel
        Stops the run.

    Returns
    -------
    Outcome
        The record as JSON, or the error.

    Raises
    ------
    Cancelled
        The run was stopped.
    """
    prepared = prepare(point, folder)
    return prepared if isinstance(prepared, Outcome) else complete(prepared[0], numbers, cancel)
