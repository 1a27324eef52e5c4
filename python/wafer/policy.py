"""Garbage collection policies written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from wafer._arguments import whole
from wafer._errors import ConfigError
from wafer._wafer import ReclaimUnits

__all__ = ["Policy", "ReclaimUnits"]


class Policy(ABC):
    """Base class of GC policies: selects each victim and, optionally, the destination of its valid data.

    Implement :meth:`wafer.Policy.select_victim`, and :meth:`wafer.Policy.select_destination` to choose the
    destination too, and pass an instance to :func:`wafer.run` as ``policy``. The device calls it once per
    collection, tens of thousands of page writes apart. The object may keep state. Runs are repeatable only
    if that state starts out the same each time.

    Examples
    --------
    The greedy policy:

    >>> import wafer
    >>> class Greedy(wafer.Policy):
    ...     def select_victim(self, rus):
    ...         return rus.valid.argmin()
    """

    #: Name in the record; ``None`` for the name of the class.
    name: str | None = None
    #: Open reclaim unit that receives relocated data (``gc.destination``): ``"isolation"``, ``"host"``,
    #: ``"shared"``, ``"handle"``, ``"generation"`` or ``"writer"``; ``None`` keeps the device's setting.
    destination: str | None = None
    #: Number of open reclaim units for relocated data of each handle, 1 to 8, among which
    #: :meth:`wafer.Policy.select_destination` chooses (``gc.generations``, with
    #: ``gc.destination = "generation"``); ``None`` keeps the device's setting. Such units never mix the data
    #: of two handles.
    classes: int | None = None

    @abstractmethod
    def select_victim(self, rus: ReclaimUnits) -> int | None:
        """Returns the index of the next victim in the arrays of ``rus``, or ``None`` to select none.

        The arrays of ``rus`` have one entry for each candidate, ordered by RU number:

        - ``rus.ru``: number of the RU.
        - ``rus.valid``: valid pages.
        - ``rus.age``: host pages written since the RU was closed.
        - ``rus.closed_order``: order of closing.
        - ``rus.erases``: erase count.
        - ``rus.handle``: owning handle; -1 for relocated data of all initially isolated handles.
        - ``rus.generation``: how often the data has been relocated.
        - ``rus.since_invalidation``: host pages written since the RU was last seen to lose a valid page. Its
          resolution is the time between calls that read it.
        - ``rus.origins``: shape (candidates, handles); the share of the RU's pages each handle originally
          wrote.

        ``rus.now`` is the number of host pages written so far, ``rus.pages_per_ru`` the pages in an RU, and
        ``rus.draw(n)`` a random integer from 0 to n - 1 that follows the run's seed. ``rus`` is usable only
        during the call. The arrays are copies, made on access, and may be kept.

        ``None`` ends background GC for now. If space is needed, the device then collects the candidate with
        the fewest valid pages.

        Parameters
        ----------
        rus
            The candidates.
        """

    def select_destination(self, rus: ReclaimUnits, victim: int) -> int | None:
        """Returns which of the ``rus.classes`` open reclaim units receives the relocated data of the victim.

        The device calls it once per collection, after :meth:`wafer.Policy.select_victim`, even for a
        victim that the device itself selected. ``victim`` is an index into the arrays of ``rus``. Classes are
        numbered from 0 within each handle; ``rus.generation`` of an RU filled this way is 1 + its class.

        With ``destination = "writer"`` the return value is a handle instead: its GC RU receives the data,
        whichever handle wrote it. For an initially isolated handle that is the shared GC RU. ``rus.writer``
        is the handle whose command needs space.

        ``None``, the default, leaves the choice to ``gc.destination``.

        Parameters
        ----------
        rus
            The candidates.
        victim
            Index of the victim in the arrays of ``rus``.

        Examples
        --------
        Hot and cold data separated by age:

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
    """Returns the name of a policy in a record, and its two methods; an inherited one is ``None``.

    Parameters
    ----------
    policy
        A policy in Python.

    Raises
    ------
    TypeError
        It is a class, or has no method ``select_victim``.
    """
    if policy is None:
        return None
    if isinstance(policy, type):
        raise TypeError(f"policy: expected an instance of wafer.Policy, not the class {policy.__name__}")
    if not callable(getattr(policy, "select_victim", None)):
        raise TypeError(f"policy: expected a wafer.Policy, not {type(policy).__name__} {policy!r:.60}")
    name = getattr(policy, "name", None)
    own = getattr(type(policy), "select_destination", None) is not Policy.select_destination
    destination = getattr(policy, "select_destination", None) if own else None
    return str(name) if name else f"python:{type(policy).__name__}", policy.select_victim, destination


def configured(policy: Policy | None) -> dict[str, Any]:
    """Returns the keys of the device that a policy sets.

    Parameters
    ----------
    policy
        A policy in Python.

    Raises
    ------
    ConfigError
        ``classes`` are not 1 to 8, or together with another ``destination``.
    """
    destination = getattr(policy, "destination", None)
    classes = getattr(policy, "classes", None)
    if classes is None:
        return {} if destination is None else {"gc_destination": destination}
    if destination not in (None, "generation"):
        raise ConfigError(f'policy: classes = {classes!r} needs destination = "generation" or None')
    return {"gc_destination": "generation", "gc_generations": whole("policy.classes", classes, 1, 8)}
