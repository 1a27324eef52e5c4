"""Workloads: fio jobs, application models, traces, arrays and iterators."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from wafer import _toml, _wafer, traces
from wafer._arguments import file, instance, of_a_dict, several, whole
from wafer._errors import ConfigError, WorkloadError
from wafer.traces import DEALLOCATE, NO_PLACEMENT, READ, WRITE

__all__ = [
    "Commands",
    "Workload",
    "commands",
    "fio",
    "fio_text",
    "model",
    "models",
    "tenants",
    "trace",
    "workload",
]

Integers = Union[npt.ArrayLike, int]


class Workload:
    """The commands of a run; see :func:`wafer.fio`, :func:`wafer.model`, :func:`wafer.trace`, ...

    Parameters
    ----------
    inner
        The workload of the library.
    again
        How to recreate it in another process: a name and arguments.

    Examples
    --------
    >>> import wafer
    >>> wafer.fio_text("[w]\\nrw=randwrite\\n", name="w.fio").path
    'w.fio'
    """

    def __init__(self, inner: _wafer.Workload, again: tuple[str, tuple[Any, ...]] | None = None) -> None:
        self._inner = inner
        # Recipe to rebuild it in another process.
        self._again = again

    @property
    def kind(self) -> str:
        """``fio``, ``commands``, ``iterator``, or the kind of a ``[workload]`` table."""
        return self._inner.kind

    @property
    def path(self) -> str:
        """The file it was read from, or its name if it has no file."""
        return self._inner.path

    @property
    def text(self) -> str:
        """The job file or table that defines it; empty if no text does."""
        return self._inner.text

    def __reduce__(self) -> tuple[Any, ...]:
        if self._again is None:
            raise TypeError(f"{self!r} cannot be sent to another process")
        return (_unpickle, self._again)

    def __repr__(self) -> str:
        return f"<wafer.Workload {self.kind}: {self.path}>"


def _unpickle(maker: str, arguments: tuple[Any, ...]) -> Workload:
    makers: dict[str, Callable[..., Workload]] = {
        "fio_text": lambda text, name: fio_text(text, name=name),
        "table": lambda text, folder, label="workload": _table(text, folder, label),
        "commands": lambda *fields: Commands(*fields),
        "placed": lambda text, folder, placements: _placed(text, folder, placements),
    }
    return makers[maker](*arguments)


def fio(path: str | os.PathLike[str]) -> Workload:
    """Returns the workload of a fio job file, which needs no changes.

    ``fdp_pli`` or ``plids`` selects the placement handle.

    Parameters
    ----------
    path
        The job file.

    Raises
    ------
    ConfigError
        The file cannot be read.
    WorkloadError
        An unsupported option, with file and line; raised by the run.

    Examples
    --------
    >>> import wafer
    >>> job = wafer.fio("job.fio")  # doctest: +SKIP
    """
    inner = _wafer.Workload.fio(file("path", path))
    return Workload(inner, ("fio_text", (inner.text, inner.path)))


def fio_text(text: str, *, name: str = "job.fio") -> Workload:
    """Returns the workload of a fio job given as text; error messages use ``name`` as its file name.

    Parameters
    ----------
    text
        The job file's text.
    name
        Name of the file in messages and in the record.

    Examples
    --------
    >>> import wafer
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\n")
    >>> job.kind
    'fio'
    """
    instance("text", text, str)
    return Workload(_wafer.Workload.fio_text(name, text), ("fio_text", (text, name)))


def workload(table: Mapping[str, Any], *, folder: str | os.PathLike[str] = ".") -> Workload:
    """Returns the workload of a ``[workload]`` table of an experiment file, given as a dict.

    Every kind of workload of an experiment file is available; see the workload reference. Relative paths
    start at ``folder``.

    Parameters
    ----------
    table
        The keys of the table.
    folder
        Folder from which relative paths start.

    Raises
    ------
    ConfigError
        The table is invalid; the message names the key.

    Examples
    --------
    >>> import wafer
    >>> wafer.workload({"fio_text": "[w]\\nrw=write\\n"}).kind
    'fio'
    """
    instance("table", table, Mapping, 'such as {"fio": "job.fio"}')
    text = _toml.document({"workload": dict(table)})
    with of_a_dict("workload", "workload"):
        return _table(text, os.fspath(Path(file("folder", folder)).resolve()))


def _table(text: str, folder: str, label: str = "workload") -> Workload:
    """Returns the workload of a document; the label is its name in runs."""
    return Workload(_wafer.Workload.from_toml(label, text, folder), ("table", (text, folder, label)))


def model(name: str, **parameters: Any) -> Workload:
    """Returns an application model; its parameters are the keys of its ``[workload]`` table.

    Parameters
    ----------
    name
        Name of the model (:func:`wafer.models`).
    **parameters
        Keys of its table, such as ``write_block="128KiB"``.

    Raises
    ------
    ConfigError
        There is no such model, or it has no such key.

    Examples
    --------
    >>> import wafer
    >>> wafer.model("aerospike", write_block="128KiB").kind
    'model'
    """
    instance("name", name, str)
    text = _toml.document({"workload": {"model": name, **parameters}})
    with of_a_dict("workload", name):
        return _table(text, os.fspath(Path.cwd().resolve()), name)


def models() -> dict[str, str]:
    """Returns the application models: name and one-line description.

    Examples
    --------
    >>> import wafer
    >>> "aerospike" in wafer.models()
    True
    """
    return dict(_wafer.models())


def tenants(*tables: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Workload:
    """Returns several applications on one device: ``[[tenants]]`` tables of an experiment file, as dicts.

    Parameters
    ----------
    *tables
        One table per application. ``workload`` in it is a dict, or a workload of :func:`wafer.fio`,
        :func:`wafer.model`, :func:`wafer.trace` or :func:`wafer.workload`.
    folder
        Folder from which relative paths start.

    Raises
    ------
    ConfigError
        A table is invalid; the message names the key.

    Examples
    --------
    >>> import wafer
    >>> db = {"name": "db", "workload": wafer.model("aerospike")}
    >>> log = {"name": "log", "workload": {"model": "jesd219a"}}
    >>> wafer.tenants(db, log).kind
    'tenants'
    """
    several("tenants", tables, Mapping)
    start = os.fspath(Path(file("folder", folder)).resolve())
    made = []
    for table in tables:
        given = table.get("workload")
        more = {"workload": _keys_of(given, start)} if isinstance(given, Workload) else {}
        made.append({**table, **more})
    with of_a_dict("tenants", "workload"):
        return _table(_toml.document({"tenants": made}), start)


def _keys_of(workload: Workload, folder: str) -> dict[str, Any]:
    """Returns a workload as the keys of a ``[workload]`` table whose paths start at the folder."""
    kind, given = workload._again or ("", ())
    if kind == "fio_text":
        return {"fio_text": given[0]}
    if kind == "table" and given[1] == folder and (table := _toml.loads(given[0]).get("workload")):
        return dict(table)
    if kind == "table" and given[1] != folder:
        raise ConfigError(f"tenants: paths of {workload!r} start at another folder; give its keys as a dict")
    raise ConfigError(f"tenants: {workload!r} cannot be part of a table; give its keys as a dict")


def trace(path: str | os.PathLike[str], *, placement: Any = None, **parameters: Any) -> Workload:
    """Returns the workload of a trace file.

    Parameters
    ----------
    path
        Trace file, in any format that ``wafer trace formats`` lists.
    placement
        Rules as in a ``[workload]`` table (``"process"``, a list of dicts, ...), or a function
        that takes a :class:`wafer.Requests` and returns a placement identifier for each of its requests.
        The function is called now, on the chunks of the whole trace in order; 2 bytes per request are kept.
    **parameters
        Other keys of the ``[workload]`` table, such as ``map="compact"``.

    Raises
    ------
    WorkloadError
        The trace cannot be read, or the function returned something else.

    Examples
    --------
    >>> import wafer
    >>> def small_apart(chunk):
    ...     return (chunk.length <= 4096).astype(int)
    >>> wafer.trace("web.blkparse.gz", placement=small_apart, map="compact")  # doctest: +SKIP
    <wafer.Workload trace: web.blkparse.gz>
    """
    path = file("path", path)
    table = {"trace": path, "placement": placement, **parameters}
    if not callable(placement):
        return workload(table)
    before = _modified(path)
    placements = traces.place(path, parameters.get("format"), placement)
    if _modified(path) != before:
        raise WorkloadError(f"{path}: changed while its requests were given placement identifiers")
    table["placement"] = None
    text, folder = _toml.document(table), os.fspath(Path.cwd())
    with of_a_dict("workload", "trace"):
        return _placed(text, folder, placements)


def _modified(path: str) -> tuple[int, int]:
    """Returns size and time of a file, which tell whether it has changed."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _placed(text: str, folder: str, placements: npt.NDArray[np.uint16]) -> Workload:
    return Workload(_wafer.Workload.trace(text, folder, placements), ("placed", (text, folder, placements)))


class _Columns(NamedTuple):
    lba: npt.NDArray[np.uint64]
    length: npt.NDArray[np.uint32]
    placement: npt.NDArray[np.uint16]
    op: npt.NDArray[np.uint8]
    namespace: npt.NDArray[np.uint8]


class Commands(Workload):
    """Commands from one-dimensional arrays with one entry per command; a scalar applies to every command.

    Parameters
    ----------
    lba
        First address, in units of ``unit`` bytes from the start of the namespace.
    length
        Number of units. Default: 1.
    placement
        Placement identifier, or ``None`` for no placement directive. With one reclaim group
        it is the placement handle.
    op
        0 or ``"write"``, 1 or ``"deallocate"``, 2 or ``"read"``; an array holds the numbers.
    namespace
        Index of the namespace, from 0.
    unit
        Bytes in a unit of ``lba`` and ``length``, a multiple of 512. Default: 4096.
    repeat
        Start over at the first command until the run's volume is reached.
    name
        Name in messages and in the record.

    Raises
    ------
    WorkloadError
        Arrays of different lengths, or values out of range.
    ConfigError
        ``unit`` is not a whole number.

    Examples
    --------
    >>> import numpy as np, wafer
    >>> pages = np.random.default_rng(1).integers(0, 4096, 100_000)
    >>> wafer.Commands(pages, length=1, placement=0, unit=4096)
    <wafer.Commands: 100000 commands>
    """

    def __init__(
        self,
        lba: Integers,
        length: Integers = 1,
        placement: Integers | None = None,
        op: Integers | str = WRITE,
        namespace: Integers = 0,
        unit: int = 4096,
        repeat: bool = False,
        name: str = "commands",
    ) -> None:
        columns = _columns(lba, length, placement, op, namespace, unit)
        self._columns = columns
        inner = _wafer.Workload.commands(name, columns, repeat)
        super().__init__(inner, ("commands", (*columns, 512, repeat, name)))

    def __len__(self) -> int:
        return len(self._columns.lba)

    def __repr__(self) -> str:
        return f"<wafer.Commands: {len(self)} commands>"


Batch = Union[Commands, Mapping[str, Any], npt.NDArray[Any], tuple[Any, ...]]


def commands(
    source: Callable[[], Iterable[Batch]] | Iterable[Batch],
    *,
    unit: int = 4096,
    name: str = "iterator",
) -> Workload:
    """Returns a workload whose commands Python generates during the run, one batch of arrays at a time.

    Batches of some ten thousand commands keep the run fast, because Python is called once per batch. An
    exception in the source ends the run and is raised by it.

    Parameters
    ----------
    source
        A generator function, or an iterable that can be iterated again. It yields arrays of
        addresses, tuples ``(lba, length, placement, op, namespace)`` whose last items may be omitted,
        dicts with the arguments of :class:`wafer.Commands`, or :class:`wafer.Commands`.
    unit
        Bytes in a unit of ``lba`` and ``length``, unless a dict sets it.
    name
        Name in messages and in the record.

    Raises
    ------
    WorkloadError
        ``source`` is an iterator, which can run only once.

    Examples
    --------
    >>> import numpy as np
    >>> import wafer
    >>> def log():
    ...     yield np.arange(1000), 1, 0  # lba, length, placement
    >>> wafer.commands(log).kind
    'iterator'
    """
    if not callable(source) and iter(source) is source:
        raise WorkloadError(f"{name}: an iterator can be run once; give the generator function itself")

    def start() -> Iterator[_wafer._Columns]:
        """Yields the batches from the first one."""
        for batch in source() if callable(source) else source:
            yield _batch(batch, unit)

    return Workload(_wafer.Workload.iterator(name, start))


def _batch(batch: Batch, unit: int) -> _Columns:
    if isinstance(batch, Commands):
        return batch._columns
    if isinstance(batch, tuple):
        if len(batch) > len(_Columns._fields):
            raise WorkloadError(
                f"commands: expected at most {', '.join(_Columns._fields)}, found {len(batch)} columns"
            )
        batch = dict(zip(_Columns._fields, batch))
    elif not isinstance(batch, Mapping):
        batch = {"lba": batch}
    names = [*_Columns._fields, "unit"]
    if "lba" not in batch or not batch.keys() <= set(names):
        found = ", ".join(map(str, batch)) or "nothing"
        raise WorkloadError(f"commands: expected lba, and at most {', '.join(names[1:])}; found {found}")
    return _columns(**{"unit": unit, **batch})


def _columns(
    lba: Integers,
    length: Integers = 1,
    placement: Integers | None = None,
    op: Integers | str = WRITE,
    namespace: Integers = 0,
    unit: int = 4096,
) -> _Columns:
    unit = whole("unit", unit)
    if unit == 0 or unit % 512 != 0:
        raise WorkloadError(f"unit: {unit} is not a positive multiple of 512 bytes")
    blocks = unit // 512
    count = np.size(lba)
    if isinstance(op, str):
        names = {"write": WRITE, "deallocate": DEALLOCATE, "read": READ}
        if op not in names:
            raise WorkloadError(f"op: {op!r} is not one of {', '.join(names)}")
        op = names[op]
    no_directive = NO_PLACEMENT if placement is None else placement
    return _Columns(
        lba=_integers("lba", lba, count, np.uint64, blocks),
        length=_integers("length", length, count, np.uint32, blocks),
        placement=_integers("placement", no_directive, count, np.uint16),
        op=_integers("op", op, count, np.uint8),
        namespace=_integers("namespace", namespace, count, np.uint8),
    )


def _integers(name: str, values: Integers, count: int, dtype: Any, times: int = 1) -> npt.NDArray[Any]:
    if np.ma.is_masked(values):
        raise WorkloadError(f"{name}: has masked values")
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(dtype)
    if array.dtype.kind not in "iub":
        raise WorkloadError(f"{name}: expected whole numbers, found {array.dtype}")
    if array.ndim == 0:
        array = np.broadcast_to(array, (count,))
    if array.ndim != 1 or len(array) != count:
        raise WorkloadError(f"{name}: expected one number or {count}, found shape {array.shape}")
    if count:
        least, most = int(array.min()), int(array.max()) * times
        if least < 0 or most > np.iinfo(dtype).max:
            raise WorkloadError(f"{name}: {least if least < 0 else most // times} is out of range")
    # A copy, which later changes of the caller's array do not affect.
    converted: npt.NDArray[Any] = np.array(array, dtype=dtype, order="C")
    return converted if times == 1 else converted * np.asarray(times, dtype=dtype)
