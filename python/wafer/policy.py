"""Garbage collection policies written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from wafer._errors import ConfigError
from wafer._wafer import ReclaimUnits

__all__ = ["Policy", "ReclaimUnits"]


class Policy(ABC):
    """Which closed reclaim unit garbage collection takes next, and where its valid data goes.

    Write a class with :meth:`select_victim`, and with :meth:`select_destination` if it is to choose that
    too, and give an object of it to :func:`wafer.run` as ``policy``. It is asked once for each
    collection, tens of thousands of page writes apart. The object may keep state; for a run to be
    repeatable, that state must begin the same.

    Example, the greedy policy:

        >>> import wafer
        >>> class Greedy(wafer.Policy):
        ...     def select_victim(self, rus):
        ...         return rus.valid.argmin()
    """

    #: Name in the record; ``None``: the class's.
    name: str | None = None
    #: Which open reclaim unit takes relocated data: ``"isolation"``, ``"host"``, ``"shared"``,
    #: ``"handle"``, ``"generation"`` or ``"writer"`` (``gc.destination``); ``None``: as the device says.
    destination: str | None = None
    #: Open reclaim units that each handle has for relocated data, 1 to 8, for :meth:`select_destination` to
    #: choose among (``gc.generations``, with ``gc.destination = "generation"``); ``None``: as the device
    #: says. Data of two handles never mixes in them.
    classes: int | None = None

    @abstractmethod
    def select_victim(self, rus: ReclaimUnits) -> int | None:
        """The place in the arrays of ``rus`` of the next victim, or ``None`` to leave all alone.

        ``rus`` has an entry for each candidate, in order of number: ``rus.valid`` (pages), ``rus.age``
        (host pages written since it was closed), ``rus.closed_order``, ``rus.erases``, ``rus.handle``
        (-1: relocated data of all initially isolated handles), ``rus.generation`` (how often its data was
        moved), ``rus.since_invalidation`` (host pages written since it was last seen to lose a valid page;
        as fine as it is asked often), ``rus.origins`` (candidates x handles: the share of its pages that
        each handle wrote first) and ``rus.ru`` (number of the RU). ``rus.now`` counts the host pages
        written so far, ``rus.pages_per_ru`` the pages of an RU, and ``rus.draw(n)`` is a number in ``0..n``
        from the run's seed. All of it can be looked at only during this call; the arrays themselves are
        copies, made when they are asked for, and may be kept.

        ``None`` ends background GC for now; where space is needed, the device then takes the candidate
        with the fewest valid pages.
        """

    def select_destination(self, rus: ReclaimUnits, victim: int) -> int | None:
        """Which of ``rus.classes`` open reclaim units takes the relocated data of the victim.

        Asked once for each collection, after :meth:`select_victim`, and also where the device chose the
        victim. ``victim`` is its place in the arrays of ``rus``. Classes count from 0, for each handle anew,
        and ``rus.generation`` of an RU that was filled so is 1 + its class. With ``destination = "writer"``
        the answer is a handle: the one whose GC RU takes the data, whoever wrote it; ``rus.writer`` is
        the one whose command asks for space. ``None``, which this method of the base class answers, leaves it to
        ``gc.destination``.

        Example, hot and cold apart by age:

            >>> import wafer
            >>> class ByAge(wafer.Policy):
            ...     classes = 2
            ...     def select_victim(self, rus):
            ...         return rus.valid.argmin()
            ...     def select_destination(self, rus, victim):
            ...         return int(rus.age[victim] > 100 * rus.pages_per_ru)
        """
        del rus, victim
        return None


Methods = tuple[str, Callable[..., Any], "Callable[..., Any] | None"]


def methods(policy: Policy | None) -> Methods | None:
    """Name of a policy in a record and what is asked of it; a method of the base class is not."""
    if policy is None:
        return None
    name = getattr(policy, "name", None)
    own = getattr(type(policy), "select_destination", None) is not Policy.select_destination
    destination = getattr(policy, "select_destination", None) if own else None
    return str(name) if name else f"python:{type(policy).__name__}", policy.select_victim, destination


def configured(policy: Policy | None) -> dict[str, Any]:
    """Keys of the device that a policy sets."""
    destination = getattr(policy, "destination", None)
    classes = getattr(policy, "classes", None)
    if classes is None:
        return {} if destination is None else {"gc_destination": destination}
    if destination not in (None, "generation"):
        raise ConfigError(f'policy: classes = {classes!r} needs destination = "generation", or none')
    return {"gc_destination": "generation", "gc_generations": classes}
