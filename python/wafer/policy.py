"""Garbage collection policies written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod

from wafer._wafer import ReclaimUnits

__all__ = ["Policy", "ReclaimUnits"]


class Policy(ABC):
    """A victim policy: which closed reclaim unit garbage collection takes next.

    Write a class with :meth:`select_victim` and give an object of it to :func:`wafer.run` as ``policy``.
    It is asked once for each collection, tens of thousands of page writes apart. The object may keep
    state; for a run to be repeatable, that state must begin the same.

    Example, the greedy policy:

        >>> import wafer
        >>> class Greedy(wafer.Policy):
        ...     def select_victim(self, rus):
        ...         return rus.valid.argmin()
    """

    #: Name in the record; ``None``: the class's.
    name: str | None = None
    #: Which open reclaim unit takes relocated data: ``"isolation"``, ``"host"``, ``"shared"``,
    #: ``"handle"`` or ``"generation"`` (``gc.destination``); ``None``: as the device says.
    destination: str | None = None

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


def named(policy: Policy | object) -> str:
    """Name of a policy in a record."""
    name = getattr(policy, "name", None)
    return str(name) if name else f"python:{type(policy).__name__}"
