"""Experiments and their runs."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from wafer import _toml, _wafer
from wafer._arguments import file, flag, instance, known, of_a_dict, text, whole_or_none
from wafer._errors import ConfigError
from wafer._wafer import Cancel
from wafer.device import Device, assignments, nested
from wafer.policy import Policy, configured, methods
from wafer.progress import Bar
from wafer.result import Result
from wafer.workload import Workload

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Experiment", "Progress", "Settings", "available_memory", "experiment", "run"]

#: ``progress(stage, done, total)``: "preconditioning" or "running", host bytes done, and all host bytes
#: (``None`` if unknown).
Progress = Callable[[str, int, int | None], None]


class Settings(TypedDict, total=False):
    """Settings of a run: keywords of :func:`run`, :func:`experiment` and :class:`wafer.Experiment`."""

    #: When to stop, counted from the first write: ``"8x"`` (multiples of the logical capacity) or a size
    #: such as ``"2TiB"``. A bare number is refused. Default: when the workload ends.
    volume: str | None
    #: Random seed. Default 0.
    seed: int | None
    #: Maximum number of timeline samples. Default 1000.
    samples: int | None
    #: Shares of the written bytes for concurrent jobs, ``"JOB=SHARE,..."`` or a dict.
    pace: str | Mapping[str, float | str] | None
    #: CSV file whose columns ``pace`` may name.
    pace_from: str | os.PathLike[str] | None
    #: ``"fresh"`` (default), ``"sequential"``, ``"random:N"``, ``"load"``, ``"steady"``, or several joined by
    #: ``+``.
    precondition: str | None
    #: Run with a clock: the result has ``time`` and ``latency``. The device needs ``timing``.
    time: bool | None


def available_memory() -> int | None:
    """Returns the bytes of memory that runs may take together; ``None`` if the system does not report it.

    Examples
    --------
    >>> import wafer
    >>> (wafer.available_memory() or 1) > 0
    True
    """
    return _wafer.available_memory()


class Experiment:
    """A device, a workload and the settings of a run.

    :func:`wafer.experiment` reads one from a file. Keywords are those of
    :class:`Settings`.

    Parameters
    ----------
    device
        A device, or the name of a profile.
    workload
        The workload.
    name
        Name for tables and files. Default: device and workload.
    **settings
        ``volume="8x"``, ``seed``, ...: :class:`wafer.running.Settings`.

    Raises
    ------
    ConfigError
        A setting is invalid.
    TypeError
        An argument has a wrong type.

    Examples
    --------
    >>> import wafer
    >>> device = wafer.Device("warp", capacity="64MiB", reclaim_unit_size="1MiB", overprovisioning=0.5)
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\ntime_based=1\\nruntime=1d\\n")
    >>> wafer.Experiment(device, job, volume="1x", seed=3).run().seed
    3
    """

    def __init__(
        self,
        device: Device | str,
        workload: Workload,
        *,
        name: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        device = Device(device) if isinstance(device, str) else device
        instance("device", device, Device)
        instance("workload", workload, Workload, 'such as wafer.fio("job.fio")')
        name = text("name", name)
        inner = _wafer.Experiment(device._inner, workload._inner, _checked(settings))
        self._inner = inner.named(name) if name else inner
        # Recipe to rebuild it in another process.
        self._again: tuple[Any, ...] | None = (_unpickle, (device, workload, name, dict(settings)))

    @classmethod
    def _of(cls, inner: _wafer.Experiment, again: tuple[Any, ...] | None = None) -> Experiment:
        made = cls.__new__(cls)
        made._inner, made._again = inner, again
        return made

    @property
    def name(self) -> str:
        """Name for tables and files."""
        return self._inner.name

    @property
    def seed(self) -> int:
        """Random seed."""
        return self._inner.seed

    @property
    def device(self) -> Device:
        """The device."""
        return Device._of(self._inner.device)

    @property
    def workload(self) -> Workload:
        """The workload."""
        return Workload(self._inner.workload)

    @property
    def volume_bytes(self) -> int | None:
        """Host bytes to write; ``None`` for the whole workload."""
        return self._inner.volume_bytes

    @property
    def compare(self) -> Path | None:
        """The table of published figures named by the experiment file."""
        path = self._inner.compare
        return None if path is None else Path(path)

    def memory_bytes(self) -> int:
        """Reads the workload and returns the bytes of memory that a run takes.

        Arrays of commands do not count, because they are in memory already.

        Returns
        -------
        int
            Bytes.

        Raises
        ------
        WorkloadError, ConfigError, NotEnoughMemory
            The experiment cannot run.
        """
        return self._inner.check()

    def run(self, **how: Any) -> Result:
        """Runs the experiment: :func:`wafer.run`.

        Parameters
        ----------
        **how
            ``policy``, ``progress`` and ``cancel`` of :func:`wafer.run`.

        Returns
        -------
        Result
            The result.

        Raises
        ------
        WaferError
            As for :func:`wafer.run`.
        """
        return run(self, **how)

    def brief(self, numbers: int, cancel: Cancel | None = None) -> Result:
        """Runs the experiment for a brief record, with about ``numbers`` values in its timeline.

        Totals and digest are those of :meth:`run`. For thousands of short runs.

        Parameters
        ----------
        numbers
            Approximate number of values in the timeline.
        cancel
            Stops the run from another thread.

        Returns
        -------
        Result
            The result.

        Raises
        ------
        WaferError
            As for :func:`wafer.run`.
        """
        _check_cancel(cancel)
        return Result(_wafer.run(self._inner, None, None, cancel, numbers))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._again is None:
            raise TypeError(f"{self!r} cannot be sent to another process")
        return self._again

    def __repr__(self) -> str:
        return f"<wafer.Experiment {self.name}, seed {self.seed}>"


def experiment(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    device: str | None = None,
    set: Mapping[str, Any] | None = None,
    folder: str | os.PathLike[str] = ".",
    **settings: Unpack[Settings],
) -> Experiment:
    """Returns the experiment of a TOML file, or of a dict with the keys of one.

    Parameters
    ----------
    source
        The file or the dict; relative paths start at the file's folder or at ``folder``.
    device
        Profile or device file to use instead.
    set
        Keys of the device to change, dotted or with ``_``.
    folder
        Folder from which relative paths of a dict start.
    **settings
        The keywords of :class:`Settings`, which override the file.

    Returns
    -------
    Experiment
        The experiment, ready to run.

    Raises
    ------
    ConfigError
        The file is invalid; the message names line and key.

    Examples
    --------
    >>> import wafer
    >>> table = {"device": "warp", "workload": {"fio_text": "[w]\\nrw=write\\nsize=100%\\n"}, "seed": 4}
    >>> wafer.experiment(table, set={"capacity": "1GiB"}).seed
    4
    """
    checked = _checked(settings)
    overrides = assignments(set) if set else []
    if isinstance(source, Mapping):
        name = str(source.get("name", "experiment"))
        keys = {key: value for key, value in source.items() if key != "name"}
        # The last part of the path is the name of the experiment, which may contain a slash.
        path = os.path.join(Path(file("folder", folder)).resolve(), f"{name.replace('/', '-')}.toml")
        if isinstance(keys.get("device"), Mapping):
            keys["device"] = nested(keys["device"])
        with of_a_dict(name, path):
            return _from_toml(path, _toml.document(keys), device, overrides, checked)
    return _from_toml(file("source", source), None, device, overrides, checked)


def _unpickle(device: Device, workload: Workload, name: str | None, settings: Settings) -> Experiment:
    return Experiment(device, workload, name=name, **settings)


def _from_toml(
    path: str, text: str | None, device: str | None, overrides: list[str], checked: _wafer._Settings
) -> Experiment:
    """Returns the experiment of a file, or of the text of one; it remembers the text for other processes."""
    inner = _wafer.Experiment.from_toml(path, text, device, overrides, checked)
    if text is None:
        path, text = os.path.abspath(path), Path(path).read_text(encoding="utf-8")
    return Experiment._of(inner, (_from_toml, (path, text, device, overrides, checked)))


def run(
    device: Device | str | Experiment,
    workload: Workload | None = None,
    *,
    policy: Policy | None = None,
    progress: bool | Progress = False,
    cancel: Cancel | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Runs a workload on a device and counts what is written.

    The interpreter's lock is released: runs in several threads use several cores. Ctrl-C stops a run
    within a second. The same arguments give the same :attr:`Result.digest` as the command line.
    ``progress``, a policy and an iterator of commands are called in another thread.

    Parameters
    ----------
    device
        A device, a profile's name, or an experiment (then without ``workload``).
    workload
        The workload: :func:`wafer.fio`, :class:`wafer.Commands`, :func:`wafer.model`, ...
    policy
        A :class:`wafer.Policy` object in place of the device's ``gc.policy``.
    progress
        ``True`` for a bar on stderr, or a function ``(stage, done, total)``.
    cancel
        Stops the run from another thread.
    **settings
        ``volume="8x"``, ``seed``, ``samples``, ``pace``, ``pace_from``, ``precondition``,
        ``time``: the keywords of :class:`Settings`.

    Returns
    -------
    Result
        The result: totals, counters over time, and everything needed to repeat it.

    Raises
    ------
    ConfigError, WorkloadError, NotEnoughMemory
        The experiment cannot run; raised before it begins.
    TypeError
        An argument has the wrong type, or there is no such setting.
    PolicyError
        The policy returned an invalid choice.
    RunError
        The run failed.
    Cancelled
        The run was stopped through ``cancel``.

    Examples
    --------
    >>> import wafer
    >>> job = wafer.fio_text("[w]\\nrw=randwrite\\nbs=4k\\nsize=100%\\nnorandommap=1\\n")
    >>> small = wafer.Device("warp", capacity="1GiB", reclaim_unit_size="1MiB", overprovisioning=0.28)
    >>> 1.5 < wafer.run(small, job, volume="4x").waf < 2.5
    True
    """
    if isinstance(device, Experiment):
        if workload is not None or any(value is not None for value in settings.values()):
            raise ConfigError("an experiment has its workload and settings; give them to wafer.experiment")
        made = device
    elif workload is None:
        raise ConfigError("workload: missing; give a workload, or an experiment")
    else:
        made = Experiment(device, workload, **settings)
    if not (isinstance(progress, bool) or progress is None or callable(progress)):
        raise TypeError(f"progress: expected True, False or a function, not {progress!r:.60}")
    _check_cancel(cancel)
    note = made._inner.unusual_end()
    if note is not None:
        warnings.warn(note, stacklevel=2)
    called, keys = methods(policy), configured(policy)
    if keys:
        made = Experiment._of(made._inner.on(made.device.replace(**keys)._inner))
    if progress is True:
        bar = Bar(made.name)
        try:
            return Result(_wafer.run(made._inner, called, bar.update, cancel))
        finally:
            bar.close()
    return Result(_wafer.run(made._inner, called, progress or None, cancel))


def _check_cancel(cancel: Any) -> None:
    if cancel is not None:
        instance("cancel", cancel, Cancel)


def _checked(settings: Mapping[str, Any]) -> _wafer._Settings:
    """Returns the settings in the form that the compiled half expects."""
    known(settings, list(Settings.__annotations__))
    volume = settings.get("volume")
    if volume is not None and not isinstance(volume, str):
        if isinstance(volume, bool) or not isinstance(volume, numbers.Real):
            raise ConfigError(f'volume: expected text such as "8x" or "8GiB", not {volume!r:.60}')
        unit = "B" if float(volume) >= 1e6 else "GiB"
        raise ConfigError(
            f'volume: {volume} has no unit; write "{volume}x" (capacities) or "{volume}{unit}" (bytes)'
        )
    pace = settings.get("pace")
    if isinstance(pace, Mapping):
        pace = ",".join(f"{job}={share}" for job, share in pace.items())
    pace_from = settings.get("pace_from")
    return {
        "volume": volume,
        "seed": whole_or_none("seed", settings.get("seed")),
        "samples": whole_or_none("samples", settings.get("samples")),
        "pace": text("pace", pace),
        "pace_from": None if pace_from is None else file("pace_from", pace_from),
        "precondition": text("precondition", settings.get("precondition")),
        "time": flag("time", settings.get("time")),
    }
