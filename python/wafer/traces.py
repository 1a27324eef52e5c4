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
from wafer._errors import WorkloadError

__all__ = ["Placer", "Requests", "requests"]

WRITE, DEALLOCATE, READ, FLUSH = 0, 1, 2, 3
# No placement directive: the namespace's first placement handle.
NO_PLACEMENT = 0xFFFF


@dataclass(frozen=True)
class Requests:
    """A piece of a trace, in order: one array entry a request.

    Attributes:
        time_ns: nanoseconds since an origin of the trace; only differences mean anything.
        op: 0 write, 1 deallocate, 2 read, 3 flush.
        volume: index into ``volumes``; 0 where the format knows only one.
        process: index into ``processes``, or -1 where it is not known.
        offset: first byte in the volume.
        length: bytes; 0 for a flush.
        placement: identifier that the trace carries, or 0xFFFF.
        volumes: names of the volumes met so far, in order of appearance.
        processes: names of the processes met so far.

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
        """Which of them write."""
        return np.equal(self.op, WRITE)


#: A placement rule: answers a placement identifier for each request, or one for all. It is called on the
#: pieces of the trace in their order. What it says of requests that do not write does not matter.
Placer = Callable[[Requests], Union[npt.ArrayLike, int]]


def requests(path: str | os.PathLike[str], *, format: str | None = None) -> Iterator[Requests]:
    """Read a trace in any format that ``wafer trace formats`` lists, piece by piece.

    Damaged records are left out, and told in a warning at the end.

    Args:
        path: the file; gzip, zstd and xz are unpacked.
        format: its format, where its bytes do not tell.

    Raises:
        WorkloadError: the file cannot be read, or its format is not known.

    Example:
        >>> import wafer
        >>> for piece in wafer.requests("web.blkparse.gz"):  # doctest: +SKIP
        ...     print(piece.length[piece.writes].sum())

    """
    reader = _wafer.TraceRequests(os.fspath(path), format)
    while (arrays := reader.next()) is not None:
        time_ns, op, volume, process, offset, length, placement = arrays
        known = np.where(process == np.uint32(0xFFFFFFFF), -1, process.astype(np.int64))
        yield Requests(
            time_ns, op, volume, known, offset, length, placement, reader.volumes, reader.processes
        )
    count, messages = reader.damage
    if count:
        warnings.warn(f"{messages[0]} ({count} damaged records in all, left out)", stacklevel=2)


def place(path: str, format: str | None, placer: Placer) -> npt.NDArray[np.uint16]:
    """The placement identifiers that a rule gives to the requests of a trace."""
    pieces: list[npt.NDArray[np.uint16]] = []
    with warnings.catch_warnings():
        # The run tells of damage itself.
        warnings.simplefilter("ignore")
        for piece in requests(path, format=format):
            pieces.append(_checked(placer(piece), piece))
    return np.concatenate(pieces) if pieces else np.zeros(0, np.uint16)


def _checked(answer: Any, piece: Requests) -> npt.NDArray[np.uint16]:
    given = np.asarray(answer)
    if given.dtype.kind not in "iub":
        raise WorkloadError(f"placement: the rule answers {given.dtype} instead of whole numbers")
    if given.ndim == 0:
        given = np.broadcast_to(given, len(piece))
    if given.shape != (len(piece),):
        raise WorkloadError(
            f"placement: the rule answers an array of shape {given.shape} for {len(piece)} requests"
        )
    if given.size and (int(given.min()) < 0 or int(given.max()) > NO_PLACEMENT):
        raise WorkloadError("placement: placement identifiers are 0 to 65534, and 65535 for none")
    return np.ascontiguousarray(given, np.uint16)
