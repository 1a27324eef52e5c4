"""Requests of traces as arrays, and placement rules in Python."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from wafer import _wafer
from wafer._arguments import file
from wafer._errors import WorkloadError

__all__ = ["Placer", "Requests", "requests"]

WRITE, DEALLOCATE, READ, FLUSH = 0, 1, 2, 3
# No placement directive; the write goes to the namespace's first placement handle.
NO_PLACEMENT = 0xFFFF


@dataclass(frozen=True, eq=False)
class Requests:
    """A chunk of consecutive requests of a trace; every array has one entry per request.

    Attributes
    ----------
    time_ns
        Nanoseconds since an arbitrary origin; only differences are meaningful.
    op
        0 write, 1 deallocate, 2 read, 3 flush.
    volume
        Index into ``volumes``; 0 if the format has only one.
    process
        Index into ``processes``, or -1 if unknown.
    offset
        First byte, from the start of the volume.
    length
        Length in bytes; 0 for a flush.
    placement
        Placement identifier recorded in the trace, or 0xFFFF for none.
    volumes
        Names of the volumes seen so far, in order of appearance.
    processes
        Names of the processes seen so far, in order of appearance.

    Examples
    --------
    >>> import wafer
    >>> chunk = next(wafer.requests("web.blkparse.gz"))  # doctest: +SKIP
    >>> int(chunk.length[chunk.writes].sum())  # doctest: +SKIP
    4096
    """

    time_ns: npt.NDArray[np.uint64]
    op: npt.NDArray[np.uint8]
    volume: npt.NDArray[np.uint32]
    process: npt.NDArray[np.int64]
    offset: npt.NDArray[np.uint64]
    length: npt.NDArray[np.uint64]
    placement: npt.NDArray[np.uint16]
    volumes: Sequence[str]
    processes: Sequence[str]

    def __len__(self) -> int:
        return len(self.op)

    @property
    def writes(self) -> npt.NDArray[np.bool_]:
        """Boolean mask of the writes."""
        return np.equal(self.op, WRITE)


#: A placement rule: returns a placement identifier for each request, or one for all of them. It is called on
#: the chunks of the trace in order. Its values for requests other than writes are ignored.
Placer = Callable[[Requests], Union[npt.ArrayLike, int]]


def requests(path: str | os.PathLike[str], *, format: str | None = None) -> Iterator[Requests]:
    """Reads a trace in any format that ``wafer trace formats`` lists, and yields it in chunks.

    Damaged records are skipped; a ``UserWarning`` counts them at the end.

    Parameters
    ----------
    path
        Trace file; gzip, zstd and xz are decompressed.
    format
        Name of the format. Default: detected from the first bytes.

    Yields
    ------
    Requests
        Chunks of consecutive requests.

    Raises
    ------
    WorkloadError
        The file cannot be read, or its format is unknown.

    Examples
    --------
    >>> import wafer
    >>> for chunk in wafer.requests("web.blkparse.gz"):  # doctest: +SKIP
    ...     print(chunk.length[chunk.writes].sum())
    """
    reader = _wafer.TraceRequests(file("path", path), format)
    while (arrays := reader.next()) is not None:
        time_ns, op, volume, process, offset, length, placement = arrays
        known = np.where(process == np.uint32(0xFFFFFFFF), -1, process.astype(np.int64))
        yield Requests(
            time_ns, op, volume, known, offset, length, placement, reader.volumes, reader.processes
        )
    count, messages = reader.damage
    if count:
        warnings.warn(f"{messages[0]} ({count} damaged records in all, skipped)", stacklevel=2)


def place(path: str, format: str | None, placer: Placer) -> npt.NDArray[np.uint16]:
    """Returns the placement identifiers that a rule assigns to the requests of a trace.

    Parameters
    ----------
    path
        The trace.
    format
        Its format; ``None`` to detect it.
    placer
        Returns the identifiers of some requests.
    """
    placements: list[npt.NDArray[np.uint16]] = []
    with warnings.catch_warnings():
        # The run reports damage itself.
        warnings.simplefilter("ignore")
        for chunk in requests(path, format=format):
            placements.append(_checked(placer(chunk), len(chunk)))
    return np.concatenate(placements) if placements else np.zeros(0, np.uint16)


def _checked(returned: Any, count: int) -> npt.NDArray[np.uint16]:
    given = np.asarray(returned)
    if given.dtype.kind not in "iub":
        raise WorkloadError(f"placement: the rule returned {given.dtype}; expected whole numbers")
    if given.ndim == 0:
        given = np.broadcast_to(given, count)
    if given.shape != (count,):
        raise WorkloadError(f"placement: the rule returned shape {given.shape} for {count} requests")
    if given.size and (int(given.min()) < 0 or int(given.max()) > NO_PLACEMENT):
        raise WorkloadError("placement: placement identifiers are 0 to 65534; 65535 stands for none")
    return np.ascontiguousarray(given, np.uint16)
