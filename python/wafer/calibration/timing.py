"""Times of a device from measured latency: ``wafer calibrate --timing``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wafer import _wafer
from wafer._arguments import file, instance, not_an_input, whole
from wafer._errors import ConfigError
from wafer._wafer import Cancel
from wafer.calibration.fit import Interval
from wafer.device import Device
from wafer.progress import Bar
from wafer.result import write_text

__all__ = ["TimingFit", "TimingParameter", "calibrate_timing"]


@dataclass(frozen=True)
class TimingParameter:
    """A key of ``timing``.

    Attributes
    ----------
    before
        Value in the device that the fit started from.
    after
        Fitted value.
    interval
        The 95 % interval, or the bounds that the rows leave; ``None`` if nothing bounds it.
    identified
        Whether the rows identify it.
    why
        What it follows from, or why it is unchanged.
    """

    before: float
    after: float
    interval: Interval | None
    identified: bool
    why: str


@dataclass(frozen=True)
class TimingFit:
    """A device with fitted times.

    Attributes
    ----------
    device
        The device, for :func:`wafer.run` with ``time=True``.
    parameters
        Keys of ``timing`` by name.
    rows
        Measured rows: ``name``, ``writes_per_s``, ``role`` ("fitted", "saturated" or "predicted") and
        ``figures``, each with ``name``, ``measured`` and ``ours`` in microseconds and ``error_percent``.
    notices
        What could not be used or fitted.
    inputs
        The files that were read; :meth:`to_toml` does not overwrite them.
    """

    device: Device
    parameters: dict[str, TimingParameter]
    rows: list[dict[str, Any]]
    notices: tuple[str, ...]
    inputs: tuple[str, ...]
    _text: str

    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the device file, commented as by the command line; also writes it to ``path``.

        Parameters
        ----------
        path
            File to write.

        Raises
        ------
        ConfigError
            ``path`` is a file that the fit read.
        """
        if path is not None:
            name = file("path", path)
            not_an_input(name, self.inputs)
            write_text(Path(name), self._text)
        return self._text

    def __str__(self) -> str:
        rows = [
            f"{key:20} {p.before:g} -> {p.after:g}"
            + (f" ({p.interval.low:g} to {p.interval.high:g})" if p.interval else "")
            + ("" if p.identified else ", not identified")
            for key, p in self.parameters.items()
        ]
        return "\n".join([*rows, *(f"notice: {notice}" for notice in self.notices)])


def calibrate_timing(
    device: str | os.PathLike[str],
    measured: str | os.PathLike[str] | None = None,
    *,
    fio_json: Sequence[str | os.PathLike[str]] = (),
    hold_out: int = 0,
    predict: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: bool | Callable[[str, int, int], None] = False,
    cancel: Cancel | None = None,
) -> TimingFit:
    """Fits the times of a device to measured latency, as ``wafer calibrate --timing`` does.

    Parameters
    ----------
    device
        Device profile or file to start from, with a ``timing`` table, such as one that ``wafer devices
        from-datasheet`` makes.
    measured
        CSV table of measured latency: a row for each write rate, with the columns
        ``writes_per_s``, ``read_mean_us``, ``read_p50_us``, ... in microseconds; empty fields were not
        measured.
    fio_json
        Results of fio on the drive, ``--output-format=json``, instead of ``measured``.
    hold_out
        Number of rows to predict instead of fitting them.
    predict
        Another table, whose rows are only predicted.
    seed
        Random seed of the runs.
    progress
        ``True`` for a bar on stderr, or a function ``(stage, done, total)``.
    cancel
        Stops the fit from another thread. Ctrl-C does so too.

    Returns
    -------
    TimingFit
        The device, its fitted keys, and the measured rows next to ours.

    Raises
    ------
    ConfigError
        A file is invalid, the device has no ``timing``, or no row is left to fit.

    Examples
    --------
    >>> import wafer
    >>> fit = wafer.calibrate_timing("pm9a3", "measured.csv", hold_out=3)  # doctest: +SKIP
    >>> fit.to_toml("my-drive.toml")  # doctest: +SKIP
    """
    if (measured is None) == (not fio_json):
        raise ConfigError("measured: give a table, or results of fio as fio_json, and not both")
    if cancel is not None:
        instance("cancel", cancel, Cancel)
    start = file("device", device)
    given = [fio_json] if isinstance(fio_json, (str, os.PathLike)) else fio_json
    files = [file("fio_json", each) for each in given]
    table = None if measured is None else file("measured", measured)
    other = None if predict is None else file("predict", predict)
    bar = Bar("calibrate", unit="runs") if progress is True else None
    report = bar.update if bar is not None else progress if callable(progress) else None
    try:
        text, json_text = _wafer.calibrate_timing(
            start,
            table,
            files,
            whole("hold_out", hold_out),
            other,
            whole("seed", seed),
            None if report is None else lambda done, total: report("fitting", done, total),
            cancel,
        )
    finally:
        if bar is not None:
            bar.close()
    fit = json.loads(json_text)
    named = os.path.splitext(os.path.basename(start))[0]
    return TimingFit(
        device=Device.from_toml(text, name=named),
        parameters={p["key"]: _parameter(p) for p in fit["parameters"]},
        rows=fit["rows"],
        notices=tuple(fit["notices"]),
        inputs=tuple(path for path in (start, table, *files, other) if path is not None),
        _text=text,
    )


def _parameter(fitted: dict[str, Any]) -> TimingParameter:
    bounds, after = fitted["interval"], fitted["after"]
    return TimingParameter(
        fitted["before"],
        after,
        None if bounds is None else Interval(bounds[0], after, bounds[1]),
        fitted["identified"],
        fitted["why"],
    )
