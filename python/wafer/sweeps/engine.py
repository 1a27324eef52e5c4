"""Engines that run the points of a sweep: the protocol, three built-in engines, and registration."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Protocol

from wafer._errors import ConfigError, RunError, WaferError
from wafer.sizes import size_text
from wafer.sweeps.points import Point
from wafer.sweeps.task import Outcome, prepare

__all__ = [
    "GROUP",
    "Engine",
    "Make",
    "EngineSettings",
    "engine_names",
    "make_engine",
    "register",
    "run_points",
]

#: Entry point group of engines in other packages.
GROUP = "wafer.sweep_engines"

#: Seconds that one call of :meth:`Engine.gather` waits.
WAIT = 0.5


class Engine(Protocol):
    """Runs points. :func:`wafer.sweeps.run_point` runs one, in any process."""

    def submit(self, point: Point) -> None:
        """Queues a point.

        Parameters
        ----------
        point
            A point that has not been submitted.
        """

    def gather(self, timeout: float) -> list[tuple[Point, Outcome]]:
        """Returns the points that have ended since the last call, each once.

        Waits up to ``timeout`` seconds for the first of them.

        Parameters
        ----------
        timeout
            Seconds.
        """

    def cancel(self) -> None:
        """Stops the remaining runs and releases all resources. Always called at the end."""


@dataclass(frozen=True)
class EngineSettings:
    """Arguments of an engine."""

    #: Folder from which relative paths of the points start.
    folder: str
    #: Maximum number of simultaneous runs.
    workers: int
    #: The ``cluster`` argument of :func:`wafer.sweeps.sweep`.
    cluster: Any = None
    #: Bytes that all runs may take together; ``None`` for the available memory.
    memory: int | None = None
    #: Approximate number of values in the timeline of a brief record; ``None`` for whole records.
    numbers: int | None = None


Make = Callable[[EngineSettings], Engine]

_ENGINES: dict[str, Make | str] = {
    "local": "wafer.sweeps.local:LocalEngine",
    "dask": "wafer.sweeps.dask_engine:DaskEngine",
    "ray": "wafer.sweeps.ray_engine:RayEngine",
}


def register(name: str, make: Make) -> None:
    """Adds an engine for ``wafer.sweep(..., engine=name)``.

    A package can do the same with an entry point in the group ``wafer.sweep_engines``.

    Parameters
    ----------
    name
        Name of the engine.
    make
        Returns the engine for its settings.

    Examples
    --------
    >>> import wafer
    >>> wafer.sweeps.register("mine", lambda settings: MyEngine(settings))  # doctest: +SKIP
    """
    _ENGINES[name] = make


def engine_names() -> list[str]:
    """Returns the names of all engines."""
    return list(dict.fromkeys([*_ENGINES, *(point.name for point in entry_points(group=GROUP))]))


def make_engine(name: str, settings: EngineSettings) -> Engine:
    """Creates the engine with this name.

    Parameters
    ----------
    name
        Name of an engine.
    settings
        What it needs to know.

    Raises
    ------
    ConfigError
        There is no engine of that name.
    RunError
        Its cluster cannot be reached.
    """
    make = _ENGINES.get(name)
    if isinstance(make, str):
        module, _, attribute = make.partition(":")
        make = getattr(importlib.import_module(module), attribute)
    for point in entry_points(group=GROUP, name=name) if make is None else ():
        make = point.load()
    if make is None:
        raise ConfigError(f"engine: {name!r} is not one of {', '.join(engine_names())}")
    try:
        engine: Engine = make(settings)
    except WaferError:
        raise
    except (OSError, ValueError) as error:
        raise RunError(f"engine {name!r}: {error}") from error
    return engine


def run_points(engine: Engine, points: Iterable[Point], done: Callable[[Point, Outcome], None]) -> None:
    """Runs points on an engine, and calls ``done`` as each ends.

    Parameters
    ----------
    engine
        The engine.
    points
        The points.
    done
        Takes each point with its outcome.

    Raises
    ------
    RunError
        The engine returned a point twice, or something other than an outcome.
    """
    left: set[str] = set()
    try:
        for point in points:
            engine.submit(point)
            left.add(point.id)
        while left:
            for point, outcome in engine.gather(WAIT):
                name = f"the engine {type(engine).__name__}"
                if point.id not in left:
                    raise RunError(f"{name} returned point {point.id}, which was not running")
                if not isinstance(outcome, Outcome):
                    raise RunError(f"{name} returned {outcome!r:.60} as the outcome of point {point.id}")
                left.remove(point.id)
                done(point, outcome)
    except BaseException:
        # An engine that lost its cluster may fail again here, which must not hide the first error.
        with suppress(Exception):
            engine.cancel()
        raise
    engine.cancel()


def needed_memory(point: Point, folder: str) -> int | Outcome:
    """Returns the bytes of memory that a point takes, or the outcome of a point that cannot run.

    Parameters
    ----------
    point
        The point.
    folder
        Folder from which its relative paths start.
    """
    prepared = prepare(point.experiment, folder)
    return prepared if isinstance(prepared, Outcome) else prepared[1]


def too_large(needed: int, available: int, of: str) -> Outcome:
    """Returns the outcome of a point that is too large for every worker.

    Parameters
    ----------
    needed
        Bytes that the point takes.
    available
        Bytes available.
    of
        Whose memory it is.
    """
    message = f"needs {size_text(needed)} of memory, but {of} {size_text(available)}"
    return Outcome(None, "NotEnoughMemory", message)
